"""Sweeps on a virtual clock: no schedule of deaths, zombies and lost answers breaks a promise, and planted bugs are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from outlast.agent.bench import Leaving
from outlast.agent.sweep import Worker
from outlast.agent.sweep_claims import Claims
from outlast.agent.sweep_purse import Purse
from outlast.folder.bills import Bills
from outlast.folder.cell import ClaimedCell
from outlast.folder.folder import HeadAt
from outlast.folder.records import State
from outlast.testing.simulation.sweep import FAULTS, run_sweep

SEEDS = 60
SEEDS_PLANTED_MAX = 150
SEEDS_FIRST = (8, 6, 16, 38, 51, 79)
"""Some that have caught what is rarely caught."""


def test_no_schedule_breaks_a_promise_and_every_kind_of_fault_is_met() -> None:
    faults: Counter[str] = Counter()
    for seed, poor in product(range(SEEDS), (False, True)):
        world = run_sweep(seed, poor=poor)
        assert not world.history.violations, (f"seed {seed:#x}", world.options, world.history.violations)
        faults.update(world.history.faults)
    met = {*FAULTS, "not let go", "left unpaid", "answer lost", "late write", "412 after own lost answer"}
    assert met <= set(faults), faults


@pytest.mark.soak
def test_many_more_schedules() -> None:
    for seed, poor in product(range(SEEDS, 20 * SEEDS), (False, True)):
        world = run_sweep(seed, poor=poor)
        assert not world.history.violations, (f"seed {seed:#x}", world.options, world.history.violations)


def _begins_anew(patch: pytest.MonkeyPatch) -> None:
    """What earlier workers have done of a cell is not looked at."""

    before = ClaimedCell.read_head

    def forgetful(self: ClaimedCell) -> HeadAt:
        at = before(self)
        ended = at.head.state.final and at.head.attempt
        return HeadAt(replace(at.head, state=State.SUBMITTED), at.generation) if ended else at

    patch.setattr(ClaimedCell, "read_head", forgetful)


def _ends_too_early(patch: pytest.MonkeyPatch) -> None:
    """Who has nothing to do believes that nobody has."""
    patch.setattr("outlast.folder.sweep.Progress.unfinished", lambda self: [])
    patch.setattr("outlast.folder.sweep.Progress.to_do", 0)


def _never_inherits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Claims, "inherited", lambda self: None)
    patch.setattr("outlast.agent.sweep_others.STILL_SECONDS", 1e9)


def _always_spare(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Worker, "_finish", lambda self: Leaving.SPARE)


def _forgets_bills(patch: pytest.MonkeyPatch) -> None:
    """Whoever comes in a dead machine's place has the whole share again."""
    patch.setattr("outlast.agent.sweep_purse.seconds_of", lambda chain, until: [])


def _pays_later(patch: pytest.MonkeyPatch) -> None:
    """Who is cut off goes on beyond what is paid for."""
    patch.setattr(Purse, "overdue", lambda self: False)
    patch.setattr("outlast.testing.simulation.sweep.paid_no_more", lambda until, born_at, clock: False)


def _forgets_those_who_cannot_leave(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bills, "idle", lambda self, launch: frozenset())


def _leaves_to_those_who_have_left(patch: pytest.MonkeyPatch) -> None:
    """And what others have is reckoned too high."""
    patch.setattr(Bills, "gone", lambda self, launch: frozenset())
    patch.setattr(Purse, "leave_to_others", lambda self: self.station.workers > 1)


def _waits_without_money(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Purse, "empty", lambda self: False)


def _leaves_nobody_to_watch(patch: pytest.MonkeyPatch) -> None:
    """A machine that its group does not let go is paid for, and nobody on it counts that."""
    patch.setattr(Purse, "all_spent", lambda self: False)


def _holds_nothing_back(patch: pytest.MonkeyPatch) -> None:
    """For a machine that comes up in a place whose money is spent."""
    patch.setattr("outlast.agent.sweep_purse.LEAVE_SECONDS", 0.0)


PLANTS = [_begins_anew, _ends_too_early, _never_inherits, _always_spare]
PLANTS_OF_MONEY = [
    _forgets_bills,
    _pays_later,
    _forgets_those_who_cannot_leave,
    _leaves_to_those_who_have_left,
    _waits_without_money,
    _leaves_nobody_to_watch,
    _holds_nothing_back,
]


@pytest.mark.parametrize("plant", [*PLANTS, *PLANTS_OF_MONEY])
def test_planted_bugs_are_caught(plant: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    poor = plant in PLANTS_OF_MONEY
    seeds = (*SEEDS_FIRST, *range(SEEDS_PLANTED_MAX))
    assert any(run_sweep(seed, poor=poor).history.violations for seed in seeds), "nobody noticed"
