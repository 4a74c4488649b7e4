"""Which command brings a person to a job's machine."""

from __future__ import annotations

from collections.abc import Sequence

from outlast.engines.engine import Launch
from outlast.errors import NotFound
from outlast.folder.cell import CellFolder
from outlast.folder.layout import worker_of
from outlast.jobs.job import Job, as_launch
from outlast.jobs.look import look
from outlast.jobs.world import World
from outlast.results.status import Status


def _where(job: Job, status: Status) -> tuple[Launch, int | None]:
    """The launch, and of a cell, whose launch is its sweep's, which of the workers has it."""
    if not isinstance(job.folder, CellFolder):
        return as_launch(job, status.launch, status.spec), None
    if not status.attempts:
        raise NotFound(f"no machine has begun `{job.id}` yet", hint=f"`outlast show {job.folder.sweep}`")
    sweep = Job.of(job.home, job.folder.sweep)
    launch = as_launch(sweep, sweep.folder.read_launch(status.launch.launch), sweep.spec())
    return launch, worker_of(status.attempts[-1][1].machine)


def _way_on(job: Job, status: Status) -> str:
    """A job that has succeeded is not resumed; a sweep may have other cells."""
    over = status.state == "succeeded" and not status.spec.sweep
    return "" if over else f"; `outlast resume {status.spec.sweep or job.id}` goes on with it"


def way_in(world: World, job: Job, command: Sequence[str], ports: Sequence[int]) -> list[str]:
    """The words of a command that this computer can run."""
    status = look(world, job)
    rented = status.launch.machine.rented
    if status.final and (rented is None or not rented.linger_seconds):
        raise NotFound(
            f"job `{job.id}` has {status.state}: nothing of it runs",
            hint=f"`outlast pull {job.id}` has its files" + _way_on(job, status),
        )
    launch, worker = _where(job, status)
    words = world.engine(status.launch.engine).enter(launch, tuple(command), tuple(ports), worker)
    if words is None:
        if status.final:
            raise NotFound(f"job `{job.id}` has {status.state}, and its machine does not linger any more")
        waits = f": it waits {status.why}" if status.why else ""
        raise NotFound(f"no machine of job `{job.id}` runs now{waits}", hint=f"`outlast show {job.id}`")
    return words
