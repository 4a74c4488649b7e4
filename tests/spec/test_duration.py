"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.errors import UsageError
from outlast.spec.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("30m", 1800),
        ("2h", 7200),
        ("7d", 604800),
        ("1h30m", 5400),
        ("1d2h3m4s", 93784),
        ("1.5h", 5400),
        ("0", 0),
        (" 2H ", 7200),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "h",
        "1x",
        "-1h",
        "1h 30m",
        "30m1h",
        "1hh",
        "1e9",
        "inf",
        "nan",
        "½h",
        "١h",
        "1h30",
        "99999999d",
        "\n",
        "1" * 50,
    ],
)
def test_what_is_no_duration_is_answered_with_the_legal_forms(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_duration(text)
    assert error.value.hint


@given(st.integers(0, 10 * 365 * 86400))
def test_a_duration_is_written_as_it_is_read(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.text())
def test_any_text_is_a_duration_or_a_usage_error(text: str) -> None:
    try:
        assert parse_duration(text) >= 0
    except UsageError:
        pass
