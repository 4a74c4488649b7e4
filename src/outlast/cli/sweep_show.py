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
    from outlast.results.sweep import main_metric, names_of

    cells = cells_of(status)
    logged = names_of(cell.metrics for cell in cells)
    unknown = [name for name in metrics if name not in logged]
    if unknown:
        raise no_such_metric(status.job, unknown[0], logged)
    said = status.spec.cells
    assert said is not None
    main = main_metric(metrics[0] if metrics else "", said.metric, logged)
    for name, fact in _facts(status, cells, main, said.goal if main == said.metric else ""):
        if fact:
            put(f"  {name:<10} {fact}")
    put("")
    chosen = _chosen(cells, LIMIT_DEFAULT if limit is None else limit)
    columns = [name for name in logged if not metrics or name in metrics]
    print_cells(
        chosen,
        cells,
        columns,
        main=main,
        with_why=True,
        whole_in=f"`outlast show {status.job} --json`, or one `--metric`",
    )
    _say_rest(status.job, cells, chosen)


def _facts(status: SweepStatus, cells: Sequence[Cell], main: str, goal: str) -> list[tuple[str, str]]:
    from outlast.results.sweep import best_of
    from outlast.spec.sweep.goal import falls

    said, workers = status.spec.cells, status.launch.workers
    assert said is not None
    shared = f", {said.per_machine} cells on each" if said.per_machine > 1 else ""
    kind = "workers" if status.launch.machine.rented is None else "machines"
    way = "the least" if falls(main, goal) else "the most"
    chosen = [f"{said.search}, seed {said.seed}"] if said.search else []
    chosen += [f"cells that do badly end early ({said.early})"] if said.early else []
    best = best_of(cells, main, goal)
    return [
        (kind, f"{workers:,}{shared}"),
        ("search", "; ".join(chosen)),
        ("best", "" if best is None else f"cell {best.number}, `{shown(main)}` {best.metrics[main]:.6g}, {way}"),
    ]


def _say_rest(job: str, cells: Sequence[Cell], chosen: Sequence[Cell]) -> None:
    failed = next((cell.number for cell in chosen if cell.state == "failed"), None)
    if len(chosen) < len(cells):
        say(
            f"and {len(cells) - len(chosen):,} more; `outlast show {job} --limit 0` shows all {len(cells):,}, "
            f"`outlast results {job}` the best first"
        )
    if failed is not None:
        say(f"`outlast logs {job} {failed}` prints what cell {failed} said")


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
