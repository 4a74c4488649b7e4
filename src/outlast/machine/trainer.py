"""The trainer as a process on this computer: the agent's `Child` over a machine's directory."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from outlast.agent import trainer_process
from outlast.agent.child import Exit, Notice, Saved, Start
from outlast.agent.init import ORDER_END, ORDER_START, ORDER_TERM
from outlast.agent.trainer_process import SPOOL_LOG, Order
from outlast.clock import Clock
from outlast.dataclass import replace
from outlast.errors import OutlastError
from outlast.host import files, system
from outlast.host.machine_dir import MARK, Assignment, MachineDir
from outlast.machine import command, tree
from outlast.machine.disk_file import DiskFile
from outlast.machine.furnish import Furnished, Say
from outlast.machine.library import Library
from outlast.machine.mask import Mask
from outlast.machine.places import Places
from outlast.machine.settle import HELD_UP_SECONDS, LOOK_SECONDS, Settling
from outlast.machine.streams import MaskedStream, Stream
from outlast.machine.trained import TRAINED, place_trained
from outlast.machine.unmodified import Unmodified
from outlast.spec.spec import Spec

END_SECONDS_MAX = 40.0
"""Longer than init takes to give up on what SIGKILL does not end."""

PROGRESS_DIGITS = 20
SIGNALLED = 128
UNREADABLE_TOLD_MAX = 10
"""More names at once help nobody."""


class ProcessChild:
    """`furnish` fills the working directory, `edit_code` changes what is in it; `trainer_root` is what the trainer finds the library in."""

    def __init__(
        self,
        paths: MachineDir,
        assignment: Assignment,
        spec: Spec,
        *,
        furnish: Callable[[str, Say], Furnished],
        edit_code: Callable[[str, str, Say], None],
        trainer_root: str,
        clock: Clock,
        allow_changed: bool = False,
        mask: Mask | None = None,
    ) -> None:
        self.paths = paths
        self.assignment = assignment
        self.spec = spec
        self.furnish = furnish
        self.edit_code = edit_code
        self._furnished = Furnished(spec.python)
        self.trainer_root = trainer_root
        self.clock = clock
        self.allow_changed = allow_changed
        self.mask = mask or Mask(())
        self.places = Places(paths, spec)
        self._progress = f"{paths.run}/progress"
        self._library = Library(self.places.checkpoint, paths.run, paths.taken)
        self._tidings = os.open(paths.tidings, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        order = trainer_process.read_order(paths)
        self._attempt = order.attempt if order is not None else None
        self._forget()

    def close(self) -> None:
        """The agent is done with it; the trainer is not touched."""
        os.close(self._tidings)

    def _forget(self) -> None:
        """What is known about one attempt, and not about the next."""
        self._exit: Exit | None = None
        self._termed = False
        self._streams = {
            "log": self._stream(f"{self.paths.spool}/{SPOOL_LOG}"),
            "metrics": self._stream(f"{self.paths.run}/metrics"),
        }
        self._settling = Settling(
            self.places.checkpoint, self.places.output, self._processes, self.clock, within=self.paths.path
        )
        self._told_unreadable: set[str] = set()
        self._told_held_up = False
        self._unmodified = Unmodified(
            self._settling,
            f"{self.paths.path}/unmodified.json",
            self.clock,
        )

    def _stream(self, path: str) -> Stream:
        return Stream(path) if self.mask.empty else MaskedStream(path, self.mask, lambda: self.exit() is not None)

    # The note.

    def recall(self) -> bytes | None:
        return files.read(self.paths.note)

    def remember(self, note: bytes) -> None:
        files.put(self.paths.note, note)

    # The beginning.

    def edit(self, before: str, after: str) -> None:
        self.edit_code(before, after, self.say)

    def clear(self, bundle: str) -> None:
        self.end()
        # First, or an agent that is killed in the middle of this believes that the trainer was started.
        files.remove(self.paths.trainer)
        files.remove(self.paths.trainer_secrets)
        self._attempt = None
        files.remove(f"{self.paths.path}/unmodified.json")
        self._forget()
        self.places.clear()
        self._furnished = self.furnish(bundle, self._say_first)
        self.places.make()

    def restore(self, path: str, mode: int, chunks: Iterable[bytes]) -> None:
        self.places.restore(path, mode, chunks)

    def start(self, start: Start) -> None:
        if not self.started(start.attempt):
            self._write_attempt(start)
            place_trained(f"{self.paths.run}/{TRAINED}", self.places.checkpoint)
            self._unmodified.begin(start.resumed_step, empty=self.places.empty and self.spec.evaluation is None)
            env = command.environment(
                self.assignment,
                start,
                self._furnished,
                run=self.paths.run,
                checkpoint=self.places.checkpoint,
                output=self.places.output,
                trainer_root=self.trainer_root,
            )
            argv = command.argv(self.spec.target, self._furnished.python, self.paths.work, start.args)
            if self.spec.container is not None:
                argv = self._contained(argv, start, env)
            plain, secrets = command.apart(env, self._furnished.secrets)
            trainer_process.write_order(self.paths, Order(start.attempt, argv, plain, self.paths.work), secrets)
            self._attempt = start.attempt
        self._order(ORDER_START)

    def _contained(self, argv: tuple[str, ...], start: Start, env: Mapping[str, str]) -> tuple[str, ...]:
        """What the shell of whoever submitted had set is not the container's: it has an environment of its own."""
        from outlast.machine.container_command import contained

        assert self.spec.container is not None
        inherited = self.assignment.environ
        ours = {name for name, value in env.items() if name not in inherited or inherited[name] != value}
        asked = {*start.env, *self._furnished.secrets, *self._furnished.env, MARK}
        seen = [Path(self.trainer_root), self.paths.user_dir / "cache" / "datasets", *map(Path, self.spec.links)]
        secrets = command.apart(env, self._furnished.secrets)[1]
        return contained(self.spec.container, self.assignment, self.paths, argv, ours | asked, seen, secrets)

    def _write_attempt(self, start: Start) -> None:
        drill = self.spec.drill
        document = {
            "job": start.job,
            "attempt": start.attempt,
            "rank": start.rank,
            "workers": start.workers,
            "resumed_step": start.resumed_step,
            "adopted": start.adopted or (self.spec.evaluation is not None and start.resumed_step is None),
            "evaluation": self.spec.evaluation is not None,
            "continue_steps": start.adopted and self.spec.continue_steps,
            "allow_changed": self.allow_changed or start.adopted,
            "steps_max": drill.steps_max if drill is not None else None,
            "save_steps": drill.save_steps if drill is not None else None,
            "pause": drill.pauses.get(str(start.attempt), "") if drill is not None else "",
            "machine_life_seconds": start.machine_life_seconds,
        }
        files.put_json(f"{self.paths.run}/attempt.json", document)

    def started(self, attempt: int) -> bool:
        return self._attempt == attempt

    # The end.

    def exit(self) -> Exit | None:
        if self._exit is None and self._attempt is not None:
            document = files.read_json(self.paths.exit(self._attempt))
            if document is not None:
                self._exit = Exit(
                    document["code"], document["out_of_memory"], document["disk_full"], document["killed"]
                )
        return self._exit

    def tell(self, notice: Notice) -> None:
        leave_by = self.clock.monotonic() + notice.seconds
        files.put_json(f"{self.paths.run}/notice.json", {"reason": notice.reason.value, "leave_by_monotonic": leave_by})
        # Where the library's loop runs it leaves by itself, at its next boundary and not in the middle of a step.
        if not self._termed and not os.path.exists(f"{self.paths.run}/loop"):
            self._termed = True
            self._order(ORDER_TERM)

    def end(self) -> None:
        if self._attempt is None or self.exit() is not None:
            return
        self._order(ORDER_END)
        give_up_at = self.clock.monotonic() + END_SECONDS_MAX
        while self.exit() is None:
            if self.clock.monotonic() >= give_up_at:
                raise OutlastError(f"the trainer of attempt {self._attempt} does not end, not even by SIGKILL")
            self._listen(1.0)

    def _order(self, order: bytes) -> None:
        try:
            descriptor = os.open(self.paths.orders, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise SystemExit(1) from error  # init is dead, and so is this machine
            raise
        try:
            os.write(descriptor, order)
        finally:
            os.close(descriptor)

    # What it saved.

    def saved(self, after: int, *, last: bool) -> Saved | None:
        if self._attempt is None:
            return None
        for said in self.places.strayed():
            self.say(said)
        if self._library.present():
            return self._covered(self._library.saved(self._attempt, after))
        exit = self.exit() if last else None
        if exit is not None:
            ended_at = os.stat(self.paths.exit(self._attempt)).st_mtime
            saved = self._unmodified.last(after, killed=exit.code > SIGNALLED, ended_at=ended_at)
        else:
            saved = self._unmodified.saved(after)
        self._say_unreadable()
        self._say_held_up()
        return saved

    def _say_unreadable(self) -> None:
        for path in sorted(self._settling.unreadable - self._told_unreadable)[:UNREADABLE_TOLD_MAX]:
            self.say(f"`{os.path.basename(path)}` may not be read, and is not kept")
        self._told_unreadable |= self._settling.unreadable

    def _say_held_up(self) -> None:
        """Once: whoever reads it can do something about it, and what is lost without a checkpoint is everything."""
        if self._settling.held_up_by and not self._told_held_up:
            self._told_held_up = True
            name = self._settling.held_up_by.partition("/")[2]
            self.say(
                f"no checkpoint was taken for {HELD_UP_SECONDS / 60:.0f} min: `{name}` is open for writing, changes all the "
                "time, or is torn; write beside and rename, or keep it elsewhere than checkpoints"
            )

    def _covered(self, saved: Saved | None) -> Saved | None:
        """Names of metrics are the script's own words, and stand in head."""
        if saved is None or self.mask.empty or not saved.metrics:
            return saved
        return replace(saved, metrics={self.mask.text(name): value for name, value in saved.metrics.items()})

    def _say_first(self, text: str) -> None:
        """While the machine is furnished: there is no trainer yet, and no log that it could have removed."""
        files.create(f"{self.paths.spool}/{SPOOL_LOG}")
        self.say(text)

    def say(self, text: str) -> None:
        """Into the job's log, as a word of ours."""
        self._streams["log"].add(f"outlast: {text}\n".encode(errors="backslashreplace"))

    def outputs(self) -> Saved:
        found = tree.scan(self.places.output, within=self.paths.path)
        if self.paths.vanished():
            raise SystemExit(1)  # the outputs with it: a job without them would succeed
        taken = [
            DiskFile(f"output/{path}", f"{self.places.output}/{path}", seen) for path, seen in sorted(found.items())
        ]
        return Saved(0, self.step() or 0, complete=True, files=tuple(taken))

    def _processes(self) -> list[int]:
        """All that may write: what is below init, but this agent."""
        init = self.paths.init_process()
        return [pid for pid in system.descendants(init.pid) if pid != os.getpid()] if init is not None else []

    # What it says.

    def step(self) -> int | None:
        text = files.read(self._progress) or b""
        try:
            return int(text[:PROGRESS_DIGITS])
        except ValueError:
            return self._unmodified.memory.step

    def steps_total(self) -> int | None:
        text = files.read(self._progress) or b""
        try:
            return int(text[PROGRESS_DIGITS : 2 * PROGRESS_DIGITS + 1]) or None
        except ValueError:
            return None

    def unwanted(self) -> str:
        return ""

    def paused(self) -> str:
        if self.spec.drill is None:
            return ""
        document = files.read_json(f"{self.paths.run}/paused")
        return str(document.get("at", "")) if isinstance(document, dict) else ""

    def stream_bytes(self, stream: str) -> int:
        return self._streams[stream].size_bytes()

    def stream_read(self, stream: str, offset: int, size: int) -> bytes:
        return self._streams[stream].read(offset, size)

    def stream_drop(self, stream: str, before: int) -> None:
        self._streams[stream].drop(before)

    def wait(self, seconds: float) -> None:
        """Also wakes when the library has put a checkpoint in place."""
        until = self.clock.monotonic() + seconds
        before = self._checkpoints_at()
        while (left := until - self.clock.monotonic()) > 0:
            if self._listen(min(left, LOOK_SECONDS)) or self._checkpoints_at() != before:
                return

    def _checkpoints_at(self) -> int:
        try:
            return os.stat(self.places.checkpoint).st_mtime_ns
        except OSError:
            return 0  # gone, or whatever the trainer has put in its place

    def _listen(self, seconds: float) -> bool:
        """True: init has said something, and it is on disk."""
        # Not by poll: that of macOS never tells that the last one who could write into a pipe with a name is gone.
        if not select.select([self._tidings], [], [], max(0.0, seconds) + 0.001)[0]:
            return False
        if not os.read(self._tidings, 4096):
            raise SystemExit(1)  # init is dead, and so is this machine
        return True

    def notice(self) -> float | None:
        document = files.read_json(self.paths.notice)
        if not isinstance(document, dict):
            return None
        return float(document["leave_by_monotonic"]) - self.clock.monotonic()

    def timings(self) -> Mapping[str, float]:
        document = files.read_json(f"{self.paths.run}/timings.json")
        if not isinstance(document, dict):
            return {}
        return {str(name): float(value) for name, value in document.items() if isinstance(value, int | float)}
