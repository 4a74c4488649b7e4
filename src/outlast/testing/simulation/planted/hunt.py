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


CAUGHT_BY = {
    "anybody's record": 21,
    "boots counted together": 33,
    "claim that wedges": 38,
    "commit without fence": 7,
    "damage not noticed": 20,
    "deadline not kept": 6,
    "delete by name": 7,
    "expired too soon": 5,
    "fenced machines begin again": 7,
    "fenced trainer runs on": 13,
    "garbage of later attempts": 25,
    "gathering is charged": 6,
    "given up too soon": 19,
    "laptop's clock": 5,
    "late machine ends only itself": 31,
    "late start not undone": 21,
    "launch ids come back": 20,
    "lost answer ignored": 5,
    "machine of another launch joins": 7,
    "manifest that wedges": 77,
    "merge not idempotent": 5,
    "new nonce at every try": 5,
    "no op remembered": 5,
    "nobody starts again": 5,
    "nonce kept in memory": 11,
    "nonce sent before it is on disk": 12,
    "notice not heard": 5,
    "own record not recognised": 54,
    "owner ignores the wish": 60,
    "pins not looked at": 25,
    "preemption is failure": 37,
    "reader without pin": 25,
    "record over record": 12,
    "restarted agents begin again": 45,
    "segment taken for longer": 358,
    "spent boots not written down": 33,
    "stopped is succeeded": 14,
    "stopped without a wish": 6,
    "swap takes no slot": 6,
    "why is forgotten": 38,
    "wish ignored while gathering": 62,
    "worker's end is a bug": 35,
}
"""The seeds that caught those which are not caught at once. They are tried first, and then all the others: once the code has
moved on, a number here costs time and nothing else."""


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
        first = CAUGHT_BY.get(planted.name, 0)
        for count, seed in enumerate((first, *(seed for seed in range(seeds_max) if seed != first)), 1):
            violations = planted.trial(seed)
            if violations:
                return Hunted(planted.name, count, violations[0])
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
