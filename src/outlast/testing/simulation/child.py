"""The trainer as the agent sees it, in memory: a run directory that lives as long as its machine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from outlast.agent.child import Changed, Exit, Notice, Saved, SavedFile, Start
from outlast.dataclass import dataclass
from outlast.testing.simulation.history import Event
from outlast.testing.simulation.schedule import Actor
from outlast.testing.simulation.trainer import EXIT_KILLED, Trainers
from outlast.testing.simulation.training import OUTPUT

if TYPE_CHECKING:
    from outlast.testing.simulation.machine import SimulatedMachine

SAVES_ON_DISK = 2
"""The library removes older ones, also while they are being read."""


class SimulatedFile:
    def __init__(self, path: str, data: bytes, save: Save | None) -> None:
        self.path = path
        self.mode = 0o644
        self.identity = f"{path.rpartition('/')[2]}-{hashlib.sha256(data).hexdigest()[:16]}"
        self.bytes = len(data)
        self._data = data
        self._save = save

    def chunks(self, offset: int, size: int) -> Iterator[bytes]:
        middle = offset + size // 2
        for start, end in ((offset, middle), (middle, offset + size)):
            if self._save is not None and self._save.gone:
                self._save.changed()
                raise Changed(self.path)
            if end > start:
                yield self._data[start:end]


@dataclass
class Save:
    """One save of the trainer; `gone` once it was removed or rewritten in place."""

    number: int
    step: int
    complete: bool
    changed: Callable[[], None]
    """Called when a reader meets it gone: the fault is counted."""

    gone: bool = False


@dataclass
class _Placed:
    save: Save
    files: tuple[SavedFile, ...]


class SimulatedChild:
    """All of one machine's disk. Killing the agent leaves it as it is; the machine's death drops it."""

    def __init__(self, machine: SimulatedMachine) -> None:
        self._machine = machine
        self._world = machine.world
        self.rank = machine.rank
        self.machine_name = machine.uid
        self._note: bytes | None = None
        self._files: dict[str, bytes] = {}
        self._attempt: int | None = None
        self._exit: Exit | None = None
        self._trainers: Trainers | None = None
        self._first_step = 0
        self._placed: list[_Placed] = []
        self._saves = 0
        self._streams = {"log": bytearray(), "metrics": bytearray()}
        self._dropped = {"log": 0, "metrics": 0}
        self._waiting: tuple[Actor, int] | None = None
        self._leave_by: float | None = None
        self.told: Notice | None = None

    # What the agent calls.

    def recall(self) -> bytes | None:
        return self._note

    def remember(self, note: bytes) -> None:
        self._world.schedule.sleep(self._world.random.uniform(0.0, 0.02))
        self._note = note

    def edit(self, before: str, after: str) -> None:
        self._world.schedule.sleep(self._world.random.uniform(0.0, 0.2))

    def clear(self, bundle: str) -> None:
        self.end()
        self._world.schedule.sleep(self._world.random.uniform(0.0, 0.2))
        self._files.clear()
        self._attempt, self._exit, self._trainers, self.told = None, None, None, None
        self._placed, self._saves = [], 0
        self._streams = {"log": bytearray(), "metrics": bytearray()}
        self._dropped = {"log": 0, "metrics": 0}

    def restore(self, path: str, mode: int, chunks: Iterable[bytes]) -> None:
        data = b"".join(chunks)
        if self._attempt is not None:
            self._world.history.violated(f"`{path}` was restored while attempt {self._attempt} was already started")
        self._files[path] = data

    def start(self, start: Start) -> None:
        self._world.schedule.sleep(self._world.random.uniform(0.0, 0.5))
        if self._attempt == start.attempt:
            return
        if self._attempt is not None:
            self._world.history.violated(
                f"attempt {start.attempt} was started over attempt {self._attempt} without `clear`"
            )
        self._attempt = start.attempt
        self._exit = None
        self._streams = self._world.truth.streams(start.attempt, self.rank, self.machine_name)
        self._first_step = self._world.truth.begins(self._machine, start, dict(self._files))
        self._write("log", f"attempt {start.attempt} rank {self.rank} begins at step {self._first_step}\n")
        self._trainers = self._world.trainers(self._machine.launch_id, start.attempt)
        self._trainers.join(self, self._first_step, damaged=bool(self._world.chaos.damaged))

    def started(self, attempt: int) -> bool:
        return self._attempt == attempt

    def exit(self) -> Exit | None:
        return self._exit

    def tell(self, notice: Notice) -> None:
        if not self._runs():
            return
        self.told = notice
        self._leave_by = self._world.schedule.now + notice.seconds
        self._world.history.happened(
            Event(
                self._world.schedule.now,
                "told",
                self._machine.launch_id,
                self.rank,
                self.machine_name,
                notice.reason.value,
                attempt=self._attempt or 0,
                seconds=notice.seconds,
            )
        )
        if self._trainers is not None:
            self._trainers.told(self, notice)

    def end(self) -> None:
        if self._runs():
            self.ended(Exit(EXIT_KILLED))

    def saved(self, after: int, *, last: bool) -> Saved | None:
        for placed in reversed(self._placed):
            save = placed.save
            if save.number > after and not save.gone:
                return Saved(save.number, save.step, save.complete, placed.files)
        return None

    def outputs(self) -> Saved:
        files = [SimulatedFile(path, data, None) for path, data in self._outputs_now().items()]
        step = self._trainers.step if self._trainers is not None else self._first_step
        return Saved(self._saves, step, self._exit is not None and self._exit.code == 0, tuple(files))

    def step(self) -> int | None:
        return None if self._trainers is None else self._trainers.step

    def steps_total(self) -> int | None:
        return None

    def unwanted(self) -> str:
        return ""

    def say(self, text: str) -> None:
        self._write("log", f"outlast: {text}\n")

    def paused(self) -> str:
        return ""

    def stream_bytes(self, stream: str) -> int:
        return len(self._streams[stream])

    def stream_read(self, stream: str, offset: int, size: int) -> bytes:
        if offset < self._dropped[stream]:
            self._world.history.violated(f"`{stream}` was read at {offset}, given back up to {self._dropped[stream]}")
        return bytes(self._streams[stream][offset : offset + size])

    def stream_drop(self, stream: str, before: int) -> None:
        self._dropped[stream] = max(self._dropped[stream], before)

    def wait(self, seconds: float) -> None:
        actor = self._world.schedule.current
        assert actor is not None
        self._waiting = (actor, actor.token + 1)
        self._world.schedule.sleep(seconds)
        self._waiting = None

    def notice(self) -> float | None:
        return self._machine.notice_seconds()

    def timings(self) -> Mapping[str, float]:
        return {"saving": 0.1 * self._saves}

    # What the trainer does.

    def trains(self, attempt: int) -> bool:
        return self._attempt == attempt and self._exit is None and self._machine.alive and not self._machine.suspended

    @property
    def training_attempt(self) -> int | None:
        """The attempt whose trainer runs here now."""
        return self._attempt if self._runs() and self._machine.alive and not self._machine.suspended else None

    def _runs(self) -> bool:
        return self._attempt is not None and self._exit is None

    def seconds_left(self) -> float:
        return 0.0 if self._leave_by is None else self._leave_by - self._world.schedule.now

    def stepped(self, step: int) -> None:
        state = self._world.training.state(step)
        self._write("log", f"step {step} {state}\n")
        if self.rank == 0:
            self._write("metrics", f'{{"step":{step},"loss":"{state[:6]}"}}\n')

    def _write(self, stream: str, text: str) -> None:
        self._streams[stream].extend(text.encode())

    def ended(self, how: Exit) -> None:
        if not self._runs():
            return
        self._exit = how
        if self._trainers is not None:
            self._trainers.refresh()
        self._world.history.happened(
            Event(
                self._world.schedule.now,
                "exit",
                self._machine.launch_id,
                self.rank,
                self.machine_name,
                "out of memory" if how.out_of_memory else str(how.code),
                attempt=self._attempt or 0,
                step=self.step(),
            )
        )
        self._wake()

    def save(self, step: int, *, complete: bool, seconds: float) -> None:
        """The snapshot is taken now and is in place `seconds` later, if the machine lives that long."""
        self._saves += 1
        save = Save(self._saves, step, complete, lambda: self._world.history.fault("file changed while taken"))
        training = self._world.training
        files = {**training.checkpoint(step), **self._outputs_at(step)}
        kept = tuple(SimulatedFile(path, data, save) for path, data in sorted(files.items()))
        if not training.library:
            for placed in self._placed:
                self._remove(placed)
        attempt = self._attempt

        def place() -> None:
            if self._machine.suspended:
                self._world.schedule.after(1.0, place)
            elif self._attempt == attempt and self._machine.alive and (self._exit is None or seconds == 0.0):
                self._placed.append(_Placed(save, kept))
                self._world.history.happened(
                    Event(self._world.schedule.now, "saved", machine=self.machine_name, attempt=attempt or 0, step=step)
                )
                for placed in self._placed[:-SAVES_ON_DISK]:
                    self._remove(placed)
                self._wake()

        if seconds > 0.0:
            self._world.schedule.after(seconds, place)
        else:
            place()

    def _remove(self, placed: _Placed) -> None:
        placed.save.gone = True

    def _outputs_at(self, step: int) -> dict[str, bytes]:
        """What really lies in the output directory: what was restored, and what this attempt has added to it."""
        files = {path: data for path, data in self._files.items() if path.startswith(OUTPUT)}
        now = self._world.training.outputs(step)
        for path, data in now.items():
            if path.endswith("log.csv"):
                data = files.get(path, b"") + self._world.training.rows(self._first_step, step)
            files[path] = data
        return files

    def _outputs_now(self) -> dict[str, bytes]:
        return self._outputs_at(self._trainers.step if self._trainers is not None else self._first_step)

    def refresh(self) -> None:
        if self._trainers is not None:
            self._trainers.refresh()

    def woken(self) -> None:
        """Something happened that the agent should look at."""
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None:
            actor, token = self._waiting
            self._world.schedule.after(0.01, lambda: self._world.schedule.wake(actor, token))
