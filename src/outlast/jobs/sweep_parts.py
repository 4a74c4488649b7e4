"""What of a sweep a command works on: all of it, one cell, or nothing, in words that help."""

from __future__ import annotations

from outlast.errors import UsageError
from outlast.folder.cell import CellFolder
from outlast.jobs.find import cell_of, find
from outlast.jobs.job import Job
from outlast.jobs.world import World
from outlast.spec.spec import Spec


def find_part(world: World, text: str | None, cell: int | None, home: str | None = None) -> Job:
    """`JOB`, `SWEEP.21`, or `SWEEP` and `21`."""
    found = find(world, text, home)
    if cell is None:
        return found
    if isinstance(found.folder, CellFolder):
        raise UsageError(f"`{found.id}` is a cell itself, and has no cell {cell}")
    return cell_of(found, cell)


def find_whole(world: World, text: str | None, home: str | None, verb: str) -> Job:
    """For what is done to a job, or to a sweep with all its cells; `verb`: the command's."""
    found = find(world, text, home)
    refuse_cell(found, verb)
    return found


def refuse_cell(job: Job, verb: str) -> None:
    """For what is done to a whole sweep."""
    if isinstance(job.folder, CellFolder):
        raise UsageError(
            f"`{job.id}` is a cell of sweep `{job.folder.sweep}`, and what `outlast {verb}` does is done to all of it",
            state="nothing was changed",
            hint=f"`outlast {verb} {job.folder.sweep}`",
        )


def refuse_sweep(job: Job, spec: Spec, why: str, hint: str) -> None:
    """For what is done to one training."""
    if spec.cells is not None:
        raise UsageError(f"`{job.id}` is a sweep: {why}", state="nothing was started", hint=hint)
