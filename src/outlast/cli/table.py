"""Tables for a terminal: aligned, cut to its width, and whole when they are piped."""

from __future__ import annotations

from collections.abc import Sequence

from outlast.cli.clean import printable

GAP = "  "
CELL_WIDTH_MIN = 6
"""A column is not cut to less: below that nothing in it could be recognised."""


def render(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None,
    right: Sequence[int] = (),
    whole: Sequence[int] = (),
) -> list[str]:
    """Lines without newline. `width` None: as wide as the cells are. `right`: the columns of numbers; `whole`: those that are never cut."""
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    if width is not None:
        _shrink(widths, width - len(GAP) * (len(header) - 1), frozenset(whole))
    sides = [(room, i in right) for i, room in enumerate(widths)]
    return [GAP.join([_fit(cell, *side) for cell, side in zip(row, sides, strict=True)]).rstrip() for row in cells]


def _shrink(widths: list[int], room: int, whole: frozenset[int] = frozenset()) -> None:
    """The widest column gives way first, again and again; those that are to stay whole do not."""
    elastic = [i for i in range(len(widths)) if i not in whole]
    while elastic and sum(widths) > room:
        widest = max(elastic, key=lambda i: widths[i])
        if widths[widest] <= CELL_WIDTH_MIN:
            return
        others = [widths[i] for i in elastic if i != widest]
        next_widest = max([CELL_WIDTH_MIN, *others])
        surplus = sum(widths) - room
        widths[widest] -= min(surplus, max(1, widths[widest] - next_widest))


def _fit(cell: str, width: int, right: bool) -> str:
    if cell.isascii() and len(cell) <= width:
        return cell.rjust(width) if right else cell.ljust(width)
    if columns(cell) > width:
        cell = cut(cell, width)
    padding = " " * (width - columns(cell))
    return padding + cell if right else cell + padding


def cut(text: str, width: int) -> str:
    """At most `width` columns, with `…` for what is missing."""
    if columns(text) <= width:
        return text
    kept, used = [], 0
    for character in text:
        used += columns(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"


def columns(text: str) -> int:
    """How many columns a terminal uses for it."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)
