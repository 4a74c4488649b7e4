"""Sweeps on a virtual clock: no schedule of deaths, zombies and lost answers breaks a promise, and planted bugs are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
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

SEEDS = 120
SEEDS_PLANTED_MAX = 60


def test_no_schedule_breaks_a_promise_and_every_kind_of_fault_is_met() -> None:
    faults: Counter[str] = Counter()
    for seed in range(SEEDS):
        world = run_sweep(seed)
        assert not world.history.violations, (f"seed {seed:#x}", world.options, world.history.violations)
        faults.update(world.history.faults)
    assert {*FAULTS, "answer lost", "late write", "412 after own lost answer"} <= set(faults), faults


@pytest.mark.soak
def test_many_more_schedules() -> None:
    for seed in range(SEEDS, 20 * SEEDS):
        world = run_sweep(seed)
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
    before = Bills.of_launch
    patch.setattr(
        Bills, "of_launch", lambda self, launch, worker=None: [] if worker is not None else before(self, launch)
    )


def _waits_without_money(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Purse, "empty", lambda self: False)


PLANTS = [
    _begins_anew,
    _ends_too_early,
    _never_inherits,
    _always_spare,
    _forgets_bills,
    _waits_without_money,
]


@pytest.mark.parametrize("plant", PLANTS)
def test_planted_bugs_are_caught(plant: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert any(run_sweep(seed).history.violations for seed in range(SEEDS_PLANTED_MAX)), "nobody noticed"
