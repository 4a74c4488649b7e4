"""`outlast show SWEEP`: how far it is, and each of its cells with its state and what it logged last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from outlast.cli.sweep_table import print_cells
from outlast.cli.terminal import put, say, shown
from outlast.errors import NotFound

if TYPE_CHECKING:
    from outlast.results.sweep import Cell
    from outlast.results.sweep_status import SweepStatus

LIMIT_DEFAULT = 50
"""How many cells a person is shown at once."""

FIRST = ("running", "failed", "expired", "stopped", "missing")
"""Where not all cells are shown, these are."""


def cells_of(status: SweepStatus) -> list[Cell]:
    from outlast.results.sweep import table

    return table(status.seen, status.seen.look_at_running(status.now, metrics=True))


def print_table(status: SweepStatus, metrics: Sequence[str], limit: int | None) -> None:
    from outlast.results.sweep import names_of

    cells = cells_of(status)
    logged = names_of(cell.metrics for cell in cells)
    unknown = [name for name in metrics if name not in logged]
    if unknown:
        raise no_such_metric(status.job, unknown[0], logged)
    chosen = _chosen(cells, LIMIT_DEFAULT if limit is None else limit)
    put("")
    print_cells(
        chosen,
        names_of(cell.params for cell in cells),
        [name for name in logged if not metrics or name in metrics],
        with_cost=any(cell.usd for cell in cells),
    )
    if len(chosen) < len(cells):
        say(f"and {len(cells) - len(chosen):,} more; `outlast show {status.job} --limit 0` shows all {len(cells):,}")


def no_such_metric(job: str, name: str, logged: Sequence[str]) -> NotFound:
    listed = ", ".join(f"`{shown(one)}`" for one in logged[:8])
    hint = f"they have logged {listed}" if logged else "`outlast.log(loss=...)` in the script logs one"
    return NotFound(f"no cell of sweep `{job}` has logged `{name}`", hint=hint)


def _chosen(cells: Sequence[Cell], limit: int) -> Sequence[Cell]:
    """By number; where there are too many, those that run or went wrong come first. 0: all."""
    if not limit or len(cells) <= limit:
        return cells
    order = sorted(
        cells, key=lambda cell: (FIRST.index(cell.state) if cell.state in FIRST else len(FIRST), cell.number)
    )
    return sorted(order[:limit], key=lambda cell: cell.number)
