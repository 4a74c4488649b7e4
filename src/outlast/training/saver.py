"""Saves without stopping the training: a snapshot in memory at a boundary, written behind it by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from outlast.clock import SYSTEM
from outlast.errors import OutlastError
from outlast.training import disk, memory, outputs, ranks
from outlast.training import save as saving
from outlast.training.cadence import Cost
from outlast.training.notice import read_notice
from outlast.training.save import Save
from outlast.training.say import say, say_once
from outlast.training.unchanged import Unchanged

if TYPE_CHECKING:
    from outlast.training.context import Context

SMALL_BYTES = 4 << 20
"""States up to this size need no memory prepared for them."""

PAUSE_LOOK_SECONDS = 0.02
EXIT_SECONDS_MAX = 600.0
"""How long the end of the process waits for a save that is being written."""


class Saver:
    """The only writer of checkpoints in this process."""

    def __init__(self, context: Context) -> None:
        assert context.run_dir is not None and context.checkpoint_dir is not None
        self._context = context
        self._run_dir = context.run_dir
        self.folder = context.checkpoint_dir
        if context.quiet:
            ranks.clear(self.folder, context.attempt)
            self.folder = ranks.own_folder(self.folder, context.attempt, context.history.attempt)
        self._arena = memory.Arena()
        self._thread: threading.Thread | None = None
        self._begun_at = 0.0
        self.failure: OSError | None = None
        self.cost: Cost | None = None
        self.saved_step: int | None = None
        """The step of the newest checkpoint that is in place, or being written."""

        self.paused = False
        self.unchanged = Unchanged()
        self._seconds = {"saving": 0.0, "restoring": 0.0, "writing": 0.0}
        disk.clear_leftovers(self.folder)
        self.attempt = context.history.attempt
        self._number = context.history.number

    # ------------------------------------------------------------------------------------------- asked by the loops

    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def rest_seconds(self) -> float:
        """How long the save in flight will still take, by what the last one took."""
        if not self.busy():
            return 0.0
        spent = SYSTEM.monotonic() - self._begun_at
        return max(0.0, (self.cost.writing_seconds if self.cost else spent) - spent)

    def prepare(self, build: Callable[[], Save]) -> None:
        """Makes memory ready for a state of the size that it has now, so that the first save finds it warm."""
        size = build().plan.data_bytes
        if size > SMALL_BYTES and memory.fits(size):
            self._arena.reserve(size)

    def save_behind(self, build: Callable[[], Save]) -> bool:
        """Takes a snapshot and writes it in the background. False: not now, ask again at the next boundary."""
        if self.busy() or self._arena.growing():
            return False
        begun_at = SYSTEM.monotonic()
        save = build()
        size = save.plan.data_bytes
        if not self._arena.ready(size):
            if not memory.fits(size) or self._arena.refused(size):
                say_once(
                    "memory",
                    f"not enough memory for a copy of the state ({size / 2**20:.0f} MiB): "
                    "training stands still while it is saved",
                )
                self._save_now(save, begun_at)
                return True
            self._arena.reserve(size)
            if size > SMALL_BYTES:
                return False
            self._arena.wait()
            if not self._arena.ready(size):
                return False
        view = self._arena.view(size)
        saving.snapshot(save.plan, view)
        self._keep_outputs(save)
        stall = SYSTEM.monotonic() - begun_at
        self._seconds["saving"] += stall
        self._start(save, view, stall)
        return True

    def save_and_wait(self, build: Callable[[], Save]) -> None:
        """Straight to the disk, durable when it returns. OutlastError if it could not be written."""
        begun_at = SYSTEM.monotonic()
        self.wait()
        save = build()
        self._save_now(save, begun_at)
        if self._context.quiet and self.failure is None:
            assert self._context.checkpoint_dir is not None
            ranks.wait_for_commit(self._context.checkpoint_dir, self.attempt, save.step)
        if self.failure is not None:
            raise OutlastError(
                f"the checkpoint could not be written: {self.failure}; the last one in place is {self._newest()}\n\n"
                "hint: make room on that disk; the job can be resumed from that checkpoint"
            ) from self.failure

    def wait(self, seconds: float | None = None) -> bool:
        """Until nothing is being written; False if that took longer than the given time."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def wait_for_memory(self) -> None:
        """Until the memory for the next snapshot is ready: only for those who measure."""
        self._arena.wait()

    def finish(self) -> None:
        """At the end of the process: what has been begun is finished, also after an error in the script."""
        if not self.paused:
            self.wait(EXIT_SECONDS_MAX)
        self._arena.release()
        self._context.mark_loop(False)

    def spent_restoring(self, seconds: float) -> None:
        self._seconds["restoring"] += seconds
        self._write_timings()

    def pause_until_told(self, at: str) -> None:
        """A drill wants us exactly here: to kill us, or to tell us to leave, and then we do as always."""
        paused = self._run_dir / "paused"
        disk.write_json_in_place(paused, {"at": at})
        while read_notice(self._run_dir) is None:
            SYSTEM.sleep(PAUSE_LOOK_SECONDS)
        paused.unlink(missing_ok=True)

    def pause(self, at: str) -> None:
        """A drill wants to kill us exactly here: says so and waits for it."""
        self.paused = True
        disk.write_json_in_place(self._run_dir / "paused", {"at": at})
        while True:
            SYSTEM.sleep(3600)

    # --------------------------------------------------------------------------------------------------- writing

    def _save_now(self, save: Save, begun_at: float) -> None:
        self._keep_outputs(save)
        self._begun_at = SYSTEM.monotonic()
        self.saved_step = save.step
        watched = self.unchanged.watched(save.plan.leaves)
        contents = ((leaf, leaf.library.raw(leaf.value)) for leaf in watched)
        self.unchanged.look(contents, save.step, last=save.complete)
        self._write(save, saving.live_pieces(save.plan))
        stall = SYSTEM.monotonic() - begun_at
        self._seconds["saving"] += stall
        self.cost = Cost(stall, 0.0)
        self._write_timings()

    def _keep_outputs(self, save: Save) -> None:
        if not self._context.quiet:
            save.outputs = outputs.keep_outputs(self._context.output_dir, self._run_dir / "kept")

    def _gather(self, saving: Path, step: int) -> None:
        attempt = self._context.attempt
        if attempt.together and attempt.rank == 0:
            ranks.gather(saving, self.folder, attempt, self.attempt, step)

    def _start(self, save: Save, view: memoryview, stall: float) -> None:
        self._begun_at = SYSTEM.monotonic()
        self.saved_step = save.step
        arguments = (save, view, stall)
        self._thread = threading.Thread(target=self._write_behind, args=arguments, name="outlast-save", daemon=True)
        self._thread.start()

    def _write_behind(self, save: Save, view: memoryview, stall: float) -> None:
        offsets = {leaf.name: offset for leaf, offset in zip(save.plan.leaves, save.plan.offsets, strict=True)}
        watched = self.unchanged.watched(save.plan.leaves)
        places = ((leaf, offsets[leaf.name]) for leaf in watched)
        contents = ((leaf, view[at : at + leaf.layout.nbytes]) for leaf, at in places)
        self.unchanged.look(contents, save.step, last=save.complete)
        self._write(save, iter([view]))
        writing = SYSTEM.monotonic() - self._begun_at
        self._seconds["writing"] += writing
        self.cost = Cost(stall, writing)
        self._write_timings()

    def _write(self, save: Save, pieces: Iterator[memoryview]) -> None:
        number = self._number + 1
        self.failure = None
        try:
            saving.write_save(
                save,
                pieces,
                self.folder,
                attempt=self.attempt,
                number=number,
                watch=self._watch(save, number),
                gather=lambda saving: self._gather(saving, save.step),
            )
            self._number = number
            left = disk.forget_old(self.folder)
            if not self._context.quiet:
                kept = [output["kept"] for one in left for output in one.record.get("outputs", [])]
                outputs.forget_outputs(self._run_dir / "kept", kept)
        except OSError as error:
            self.failure = error
            say(
                f"warning: the checkpoint of step {save.step} could not be written: {error}; "
                f"training goes on, the last checkpoint in place is {self._newest()}"
            )

    def _watch(self, save: Save, number: int) -> Callable[[int], None]:
        """In a drill, stops when half of the bytes are written."""
        at = self._context.attempt.pause
        kind, _, wanted = at.partition(":")
        here = at == f"save:{number}" or (kind == "saving" and save.step >= int(wanted))
        if not here or self._context.quiet:
            return lambda _: None
        left = saving.total_bytes(save) // 2

        def watch(written: int) -> None:
            nonlocal left
            left -= written
            if left <= 0:
                self.pause(at)

        return watch

    def _newest(self) -> str:
        found = disk.list_checkpoints(self.folder, skip_damaged=True)
        return f"that of step {found[0].step}" if found else "none"

    def _write_timings(self) -> None:
        if self._context.quiet:
            return
        try:
            disk.write_json_in_place(self._run_dir / "timings.json", self._seconds)
        except OSError as error:
            say_once("timings", f"warning: `timings.json` could not be written: {error}")
