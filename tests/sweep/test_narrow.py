"""A table of cells in a terminal: numbers are never cut, what has no room is left out and told."""

from __future__ import annotations

import pytest

from outlast.cli.sweep_columns import DIGITS_FEW, columns_of, fitting
from outlast.cli.table import GAP, render
from outlast.results.sweep import Cell
from tests.cli.user import User

CELLS = [
    Cell(
        number,
        {"lr": 10**-number, "optimizer": "adamw" * number, "steps": 1000},
        "succeeded" if number < 4 else "failed",
        {"loss": 1 / 3**number, "accuracy": 2 / 3, "norm": 100 / 7},
        1000,
        0.01,
        75.0,
        1,
        exit_code=number // 4,
    )
    for number in range(1, 5)
]


def drawn(room: int) -> tuple[list[str], list[str]]:
    every = columns_of(
        CELLS, ["lr", "optimizer", "steps"], ["loss", "accuracy", "norm"],
        constant=["steps"], main="loss", with_cost=True, with_why=True,
    )  # fmt: skip
    kept, out = fitting(every, room)
    rows = [[column.cells[at] for column in kept] for at in range(len(CELLS))]
    whole = [at for at, column in enumerate(kept) if not column.text]
    return render([one.title for one in kept], rows, width=room, whole=whole), [one.title for one in out]


@pytest.mark.parametrize("room", [140, 120, 100, 90, 80, 70])
def test_a_line_fits_and_what_sorts_the_cells_is_whole(room: int) -> None:
    lines, out = drawn(room)
    assert max(map(len, lines)) <= room
    for line, cell in zip(lines[1:], CELLS, strict=True):
        words = line.split(GAP)
        assert words[0].strip() == str(cell.number) and cell.state in line
        assert f"{cell.metrics['loss']:.6g}" in line
    assert not {"CELL", "STATE", "lr", "loss"} & set(out)


def test_what_says_the_least_goes_first() -> None:
    assert drawn(200)[1] == []
    order = drawn(60)[1]
    assert order[:3] == ["steps", "STEP", "TOOK"] and order[3:5] == ["norm", "accuracy"]


def test_what_a_search_has_chosen_is_rounded_where_there_is_little_room() -> None:
    chosen = [Cell(1, {"lr": 0.00623794272542, "n": 12345678, "name": "0.123456"}, "running")]
    for digits, words in ((6, "0.00623794272542"), (DIGITS_FEW, "0.006238")):
        columns = {one.title: one.cells for one in columns_of(chosen, ["lr", "n", "name"], [], digits=digits)}
        assert (columns["lr"], columns["n"], columns["name"]) == ((words,), ("12345678",), ("0.123456",))


def test_a_failed_cell_says_why_in_few_words() -> None:
    lines, _ = drawn(200)
    assert lines[4].endswith("exit code 1") and "exit code" not in lines[1]


def test_in_a_terminal_the_columns_that_were_left_out_are_named(swept: User) -> None:
    wide = swept.on_terminal("show", "lr", columns=120, NO_COLOR="1").out
    assert "no room" not in wide and "exit code 3" in wide and "`outlast logs lr 4` prints what cell 4 said" in wide
    assert "best       cell 2, `loss` 0.016, the least" in wide
    narrow = swept.on_terminal("results", "lr", columns=44, NO_COLOR="1").out
    assert "no room for `STEP`, `TOOK`: in a wider terminal, or by `outlast results lr --csv`" in narrow
    assert "0.016" in narrow and "succeeded" in narrow
    piped = swept.outlast("show", "lr").out
    assert "STEP" in piped and "rate" in piped, "in a pipe there is room for everything"


def test_a_sweep_is_one_line_whose_counts_are_not_cut_in_a_narrow_terminal(swept: User) -> None:
    lines = swept.on_terminal("jobs", columns=68, NO_COLOR="1").out.splitlines()
    (line,) = [line for line in lines if line.startswith("lr ")]
    assert "3/6, 3 failed" in line
