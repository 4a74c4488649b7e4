"""Takes a job's machine away again and again, whatever its home, as soon as it has come further than before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from outlast.engines.local.engine import LocalEngine
from outlast.folder.records import Head
from outlast.jobs.asked import Asked
from outlast.jobs.job import Job, as_launch
from outlast.jobs.look import look
from outlast.jobs.submit import submit
from outlast.jobs.watch import wait
from outlast.jobs.world import World
from outlast.results.logs import PieceKind, read_log

SECONDS_MAX = 120.0
NOTICE_SECONDS = 30.0


@dataclass(frozen=True)
class Survived:
    job: Job
    head: Head
    log: str

    def output(self, name: str) -> bytes:
        return self.job.folder.store.get(f"jobs/{self.job.id}/outputs/{name}").data

    def resumed_from(self) -> list[int | None]:
        """The step at which each attempt began, from the second on."""
        return [self.head.attempts[str(number)].resumed_from_step for number in range(2, self.head.attempt + 1)]


def train_preempted(world: World, asked: Asked, times: int, *, steps_between: int) -> Survived:
    job = submit(world, asked).job
    for attempt in range(1, times + 1):
        preempt(world, job, attempt, steps_between)
    wait(world, job)
    head = job.folder.read_head().head
    pieces = [piece.data for piece in read_log(job.folder) if piece.kind is PieceKind.BYTES]
    return Survived(job, head, b"".join(pieces).decode(errors="replace"))


def preempt(world: World, job: Job, attempt: int, steps_between: int) -> None:
    """With the notice of a Spot machine, when this attempt's trainer has made so many steps."""
    engine = world.engine("local")
    assert isinstance(engine, LocalEngine)
    until = world.clock.monotonic() + SECONDS_MAX
    first: int | None = None
    while True:
        look(world, job)  # starts again what died
        head = job.folder.read_head().head
        assert not head.state.final, f"it ended before preemption {attempt}: {head.state.value}, {head.reason}"
        launch = as_launch(job, job.folder.read_launch(head.launch), job.spec())
        step = step_of(engine, launch.id) if head.attempt == attempt else None
        if step is not None:
            first = step if first is None else first
            if step >= first + steps_between and engine.preempt(launch, notice_seconds=NOTICE_SECONDS):
                return
        assert world.clock.monotonic() < until, f"attempt {attempt} made no {steps_between} steps"
        world.clock.sleep(0.05)


def step_of(engine: LocalEngine, launch_id: str) -> int | None:
    """Read on the machine itself: in a bucket the heartbeat is written once a minute."""
    for directory in engine.paths.newest_machines(launch_id).values():
        try:
            return int(Path(directory.run, "progress").read_text().partition("\n")[0])
        except (OSError, ValueError):
            continue
    return None
