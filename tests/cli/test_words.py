"""Numbers, times and tables as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.cli.table import columns, cut, render
from outlast.cli.words import age, count, duration, money, percent, size


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.08, "80 ms"), (0.9996, "1.0 s"), (4.21, "4.2 s"), (9.96, "10 s"), (59.7, "1 min"), (65, "1 min 5 s"),
        (3600, "1 h"), (12_000, "3 h 20 min"), (7 * 86400, "7 d"), (187_000, "2 d 3 h"), (-1, "0 ms"),
    ],
)  # fmt: skip
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "now"), (-5, "now"), (12, "12 s ago"), (200, "3 min ago"), (7300, "2 h ago"), (2e5, "2 d ago")],
)
def test_ages(seconds: float, said: str) -> None:
    assert age(1000.0, 1000.0 + seconds) == said
    assert age(None, 0.0) == ""


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (2_100_000, "2.1 MB"), (999_999, "1.0 MB"), (3e15, "3,000 TB")],
)
def test_sizes(number: float, said: str) -> None:
    assert size(number) == said


def test_money_counts_and_shares() -> None:
    assert [money(one) for one in (0.0, 1.836, 0.001, None)] == ["$0", "$1.84", "under $0.01", "unknown"]
    assert [count(one, "file") for one in (0, 1, 1400)] == ["0 files", "1 file", "1,400 files"]
    assert [percent(one) for one in (1.0, 0.9999, 0.5)] == ["100%", "99.9%", "50%"]


def test_a_table_is_aligned_and_numbers_stand_right() -> None:
    assert render(("JOB", "STEP"), [["a", "5"], ["longer", "1,000"]], width=None, right=(1,)) == [
        "JOB      STEP",
        "a           5",
        "longer  1,000",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert columns("漢字") == 4 and columns("e\u0301") == 1
    lines = render(("A", "B"), [["漢字", "x"], ["abcd", "y"]], width=None)
    assert lines[1:] == ["漢字  x", "abcd  y"]


cells = st.text(st.characters(blacklist_categories=["Cs"]), max_size=40)


@given(st.lists(st.tuples(cells, cells, cells), max_size=6), st.integers(30, 120))
def test_no_row_is_wider_than_the_terminal_or_more_than_one_line(rows: list[tuple[str, str, str]], width: int) -> None:
    for line in render(("ONE", "TWO", "THREE"), rows, width=width):
        assert columns(line) <= width
        assert line.isprintable() or line == ""


@given(cells, st.integers(1, 30))
def test_what_is_cut_fits(text: str, width: int) -> None:
    assert columns(cut(text, width)) <= width
