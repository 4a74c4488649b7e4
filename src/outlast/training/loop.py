"""What `steps` and `batches` have in common: they resume, save in time, and leave when told, always between two bodies."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import get_ident
from typing import Any

from outlast.clock import SYSTEM
from outlast.training import context, disk, ending, leaving, metrics, ranks, resume
from outlast.training.cadence import Cadence
from outlast.training.disk import remove_tree
from outlast.training.notice import Notice, read_notice
from outlast.training.resume import IsOver, MoveData
from outlast.training.save import EndedLoop, Position, Save, encode_state
from outlast.training.say import say_once
from outlast.training.state import State


class Loop:
    """The part of a loop that knows where things are kept. A loop inside another loop's body knows nothing and keeps nothing."""

    def __init__(
        self,
        name: str,
        state: State | None,
        cadence: Cadence,
        data: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        if state is not None and not isinstance(state, State):
            raise TypeError(f"state must be an outlast.State, not {type(state).__name__}")
        self.name = name
        self.state = state
        self.context = context.current()
        self.resumed = False
        self.over = False
        """Nothing is left to be done: it was over when it began, has come to its end, or was left."""

        self.wanted = False
        """The script has asked for a save at the next boundary."""

        self.last = False
        """The body that runs is the last one."""

        self.total: int | None = None
        """How many steps it makes, if that is known; told to whoever asks how far it is, and used for nothing else."""

        self.cadence = cadence
        self.data = data
        self._inner = False
        self._thread = get_ident()
        self._fresh = True
        self._base = 0
        self._position = Position(0)
        self.pending: tuple[Path, Mapping[str, float], bool] | None = None
        self._body_began_at = 0.0
        self.body_seconds_max = 0.0

    # ------------------------------------------------------------------------------------------------------ begin

    def past(self) -> EndedLoop | None:
        """What the newest checkpoint knows of a loop of this name."""
        return None if self.context.run_dir is None else self.context.history.loop(self.name)

    def begin(self, is_over: IsOver, move_data: MoveData) -> None:
        """Restores, in place, if a checkpoint knows this loop."""
        here = self.context
        self._stay_in_thread()
        if here.active:
            outer = here.active[0]
            if self.state is not None and outer._thread != self._thread:
                resume.refuse_beside(self.name, outer.name)
            if self.state is not None and self.state is not outer.state:
                resume.refuse_inside(self.name, outer.name)
            self._inner = True
            return
        if not here.kept():
            here.active.append(self)
            return
        begun_at = SYSTEM.monotonic()
        here.arrive()
        saver = here.saver
        here.mark_loop(True)
        self.cadence.machine_life_seconds = here.attempt.machine_life_seconds
        if here.attempt.workers > 1:
            self.cadence.every_seconds = None
            self.cadence.every_steps = self.cadence.every_steps or ranks.SAVE_STEPS
        for before in here.ended:
            if before.name == self.name:
                resume.note_again(before)
                self.over = True
                return
        ending.keep_left(here)
        past = self.past()
        if past is None:
            resume.note_unseen(here, self.name)
            if here.attempt.adopted and self.state is not None:
                resume.adopt(here, self.name, self.state)
        else:
            resumed = resume.restore_loop(here, past, self.state, is_over, move_data)
            self._position, self.over, self.resumed = resumed.position, resumed.over, True
            saver.spent_restoring(SYSTEM.monotonic() - begun_at)
        self._base = sum(one.step for one in here.ended)
        if self.over:
            assert past is not None
            ending.remember(here, past)
            return
        here.active.append(self)
        if self.state is not None:
            resume.first_look(here, self.state, self.steps_done)
        self.cadence.begin(SYSTEM.monotonic(), self._position.step)
        notice = read_notice(here.run_dir)
        if notice is not None and here.attempt.workers == 1:
            leaving.depart(self, notice, "nothing new to save")

    def _stay_in_thread(self) -> None:
        """A thread that asks for steps ahead of the one that trains would have them saved in the middle of their bodies."""
        if get_ident() != self._thread:
            resume.refuse_thread(self.name)

    # -------------------------------------------------------------------------------------------------- boundaries

    @property
    def position(self) -> Position:
        return self._position

    @property
    def step(self) -> int:
        """The step whose body runs now."""
        return self._position.step

    def enter(self, step: int) -> None:
        """A body is about to run."""
        here = self.context
        if self._inner or here.run_dir is None:
            return
        made = self._base + step
        here.write_progress(made, None if self.total is None else self._base + self.total)
        if here.attempt.pause and here.attempt.pause == f"step:{made}":
            here.saver.wait()  # a drill that wants to strike in mid-save says so
            here.saver.pause_until_told(here.attempt.pause)
        self._body_began_at = SYSTEM.monotonic()

    def boundary(self, position: Position) -> None:
        """A body is done. Saves if it is time to; raises `Interrupted` if this process has been told to leave."""
        self._stay_in_thread()
        self._position = position
        here = self.context
        if self._inner or here.run_dir is None:
            return
        now = SYSTEM.monotonic()
        self.body_seconds_max = max(self.body_seconds_max, now - self._body_began_at)
        saver = here.saver
        if saver.paused:
            saver.pause(here.attempt.pause)
        metrics.flush(here)
        if self._fresh:
            self._fresh = False
            if self.state is not None:
                saver.prepare(self.build)
        notice = read_notice(here.run_dir)
        if here.attempt.workers > 1:
            self._boundary_of_many(notice)
            return
        if notice is not None:
            leaving.leave(self, notice)
        self._save_if_due(now)

    def _boundary_of_many(self, notice: Notice | None) -> None:
        """Several workers save, and leave, at the same steps: see ranks.py."""
        here, step = self.context, self._position.step
        if step % (self.cadence.every_steps or 1):
            return
        if here.attempt.rank == 0 or here.attempt.together:
            here.saver.save_and_wait(self.build)
            self.cadence.saved(SYSTEM.monotonic(), step)
        if notice is not None:
            leaving.depart(self, notice, f"saved step {self.steps_done}")

    def _save_if_due(self, now: float) -> None:
        saver, step = self.context.saver, self._position.step
        if self.pending is None and (
            self.script_saves() or not (self.wanted or self.cadence.due(now, step, saver.cost))
        ):
            return
        if self.pending is not None:
            # The script's files are of this very step: they cannot wait for a later boundary.
            saver.wait()
            if self.pending[2] or not saver.save_behind(self.build):
                saver.save_and_wait(self.build)
        elif not saver.save_behind(self.build):
            return
        self.cadence.saved(SYSTEM.monotonic(), self._position.step)
        self.pending = None
        self.wanted = False

    def script_saves(self) -> bool:
        """Without a state, a save of the position alone must not hide the checkpoints that the script makes by itself."""
        return self.state is None and self.context.own_checkpoints

    def build(self, *, complete: bool = False, stopped: bool = False) -> Save:
        here = self.context
        metrics.flush(here, wait=True)  # a save has all that was logged before it
        folder, values, _ = self.pending or (None, {}, False)
        encoded = encode_state(
            loop=self.name,
            position=self._position,
            data=self.data(),
            stopped=stopped,
            parts=None if self.state is None else vars(self.state),
            ended=tuple(here.ended),
            flags=here.flags,
        )
        numbers = {**metrics.latest(here), **values}
        step = self.steps_done
        return Save(step, encoded.texts, encoded.plan, complete, numbers, ended=tuple(here.ended), folder=folder)

    def save_folder(self, folder: Path, values: Mapping[str, float], wait: bool) -> None:
        """The script's own files go into the save at the next boundary, beside the state."""
        if self.pending is not None:
            remove_tree(self.pending[0])
        self.pending = (folder, values, wait)

    @property
    def steps_done(self) -> int:
        """Of the whole script: the steps of the loops before this one are added."""
        return self._base + self._position.step

    def due(self) -> bool:
        """Asked by the script in a body: whether it should save now."""
        here = self.context
        if self.last or read_notice(here.run_dir) is not None:
            return True
        return self.cadence.due(SYSTEM.monotonic(), self._position.step + 1, here.saver.cost)

    def script_saved(self) -> None:
        """The script has made a checkpoint of its own in this body."""
        self.cadence.saved(SYSTEM.monotonic(), self._position.step + 1)

    # --------------------------------------------------------------------------------------------------------- end

    def finish(self, position: Position, *, stopped: bool) -> None:
        """The loop has come to its end: one last save, durable and marked complete, before the code below it runs."""
        self.over = True
        self._position = position
        here = self.context
        if not self._inner and here.run_dir is not None:
            metrics.flush(here, wait=True)
            here.write_progress(self._base + position.step, self._base + position.step)
            saver = here.saver
            if saver.paused:
                saver.pause(here.attempt.pause)
            if self.script_saves():
                ending.complete_script_save(self, stopped)
            elif here.attempt.rank == 0 or here.attempt.together:
                saver.save_and_wait(lambda: self.build(complete=True, stopped=stopped))
            found = disk.list_checkpoints(saver.folder, skip_damaged=True)
            folder = found[0].path if found else None
            ending.remember(here, EndedLoop(self.name, position.step, position.epoch, stopped, False, folder))
        self.pending = None
        self.forget()

    def leave(self) -> None:
        """The script has left the loop by `break`, or by an exception: nothing is saved, unless another loop follows."""
        here = self.context
        if self.over or os.getpid() != here.pid:
            return
        self.over = True
        if self not in here.active:
            return
        self.forget()
        if here.run_dir is not None:
            ending.take_left(self)
            here.ended.append(EndedLoop(self.name, self._position.step, self._position.epoch, False, True, None))
            here.mark_loop(False)

    def forget(self) -> None:
        if self.pending is not None:
            say_once(
                f"pending {self.pending[0]}",
                "warning: a checkpoint was made in a body that did not end, and is not kept; end the loop by `.stop()`, not `break`",
            )
            remove_tree(self.pending[0])
            self.pending = None
        if self in self.context.active:
            del self.context.active[self.context.active.index(self) :]
