"""Looks for a schedule that catches a planted bug."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence

from outlast.dataclass import dataclass
from outlast.testing.simulation.planted import ALL
from outlast.testing.simulation.planted.plant import Planted

SEEDS_MAX = 2000
"""A bug that so many schedules do not catch has survived."""

CLUMSY = ("TypeError", "AttributeError", "NameError", "ImportError")
"""A bug that shows as one of these was planted badly: it is not the rule that was caught."""


@dataclass(frozen=True)
class Hunted:
    name: str
    seeds: int
    """How many it took."""

    violation: str
    """The promise that it broke; empty: it survived."""

    @property
    def caught(self) -> bool:
        return bool(self.violation) and not any(f"crashed: {word}" in self.violation for word in CLUMSY)


def hunt(planted: Planted, seeds_max: int = SEEDS_MAX) -> Hunted:
    with planted.planted():
        for seed in range(seeds_max):
            violations = planted.trial(seed)
            if violations:
                return Hunted(planted.name, seed + 1, violations[0])
    return Hunted(planted.name, seeds_max, "")


def _hunt_number(number: int) -> Hunted:
    return hunt(ALL[number])


def hunt_many(many: Sequence[Planted], *, processes: int) -> Iterator[Hunted]:
    numbers = [ALL.index(planted) for planted in many]
    if processes <= 1:
        yield from map(_hunt_number, numbers)
        return
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        yield from pool.imap_unordered(_hunt_number, numbers)
