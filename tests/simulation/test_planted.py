"""The simulation is worth what it catches: every bug that was planted on purpose."""

from __future__ import annotations

import os

import pytest

from outlast.testing.simulation.planted import ALL
from outlast.testing.simulation.planted.hunt import CAUGHT_BY, hunt_many
from outlast.testing.simulation.planted.plant import DIRECTORY, GARBAGE, GATHER, ISSUE, LIFE, MISC, Planted

HALVES = 2

RULES = {
    # The issue's own list.
    f"{ISSUE}: dropped precondition": ("head without condition", "record over record"),
    f"{ISSUE}: pointer before parts": ("pointer before parts",),
    f"{ISSUE}: skipped fence": ("commit without fence", "fenced trainer runs on", "machine of another launch joins"),
    f"{ISSUE}: claim or manifest that wedges the next attempt": ("claim that wedges", "manifest that wedges"),
    f"{ISSUE}: wish of an old launch obeyed": ("old wish obeyed",),
    f"{ISSUE}: delete by name": ("delete by name",),
    f"{ISSUE}: garbage collection of a shared part": ("shared part collected",),
    f"{ISSUE}: late start after stop": ("late start not undone", "late machine ends only itself"),
    f"{ISSUE}: ignored lost answer": ("lost answer ignored", "own record not recognised", "segment taken for longer"),
    f"{ISSUE}: outputs unfenced": ("outputs unfenced", "outputs published at every commit", "outputs not restored"),
    # Each rule that failed in the protocol's model.
    f"{GATHER}: fenced machines go to (1)": ("fenced machines begin again",),
    f"{GATHER}: the swap takes no slot": ("swap takes no slot",),
    f"{GATHER}: an own record is not recognised": ("own record not recognised",),
    f"{GATHER}: gatherings are charged": ("gathering is charged",),
    f"{GATHER}: only the owner honours a wish": ("wish ignored while gathering",),
    f"{GATHER}: survivors without history": ("replaced machines join again",),
    f"{LIFE}: the loser uses its own flags": ("loser uses its own record",),
    f"{LIFE}: head before record": ("head before record",),
    f"{LIFE}: nobody goes on with a half submit or resume": ("nobody starts again",),
    f"{LIFE}: a final head keeps its nonce": ("final head merged into",),
    f"{LIFE}: broken boots never end": ("spent boots not written down",),
    f"{LIFE}: a late start is not undone": ("late start not undone",),
    f"{GARBAGE}: all unnamed parts": ("garbage of later attempts",),
    f"{GARBAGE}: reuse by memory": ("part referred to from memory",),
    f"{GARBAGE}: outputs not counted as kept": ("outputs are garbage",),
    f"{GARBAGE}: reader without pin": ("reader without pin", "pins not looked at"),
    f"{MISC}: op_id window": ("merge not idempotent", "no op remembered"),
    f"{MISC}: ids from job and launch": ("launch ids come back",),
    f"{MISC}: ended before it was published": ("outputs never published",),
    f"{MISC}: boots counted per launch": ("boots counted together",),
    f"{DIRECTORY}: names unlinked, a slept writer wins": ("old names unlinked",),
    f"{DIRECTORY}: a reader sees no generation": ("emptied too soon", "no probing upward"),
}
"""Rule -> the planted bugs that break it."""


def test_every_rule_that_must_be_broken_is_broken_by_a_planted_bug() -> None:
    names = [planted.name for planted in ALL]
    assert len(set(names)) == len(names)
    assert {name for many in RULES.values() for name in many} - set(names) == set()


def test_what_is_remembered_is_about_bugs_that_exist() -> None:
    assert CAUGHT_BY.keys() - {planted.name for planted in ALL} == set()


@pytest.mark.parametrize("half", range(HALVES))
def test_every_planted_bug_is_caught(half: int) -> None:
    """In two halves, so that two cores share them."""
    processes = 1 if os.environ.get("PYTEST_XDIST_WORKER") else os.cpu_count() or 1
    rules = {planted.name: planted.rule for planted in ALL}
    survivors = []
    for hunted in hunt_many(ALL[half::HALVES], processes=processes):
        print(f"{hunted.name:36} {hunted.seeds:5} seeds  {hunted.violation}")
        if not hunted.caught:
            survivors.append(f"{hunted.name} ({rules[hunted.name]}): {hunted.violation or 'nothing was noticed'}")
    assert survivors == []


def test_a_planted_bug_is_taken_out_again() -> None:
    for planted in ALL:
        before = replaced(planted)
        with planted.planted():
            assert all(now is not then for now, then in zip(replaced(planted), before, strict=True)), planted.name
        assert replaced(planted) == before


def replaced(planted: Planted) -> list[object]:
    """What now stands where it replaces something."""
    return [getattr(owner, attribute) for owner, attribute, _ in planted.replacements]
