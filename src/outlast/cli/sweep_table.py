"""A sweep's cells as a table: for eyes, or as CSV."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from outlast.cli.table import render
from outlast.cli.terminal import paint, put, width
from outlast.cli.words import duration, money

if TYPE_CHECKING:
    from outlast.results.sweep import Cell


def print_cells(cells: Sequence[Cell], params: Sequence[str], metrics: Sequence[str], *, with_cost: bool) -> None:
    """A line each, in the order given; `params` and `metrics` are the columns."""
    with_step = any(cell.step is not None for cell in cells)
    header = ["CELL", "STATE", *(("STEP",) if with_step else ()), "TOOK", *(("COST",) if with_cost else ())]
    right = [0, *range(2, len(header)), *range(len(header) + len(params), len(header) + len(params) + len(metrics))]
    rows = [
        [
            str(cell.number),
            cell.state,
            *(("" if cell.step is None else f"{cell.step:,}",) if with_step else ()),
            duration(cell.seconds) if cell.attempts else "",
            *((money(cell.usd),) if with_cost else ()),
            *(value_words(cell.params[name]) if name in cell.params else "" for name in params),
            *(f"{cell.metrics[name]:.6g}" if name in cell.metrics else "" for name in metrics),
        ]
        for cell in cells
    ]
    first, *lines = render([*header, *params, *metrics], rows, width=width(sys.stdout), right=right)
    put("\n".join([paint(first, "bold", sys.stdout), *lines]))


def put_csv(cells: Iterable[Cell], params: Sequence[str], metrics: Sequence[str]) -> None:
    """Numbers as they are; names that stand for two things say which."""
    import csv

    ours = ("cell", "state", "step", "cost_usd", "seconds", "attempts", "exit_code")
    named = [f"params.{name}" if name in metrics or name in ours else name for name in params]
    named += [f"metrics.{name}" if name in params or name in ours else name for name in metrics]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*ours[:2], *named, *ours[2:]])
    writer.writerows(
        [
            cell.number,
            cell.state,
            *(value_words(cell.params[name]) if name in cell.params else "" for name in params),
            *(repr(cell.metrics[name]) if name in cell.metrics else "" for name in metrics),
            "" if cell.step is None else cell.step,
            round(cell.usd, 4),
            round(cell.seconds, 3),
            cell.attempts,
            "" if cell.exit_code is None else cell.exit_code,
        ]
        for cell in cells
    )


def value_words(value: Any) -> str:
    """A parameter as the file has it; words without their quotes."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) in (int, float) else json.dumps(value)
