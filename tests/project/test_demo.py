"""`make demo` shows what the README says that it shows."""

from __future__ import annotations

import re

import pytest

from tests.project.project_files import ROOT
from tools import demo

README = (ROOT / "README.md").read_text()
README_LINES_MAX = 130


def transcript() -> str:
    found = demo.TRANSCRIPT.search(README)
    assert found is not None
    return found.group(2)


def shape(text: str) -> list[str]:
    """The lines without what differs from one time to the next: numbers, names, places."""
    lines = [re.sub(r"`[^`]*/[^`]*`", "`PATH`", line) for line in text.strip().splitlines()]
    return [re.sub(r"\d[\d,.]*", "N", line) for line in lines]


@pytest.mark.parametrize(
    "fact",
    [
        r"^\$ outlast drill",
        r"without notice",
        r"in mid-save",
        r"attempt \d went on at step [\d,]+",
        r"[Bb]it-identical",
        r"goodput \d+%",
        r"^Results: `",
    ],
)
def test_the_transcript_shows(fact: str) -> None:
    assert re.search(fact, transcript(), flags=re.MULTILINE), fact


def test_the_transcript_shows_at_least_two_kills() -> None:
    assert len(re.findall(r"^Kill \d", transcript(), flags=re.MULTILINE)) >= 2


def test_the_demo_still_looks_like_its_transcript() -> None:
    code, text = demo.run()
    assert code == 0, text
    first, *rest = shape(transcript())
    assert first.startswith("$ outlast drill")
    assert shape(text.replace(str(ROOT), "~/outlast")) == rest, "hint: `.venv/bin/python tools/demo.py --record`"


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= README_LINES_MAX
