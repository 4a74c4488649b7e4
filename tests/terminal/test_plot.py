"""Pictures of characters: what was logged, and when attempts ran."""

from __future__ import annotations

import math
from typing import Any

import pytest

from outlast.cli.plot import COLUMNS_MAX, LABEL_COLUMNS, ROWS, picture
from outlast.cli.timeline import timeline
from outlast.folder.records import Attempt, Cause


def test_a_falling_line_falls_from_the_upper_left_to_the_lower_right() -> None:
    lines = picture({step: 100.0 - step for step in range(101)}, columns=80, braille=False)
    rows = [line[LABEL_COLUMNS + 2 :] for line in lines[:ROWS]]
    firsts = [row.index("*") for row in rows]
    assert firsts == sorted(firsts) and firsts[0] == 0
    assert lines[0].split("|")[0].strip() == "100" and lines[ROWS - 1].split("|")[0].strip() == "0"
    assert lines[-1].split() == ["0", "step", "100"]


def test_braille_draws_the_same_with_eight_dots_to_a_character() -> None:
    lines = picture({0: 0.0, 10: 1.0}, columns=80, braille=True)
    dots = "".join(lines[:ROWS])
    assert any(0x2800 < ord(one) < 0x2900 for one in dots) and "*" not in dots


@pytest.mark.parametrize("braille", [True, False])
@pytest.mark.parametrize("columns", [1, 40, 80, 1000])
@pytest.mark.parametrize(
    "values",
    [
        {5: 1.0},
        {0: 3.0, 1: 3.0},
        {0: 1e300, 1: -1e300},
        {0: 1e-300, 10**9: 2e-300},
        {-5: 1.0, 5: 2.0},
        {step: math.sin(step) for step in range(10_000)},
    ],
    ids=["one", "flat", "huge", "tiny", "negative steps", "many"],
)
def test_every_series_fits_into_its_columns(values: dict[int, float], columns: int, braille: bool) -> None:
    lines = picture(values, columns=columns, braille=braille)
    assert len(lines) == ROWS + 1
    room = LABEL_COLUMNS + 2 + max(8, min(COLUMNS_MAX, columns - LABEL_COLUMNS - 3))
    assert all(len(line) <= room for line in lines[:ROWS])


def test_what_is_no_number_is_left_out() -> None:
    assert picture({0: math.nan, 1: math.inf}, columns=80, braille=True) == []
    assert len(picture({0: math.nan, 1: 1.0, 2: 2.0}, columns=80, braille=True)) == ROWS + 1


def attempt(started_at: float, ended_at: float | None, **more: Any) -> Attempt:
    return Attempt(launch=1, started_at=started_at, ended_at=ended_at, **more)


def test_attempts_stand_where_they_ran_with_what_was_lost_of_each() -> None:
    first = attempt(0.0, 50.0, cause=Cause.PREEMPTED, steps_lost=3, committed_at=25.0, seconds={"starting": 10.0})
    second = attempt(60.0, None)
    lines = timeline([(1, first), (2, second)], 100.0, columns=80, blocks=False)
    one, two, legend = (line[9:] for line in lines)
    assert one.startswith("." * 5) and one.count("x") == 13 and one.strip().endswith("preempted, 50 s")
    assert two.startswith(" " * 30 + "=") and two.strip().endswith("running, 40 s")
    assert "x lost" in legend and "1 min 40 s in all" in legend


def test_one_attempt_needs_no_timeline_and_a_thousand_have_an_end() -> None:
    assert timeline([(1, attempt(0.0, 1.0))], 2.0, columns=80, blocks=True) == []
    many = [(number, attempt(float(number), number + 0.5)) for number in range(1, 1000)]
    lines = timeline(many, 1000.0, columns=80, blocks=True)
    assert len(lines) == 13 and "987 before these" in lines[-1]
