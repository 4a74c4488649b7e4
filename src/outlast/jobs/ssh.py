"""Which command brings a person to a job's machine."""

from __future__ import annotations

from collections.abc import Sequence

from outlast.errors import NotFound, UsageError
from outlast.folder.cell import CellFolder
from outlast.folder.folder import Folder
from outlast.jobs.job import Job, as_launch
from outlast.jobs.look import look
from outlast.jobs.world import World
from outlast.results.status import Status


def _check_alone(job: Job, cell: CellFolder, status: Status) -> None:
    """Which machine a cell is on, an engine does not know: it is entered where there is only one."""
    machines = Folder(cell.store, cell.sweep, cell.random).read_launch(status.launch.launch).workers
    if machines > 1:
        last = status.attempts[-1][1].machine if status.attempts else ""
        raise UsageError(
            f"`{job.id}` runs on one of the {machines} machines of its sweep{f', `{last}`' if last else ''}",
            hint=f"`outlast ssh {cell.sweep}` enters the first of them; `outlast logs -f {job.id}` follows the cell",
        )


def way_in(world: World, job: Job, command: Sequence[str], ports: Sequence[int]) -> list[str]:
    """The words of a command that this computer can run."""
    status = look(world, job)
    rented = status.launch.machine.rented
    if status.final and (rented is None or not rented.linger_seconds):
        raise NotFound(
            f"job `{job.id}` has {status.state}: nothing of it runs",
            hint=f"`outlast pull {job.id}` has its files; `outlast resume {status.spec.sweep or job.id}` goes on with it",
        )
    if isinstance(job.folder, CellFolder):
        _check_alone(job, job.folder, status)
    launch = as_launch(job, status.launch, status.spec)
    words = world.engine(status.launch.engine).enter(launch, tuple(command), tuple(ports))
    if words is None:
        if status.final:
            raise NotFound(f"job `{job.id}` has {status.state}, and its machine does not linger any more")
        waits = f": it waits {status.why}" if status.why else ""
        raise NotFound(f"no machine of job `{job.id}` runs now{waits}", hint=f"`outlast show {job.id}`")
    return words
