"""The columns of a table of cells, and which of them a terminal has room for: numbers are never cut, and what is left out is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from outlast.cli.table import GAP, columns
from outlast.cli.words import duration, money
from outlast.dataclass import dataclass

if TYPE_CHECKING:
    from outlast.results.sweep import Cell

NEVER = 0
DIGITS = 6
DIGITS_FEW = 4
"""Of a metric, where there is no room for more."""

TEXT_WIDTH_MIN = 12
"""Text is cut to this before another column is left out."""


@dataclass(frozen=True)
class Column:
    title: str
    cells: tuple[str, ...]
    width: int
    right: bool = False
    text: bool = False
    """May be cut."""

    leaves: int = NEVER
    """Columns with the least number above 0 are left out first, the last of them before the others."""

    @property
    def width_min(self) -> int:
        return min(self.width, max(TEXT_WIDTH_MIN, columns(self.title))) if self.text else self.width


def columns_of(
    cells: Sequence[Cell],
    params: Sequence[str],
    metrics: Sequence[str],
    *,
    constant: Sequence[str] = (),
    main: str = "",
    with_cost: bool = False,
    with_args: bool = False,
    with_why: bool = False,
    digits: int = DIGITS,
) -> list[Column]:
    """`constant`: parameters that are the same in every cell of the sweep; `main`: the metric that is never left out."""

    def column(
        title: str, words: Callable[[Cell], str], *, text: bool = False, right: bool = True, leaves: int = NEVER
    ) -> Column:
        every = tuple(words(cell) for cell in cells)
        return Column(title, every, max(map(columns, (title, *every))), right and not text, text, leaves)

    def param(name: str) -> Column:
        def words(cell: Cell) -> str:
            return value_words(cell.params[name], digits) if name in cell.params else ""

        return column(name, words, text=True, leaves=1 if name in constant else NEVER)

    def metric(name: str) -> Column:
        def words(cell: Cell) -> str:
            return f"{cell.metrics[name]:.{digits}g}" if name in cell.metrics else ""

        return column(name, words, leaves=NEVER if name == main else 4)

    found = [
        column("CELL", lambda cell: str(cell.number)),
        column("STATE", lambda cell: cell.state, right=False),
    ]
    if any(cell.step is not None for cell in cells):
        found.append(column("STEP", lambda cell: "" if cell.step is None else f"{cell.step:,}", leaves=2))
    found.append(column("TOOK", lambda cell: duration(cell.seconds) if cell.attempts else "", leaves=3))
    if with_cost:
        found.append(column("COST", lambda cell: money(cell.usd), leaves=5))
    if with_args:
        from outlast.cli.typed import quoted

        found.append(column("ARGS", lambda cell: quoted(cell.args), text=True))
    found += map(param, params)
    found += map(metric, metrics)
    if with_why:
        found.append(column("WHY", why_words, text=True))
    return found


def fitting(every: Sequence[Column], room: int) -> tuple[list[Column], list[Column]]:
    """Those that there is room for, and those that are left out; where even that is not enough, text is cut further."""
    kept = list(every)
    out: list[Column] = []
    while sum(one.width_min for one in kept) + len(GAP) * (len(kept) - 1) > room:
        first = min((one.leaves for one in kept if one.leaves), default=NEVER)
        if not first:
            break
        goes = max(i for i, one in enumerate(kept) if one.leaves == first)
        out.append(kept.pop(goes))
    return kept, out


def why_words(cell: Cell) -> str:
    """Of what has not ended well."""
    return f"exit code {cell.exit_code}" if cell.state == "failed" and cell.exit_code else cell.reason


def value_words(value: Any, digits: int = DIGITS) -> str:
    """A parameter as the file has it; words without their quotes. Where there is little room, what a search has chosen is rounded."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and digits < DIGITS:
        return f"{value:.{digits}g}"
    return str(value) if type(value) in (int, float) else json.dumps(value)
