"""What `steps` and `batches` have in common: they resume, save in time, and leave when told, always between two bodies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from outlast.clock import SYSTEM
from outlast.errors import EXIT_TRAINER_INTERRUPTED, OutlastError
from outlast.training import context, disk, metrics, ranks
from outlast.training.cadence import Cadence
from outlast.training.encode import Encoder
from outlast.training.history import open_document
from outlast.training.notice import Notice, read_notice
from outlast.training.save import EndedLoop, Position, Save, encode_state
from outlast.training.say import say, say_once
from outlast.training.state import State, encode_parts

FIT_FACTOR = 1.5
FIT_SECONDS = 0.5
"""A last save is begun only if one and a half times what the last one took, and half a second, are left."""


Resume = Callable[[int, dict[str, Any]], None]
"""Brings the data to an epoch and to the place in it that was saved."""


class Interrupted(SystemExit):
    """The script has been told to leave: the loop has saved if it could. Not an error; the job goes on elsewhere."""

    def __init__(self) -> None:
        super().__init__(EXIT_TRAINER_INTERRUPTED)


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

        self._cadence = cadence
        self.data = data
        self._inner = False
        self._fresh = True
        self._base = 0
        self._position = Position(0)
        self._pending: tuple[Path, Mapping[str, float], bool] | None = None
        self._body_began_at = 0.0
        self._body_seconds_max = 0.0

    # ------------------------------------------------------------------------------------------------------ begin

    def past(self) -> EndedLoop | None:
        """What the newest checkpoint knows of a loop of this name."""
        return None if self.context.run_dir is None else self.context.history.loop(self.name)

    def begin(self, over: Callable[[EndedLoop], bool], resume: Resume) -> None:
        """Restores, in place. `over` says whether that loop has come to its end; `resume` moves the data to their position."""
        here = self.context
        if here.active:
            self._begin_inside(here.active[0])
            return
        if not here.kept():
            here.active.append(self)
            return
        begun_at = SYSTEM.monotonic()
        here.arrive()
        saver = here.saver
        here.mark_loop(True)
        self._cadence.machine_life_seconds = here.attempt.machine_life_seconds
        if here.attempt.workers > 1:
            self._cadence.every_seconds = None
            self._cadence.every_steps = self._cadence.every_steps or ranks.SAVE_STEPS
        if any(one.name == self.name for one in here.ended):
            self._begin_again()
            return
        past = self.past()
        if past is None:
            self._note_unseen()
        else:
            self._restore(past, over, resume)
            saver.spent_restoring(SYSTEM.monotonic() - begun_at)
        self._base = sum(one.step for one in here.ended)
        if self.over:
            assert past is not None
            self._end(past)
            return
        here.active.append(self)
        if self.state is not None:
            self._first_look()
        self._cadence.begin(SYSTEM.monotonic(), self._position.step)

    def _begin_inside(self, outer: Loop) -> None:
        if self.state is not None and self.state is not outer.state:
            raise OutlastError(
                f"the loop `{self.name}` begins inside the body of the loop `{outer.name}` with a state of its own, which could "
                f"not be kept: only the outermost loop saves\n\nhint: give the state to `{outer.name}`, or end that loop first (`.stop()`)"
            )
        self._inner = True

    def _begin_again(self) -> None:
        before = next(one for one in self.context.ended if one.name == self.name)
        if before.left:
            raise OutlastError(
                f"the loop `{self.name}` was left by `break` and is begun again in the same process"
                "\n\nhint: give the second loop another name: outlast.steps(..., name=...)"
            )
        say(
            f"warning: the loop `{self.name}` is over already and yields nothing; give another loop another name (name=...)"
        )
        self.over = True

    def _note_unseen(self) -> None:
        passed = {one.name for one in self.context.ended}
        unseen = [one.name for one in self.context.history.loops if one.name not in passed]
        if unseen:
            names = ", ".join(f"`{name}`" for name in unseen)
            say(
                f"warning: the checkpoint is of the loop {names}; the loop `{self.name}` is not in it and begins at step 0"
            )

    def _restore(self, past: EndedLoop, over: Callable[[EndedLoop], bool], resume: Resume) -> None:
        history = self.context.history
        self.over = past.left or over(past)
        # A loop that was left by `break` has no state of its own end; the state of the loop after it comes nearest.
        folder = past.folder or history.loops[-1].folder
        if not self.over:
            history.forget_after(self.name)
        if folder is None:
            return
        with open_document(folder) as document:
            if past.folder is not None:
                self._position = document.position()
            if self.state is not None and "parts" in document.content:
                document.restore(vars(self.state))
            if not self.over:
                resume(self._position.epoch, document.data())
            if ranks.shares_generators(folder, self.context.attempt):
                document.restore_generators({} if self.state is None else vars(self.state))
        self.resumed = True
        if not self.over:
            say(f"resumed the loop `{self.name}` at step {self._position.step} (attempt {history.attempt})")

    def _first_look(self) -> None:
        assert self.state is not None
        encoder = Encoder()
        plain = {
            name: part for name, part in vars(self.state).items() if not callable(getattr(part, "state_dict", None))
        }
        encode_parts(encoder, plain)
        self.context.saver.unchanged.first_look(encoder.leaves, self.steps_done)

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
        total = self._base + step
        here.write_progress(total)
        if here.attempt.pause and here.attempt.pause == f"step:{total}":
            here.saver.wait()  # a drill that wants to strike in mid-save says so
            here.saver.pause_until_told(here.attempt.pause)
        self._body_began_at = SYSTEM.monotonic()

    def boundary(self, position: Position) -> None:
        """A body is done. Saves if it is time to; raises `Interrupted` if this process has been told to leave."""
        self._position = position
        here = self.context
        if self._inner or here.run_dir is None:
            return
        now = SYSTEM.monotonic()
        self._body_seconds_max = max(self._body_seconds_max, now - self._body_began_at)
        saver = here.saver
        if saver.paused:
            saver.pause(here.attempt.pause)
        metrics.flush(here)
        if self._fresh:
            self._fresh = False
            if self.state is not None:
                saver.prepare(self._build)
        notice = read_notice(here.run_dir)
        if here.attempt.workers > 1:
            self._boundary_of_many(notice)
            return
        if notice is not None:
            self._leave(notice)
        self._save_if_due(now)

    def _boundary_of_many(self, notice: Notice | None) -> None:
        """Several workers save, and leave, at the same steps: see ranks.py."""
        here, step = self.context, self._position.step
        if step % (self._cadence.every_steps or 1):
            return
        if here.attempt.rank == 0 or here.attempt.together:
            here.saver.save_and_wait(self._build)
            self._cadence.saved(SYSTEM.monotonic(), step)
        if notice is not None:
            self._depart(notice, f"saved step {self.steps_done}")

    def _save_if_due(self, now: float) -> None:
        saver, step = self.context.saver, self._position.step
        if self._pending is None and (
            self._script_saves() or not (self.wanted or self._cadence.due(now, step, saver.cost))
        ):
            return
        if self._pending is not None:
            # The script's files are of this very step: they cannot wait for a later boundary.
            saver.wait()
            if self._pending[2] or not saver.save_behind(self._build):
                saver.save_and_wait(self._build)
        elif not saver.save_behind(self._build):
            return
        self._cadence.saved(SYSTEM.monotonic(), self._position.step)
        self._pending = None
        self.wanted = False

    def _script_saves(self) -> bool:
        """Without a state, a save of the position alone must not hide the checkpoints that the script makes by itself."""
        return self.state is None and self.context.own_checkpoints

    def _build(self, *, complete: bool = False, stopped: bool = False) -> Save:
        here = self.context
        folder, values, _ = self._pending or (None, {}, False)
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
        if self._pending is not None:
            shutil.rmtree(self._pending[0], ignore_errors=True)
        self._pending = (folder, values, wait)

    @property
    def steps_done(self) -> int:
        """Of the whole script: the steps of the loops before this one are added."""
        return self._base + self._position.step

    def due(self) -> bool:
        """Asked by the script in a body: whether it should save now."""
        here = self.context
        if self.last or read_notice(here.run_dir) is not None:
            return True
        return self._cadence.due(SYSTEM.monotonic(), self._position.step + 1, here.saver.cost)

    def script_saved(self) -> None:
        """The script has made a checkpoint of its own in this body."""
        self._cadence.saved(SYSTEM.monotonic(), self._position.step + 1)

    # ------------------------------------------------------------------------------------------------------- leave

    def _leave(self, notice: Notice) -> None:
        """Saves if the time that is left is enough, then ends the process."""
        saver, step = self.context.saver, self.steps_done
        if self._script_saves():
            if self._wait_for_the_script(notice):
                return
            said = "the script's last checkpoint counts"
        elif saver.saved_step == step and self._pending is None:
            saver.wait(notice.seconds_left())
            said = f"step {step} is saved"
        else:
            cost = saver.cost
            needed = FIT_FACTOR * (cost.stall_seconds + cost.writing_seconds) + FIT_SECONDS if cost else 0.0
            if notice.seconds_left() >= saver.rest_seconds() + needed:
                said = self._last_save(step)
            else:
                saver.wait(notice.seconds_left())
                said = f"{notice.seconds_left():.1f} s are too short to save step {step}"
        self._depart(notice, said)

    def _depart(self, notice: Notice, said: str) -> NoReturn:
        say(f"told to leave ({notice.reason}): {said}; leaving")
        self.over = True
        self._forget()
        metrics.flush(self.context, wait=True)
        raise Interrupted

    def _last_save(self, step: int) -> str:
        try:
            self.context.saver.save_and_wait(self._build)
        except OutlastError as error:
            return str(error).partition("\n")[0]
        self._pending = None
        return f"saved step {step}"

    def _wait_for_the_script(self, notice: Notice) -> bool:
        """One more body, in which `outlast.due()` is true, if the script saves by it and the time is enough."""
        here = self.context
        if not here.looked_due or self._cadence.saved_step == self._position.step:
            here.saver.wait(notice.seconds_left())
            return False
        return notice.seconds_left() >= FIT_FACTOR * self._body_seconds_max + FIT_SECONDS

    # --------------------------------------------------------------------------------------------------------- end

    def finish(self, position: Position, *, stopped: bool) -> None:
        """The loop has come to its end: one last save, durable and marked complete, before the code below it runs."""
        self.over = True
        self._position = position
        here = self.context
        if not self._inner and here.run_dir is not None:
            metrics.flush(here, wait=True)
            here.write_progress(self._base + position.step)
            saver = here.saver
            if saver.paused:
                saver.pause(here.attempt.pause)
            if self._script_saves():
                self._complete_script_save(stopped)
            elif here.attempt.rank == 0 or here.attempt.together:
                saver.save_and_wait(lambda: self._build(complete=True, stopped=stopped))
            found = disk.list_checkpoints(saver.folder, skip_damaged=True)
            folder = found[0].path if found else None
            self._end(EndedLoop(self.name, position.step, position.epoch, stopped, False, folder))
        self._pending = None
        self._forget()

    def _complete_script_save(self, stopped: bool) -> None:
        """The script's checkpoint of the very end, if it made one, once more and marked complete."""
        here = self.context
        here.saver.wait()
        found = disk.list_checkpoints(here.saver.folder, skip_damaged=True)
        if not found or self._cadence.saved_step != self._position.step:
            return
        saving = disk.new_saving_dir(here.saver.folder)
        disk.link_tree(found[0].path, saving)
        self._pending = (saving, found[0].record.get("metrics") or {}, True)
        here.saver.save_and_wait(
            lambda: replace(self._build(complete=True, stopped=stopped), step=found[0].step),
        )
        self._pending = None

    def _end(self, ended: EndedLoop) -> None:
        """Remembers the loop, and holds on to the state that it ended with: its checkpoint will be removed."""
        here = self.context
        assert here.run_dir is not None
        if ended.folder is not None:
            own = f"ended-{here.attempt.rank}" if here.quiet else "ended"
            held = here.run_dir / own / f"{len(here.ended):03d}"
            shutil.rmtree(held, ignore_errors=True)
            disk.link_state(ended.folder, held)
            ended = replace(ended, folder=held)
        here.ended.append(ended)
        here.mark_loop(False)

    def leave(self) -> None:
        """The script has left the loop by `break`, or by an exception: nothing is saved."""
        here = self.context
        if self.over or os.getpid() != here.pid:
            return
        self.over = True
        if self not in here.active:
            return
        self._forget()
        if here.run_dir is not None:
            here.ended.append(EndedLoop(self.name, self._position.step, self._position.epoch, False, True, None))
            here.mark_loop(False)

    def _forget(self) -> None:
        if self._pending is not None:
            say_once(
                f"pending {self._pending[0]}",
                "warning: a checkpoint was made in a body that did not end, and is not kept; end the loop by `.stop()`, not `break`",
            )
            shutil.rmtree(self._pending[0], ignore_errors=True)
            self._pending = None
        if self in self.context.active:
            del self.context.active[self.context.active.index(self) :]
