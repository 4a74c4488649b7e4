"""What a sweep's cells have made, to this machine: each below its number."""

from __future__ import annotations

from pathlib import Path

from outlast.errors import NotFound
from outlast.jobs.job import Job
from outlast.jobs.pull import Pulled, copy_matching, no_match
from outlast.jobs.sweep_parts import cell_number, cells_begun
from outlast.spec.progress import OnProgress, silent

LISTED_MAX = 8


def pull_cells(
    sweep: Job,
    pattern: str = "",
    *,
    checkpoint: str = "last",
    to: str = "",
    on_progress: OnProgress = silent,
) -> Pulled:
    """As `pull`, for every cell that has begun; `pattern` fits `21/outputs/model.pt` too. A cell that has nothing of it is passed over."""
    root = Path(to or sweep.id)
    pulled = Pulled(str(root))
    there: list[str] = []
    lacks: NotFound | None = None
    for cell in cells_begun(sweep):
        below = f"{cell_number(cell)}/"
        try:
            some = copy_matching(
                cell, root, below, pattern, checkpoint, pulled, own=not (to or pulled.files), on_progress=on_progress
            )
        except NotFound as error:
            lacks = lacks or error
            continue
        there += some[: LISTED_MAX - len(there)]
    if lacks is not None and checkpoint != "last" and not pulled.found:
        raise NotFound(f"no cell of sweep `{sweep.id}` has checkpoint `{checkpoint}`: {lacks.message}", hint=lacks.hint)
    if pattern and not pulled.found:
        raise no_match("sweep", sweep.id, pattern, there)
    return pulled
