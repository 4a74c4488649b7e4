"""A sweep's cells as a table: for eyes, or as CSV."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from outlast.cli.listing import COLOUR_OF_STATE
from outlast.cli.sweep_columns import DIGITS_FEW, Column, columns_of, fitting, value_words, why_words
from outlast.cli.table import render
from outlast.cli.terminal import paint, put, say, shown, width

if TYPE_CHECKING:
    from outlast.results.sweep import Cell

NAMED_MAX = 8
"""So many columns that were left out are named."""


def print_cells(
    cells: Sequence[Cell],
    every: Sequence[Cell],
    metrics: Sequence[str],
    *,
    main: str = "",
    with_why: bool = False,
    whole_in: str,
) -> None:
    """A line each, in the order given. `every`: all cells of the sweep; `whole_in`: where those columns are that have no place here."""
    from outlast.results.sweep import names_of

    params = names_of(cell.params for cell in every)
    make = partial(
        columns_of,
        cells,
        params,
        metrics,
        constant=_constant(every, params),
        main=main,
        with_cost=any(cell.usd for cell in every),
        with_args=any(cell.args != every[0].args for cell in every),
        with_why=with_why and any(map(why_words, cells)),
    )
    room = width(sys.stdout)
    chosen: Sequence[Column] = make()
    out: Sequence[Column] = ()
    if room is not None and fitting(chosen, room)[1]:
        chosen, out = fitting(make(digits=DIGITS_FEW), room)
    _put(cells, chosen, room)
    if out:
        _say_left_out(out, every, whole_in)


def _put(cells: Sequence[Cell], chosen: Sequence[Column], room: int | None) -> None:
    rows = [[column.cells[at] for column in chosen] for at in range(len(cells))]
    right = [at for at, column in enumerate(chosen) if column.right]
    whole = [at for at, column in enumerate(chosen) if not column.text]
    first, *lines = render([column.title for column in chosen], rows, width=room, right=right, whole=whole)
    lines = [_coloured(line, cell.state) for line, cell in zip(lines, cells, strict=True)]
    put("\n".join([paint(first, "bold", sys.stdout), *lines]))


def _coloured(line: str, state: str) -> str:
    """The state is the first word behind the number."""
    colour = COLOUR_OF_STATE.get(state)
    return line if colour is None else line.replace(f" {state}", f" {paint(state, colour, sys.stdout)}", 1)


def _constant(every: Sequence[Cell], params: Sequence[str]) -> list[str]:
    """Parameters that tell no cell from another."""
    found = set(params) if len(every) > 1 else set()
    first = every[0].params if every else {}
    for cell in every:
        if not found:
            break
        found = {name for name in found if name in cell.params and cell.params[name] == first.get(name)}
    return [name for name in params if name in found]


def _say_left_out(out: Sequence[Column], every: Sequence[Cell], whole_in: str) -> None:
    constant = _constant(every, [column.title for column in out])
    named = [
        f"`{shown(one.title)}` ({shown(value_words(every[0].params[one.title]))} in all)"
        if one.title in constant
        else f"`{shown(one.title)}`"
        for one in out[:NAMED_MAX]
    ]
    named += [f"{len(out) - NAMED_MAX} more"] if len(out) > NAMED_MAX else []
    say(f"no room for {', '.join(named)}: in a wider terminal, or by {whole_in}")


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
            round(cell.usd, 6),
            round(cell.seconds, 3),
            cell.attempts,
            "" if cell.exit_code is None else cell.exit_code,
        ]
        for cell in cells
    )
