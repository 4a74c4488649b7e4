"""Our `pattern` matches as `re.compile` does, and compiles nothing before it is asked."""

from __future__ import annotations

import re

import pytest

from outlast.pattern import pattern


@pytest.mark.parametrize("method", ["match", "fullmatch", "search", "findall", "split"])
@pytest.mark.parametrize("text", ["", "ab-12", "AB-12 x", "12"])
def test_it_answers_as_a_compiled_one_does(method: str, text: str) -> None:
    written = r"([a-z]+)-(?P<number>\d+)"
    ours, theirs = pattern(written, re.IGNORECASE), re.compile(written, re.IGNORECASE)
    for _ in range(2):
        assert repr(getattr(ours, method)(text)) == repr(getattr(theirs, method)(text))
    assert ours.sub("x", text) == theirs.sub("x", text)


def test_bytes_and_what_it_was_written_as_are_known() -> None:
    ours = pattern(rb"\.env$")
    assert ours.search(b"a/.env") is not None
    assert ours.pattern == rb"\.env$"


def test_nothing_is_compiled_before_it_is_used() -> None:
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.match("x")
