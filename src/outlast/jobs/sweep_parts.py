"""What of a sweep a command works on: all of it, one cell, or nothing, in words that help."""

from __future__ import annotations

from outlast.errors import Damaged, NewerFormat, NotFound, OutlastError, UsageError
from outlast.folder.cell import CellFolder
from outlast.folder.layout import cell_id
from outlast.folder.records import SweepLaunch
from outlast.folder.sweep import GOOD
from outlast.jobs.find import cell_of, find
from outlast.jobs.job import Job
from outlast.jobs.world import World
from outlast.results.cell import SeenCell
from outlast.results.sweep import see
from outlast.spec.spec import Spec


def find_part(world: World, text: str | None, cell: int | None, home: str | None = None) -> Job:
    """`JOB`, `SWEEP.21`, or `SWEEP` and `21`."""
    found = find(world, text, home)
    if cell is None:
        return found
    if isinstance(found.folder, CellFolder):
        raise UsageError(f"`{found.id}` is a cell itself, and has no cell {cell}")
    return cell_of(found, cell)


def is_sweep(job: Job) -> bool:
    """A job whose spec is damaged still has its files."""
    try:
        return job.spec().cells is not None
    except (Damaged, NewerFormat, NotFound):
        return False


def find_whole(world: World, text: str | None, home: str | None, verb: str) -> Job:
    """For what is done to a job, or to a sweep with all its cells; `verb`: the command's."""
    try:
        found = find(world, text, home)
    except OutlastError as error:
        error.state = error.state or "nothing was changed"  # nor of those that are named beside it
        raise
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


def cells_begun(sweep: Job) -> list[Job]:
    """Those that have a folder by now, in the present turn, by number. Nothing is read of any of them."""
    spec = sweep.spec()
    head = sweep.folder.existing_head().head
    record = sweep.folder.read_launch(head.launch)
    turn = (record.cells or SweepLaunch(1)).turn
    seen = see(sweep.folder, spec, record, final=head.state.final)
    return [
        Job(cell_id(sweep.id, cell), sweep.home, SeenCell(sweep.home.store, spec, cell, sweep.home.random, turn))
        for cell in sorted({*seen.progress.rows, *seen.progress.claims})
    ]


def cells_to_resume(sweep: Job) -> tuple[list[int], int]:
    """Those that have not succeeded, of how many."""
    record = sweep.folder.read_launch(sweep.folder.existing_head().head.launch)
    seen = see(sweep.folder, sweep.spec(), record, final=True)
    return [cell for cell in seen.cells if seen.state(cell) not in GOOD], len(seen.cells)


def cell_number(cell: Job) -> int:
    assert isinstance(cell.folder, CellFolder)
    return cell.folder.cell
