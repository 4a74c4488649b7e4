"""A simulated machine's place for cells, and a trainer that takes its time and then ends as its cell is meant to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from outlast.agent.bench import Held
from outlast.agent.child import Child, Exit, Notice, Saved, Start
from outlast.errors import EXIT_TRAINER_INTERRUPTED
from outlast.folder.records import LaunchRecord
from outlast.spec.spec import Spec
from outlast.testing.simulation.schedule import Schedule

LEAVE_SECONDS = 2.0


class SimulatedBench:
    """What is on it is on the machine's disk: an agent that was killed finds it as it was."""

    def __init__(self, schedule: Schedule, cell_seconds: float, bad: frozenset[int]) -> None:
        self.schedule = schedule
        self.cell_seconds = cell_seconds
        self.bad = bad
        self.dead = False
        self.note: bytes | None = None
        self.attempt: int | None = None
        self.ends_at: float | None = None
        self.code = 0
        self.paid: float | None = None
        self._held: Held | None = None
        self._leave_by: float | None = None

    def die(self) -> None:
        self.dead = True

    def give_notice(self, seconds: float) -> None:
        self._leave_by = self.schedule.now + seconds

    def held(self) -> Held | None:
        return self._held

    def take_up(self, held: Held) -> None:
        self._held = held
        self.note = self.attempt = self.ends_at = None

    def put_down(self) -> None:
        self._held = None

    def child(self, spec: Spec, launch: LaunchRecord) -> Child:
        return SimulatedCell(self, int(spec.job.rpartition(".")[2]))

    def close(self, child: Child) -> None:
        return

    def paid_until(self) -> float | None:
        return self.paid

    def note_paid(self, until: float) -> None:
        self.paid = until

    def notice(self) -> float | None:
        return None if self._leave_by is None else self._leave_by - self.schedule.now


class SimulatedCell:
    def __init__(self, bench: SimulatedBench, cell: int) -> None:
        self.bench = bench
        self.cell = cell

    def recall(self) -> bytes | None:
        return self.bench.note

    def remember(self, note: bytes) -> None:
        self.bench.note = note

    def clear(self, bundle: str) -> None:
        self.bench.attempt = self.bench.ends_at = None

    def edit(self, before: str, after: str) -> None:
        raise AssertionError("nobody edits a sweep")

    def restore(self, path: str, mode: int, chunks: Iterable[bytes]) -> None:
        raise AssertionError("nothing was saved")

    def start(self, start: Start) -> None:
        if self.bench.attempt != start.attempt:
            self.bench.attempt = start.attempt
            self.bench.ends_at = self.bench.schedule.now + self.bench.cell_seconds
            self.bench.code = 1 if self.cell in self.bench.bad else 0

    def started(self, attempt: int) -> bool:
        return self.bench.attempt == attempt

    def exit(self) -> Exit | None:
        ends_at = self.bench.ends_at
        return Exit(self.bench.code) if ends_at is not None and self.bench.schedule.now >= ends_at else None

    def tell(self, notice: Notice) -> None:
        if self.exit() is None:
            self.bench.code = EXIT_TRAINER_INTERRUPTED
            self.bench.ends_at = min(
                self.bench.ends_at or self.bench.schedule.now, self.bench.schedule.now + LEAVE_SECONDS
            )

    def end(self) -> None:
        if self.bench.attempt is not None and self.exit() is None:
            self.bench.code, self.bench.ends_at = 137, self.bench.schedule.now

    def saved(self, after: int, *, last: bool) -> Saved | None:
        return None

    def outputs(self) -> Saved:
        return Saved(0, 0, complete=True, files=())

    def step(self) -> int | None:
        return None

    def steps_total(self) -> int | None:
        return None

    def say(self, text: str) -> None:
        return

    def paused(self) -> str:
        return ""

    def unwanted(self) -> str:
        return ""

    def stream_bytes(self, stream: str) -> int:
        return 0

    def stream_read(self, stream: str, offset: int, size: int) -> bytes:
        return b""

    def stream_drop(self, stream: str, before: int) -> None:
        return

    def wait(self, seconds: float) -> None:
        left = (self.bench.ends_at or self.bench.schedule.now) - self.bench.schedule.now
        self.bench.schedule.sleep(min(seconds, left) if left > 0 else seconds)

    def notice(self) -> float | None:
        return self.bench.notice()

    def timings(self) -> Mapping[str, float]:
        return {}
