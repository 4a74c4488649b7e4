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
    refuse_cell(found, "it has no cells of its own", f"`outlast show {found.id}`")
    return cell_of(found, cell)


def refuse_cell(job: Job, why: str, hint: str = "") -> None:
    """For what is done to a whole sweep. `hint` empty: the same for the sweep."""
    if isinstance(job.folder, CellFolder):
        raise UsageError(f"`{job.id}` is a cell of sweep `{job.folder.sweep}`: {why}", hint=hint)


def refuse_sweep(job: Job, spec: Spec, why: str, hint: str) -> None:
    """For what is done to one training."""
    if spec.cells is not None:
        raise UsageError(f"`{job.id}` is a sweep: {why}", state="nothing was started", hint=hint)
