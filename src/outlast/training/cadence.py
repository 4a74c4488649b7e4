"""How often to save: as often as pays, from what a save costs and how long machines live; or as the script says."""

from __future__ import annotations

import math

from outlast.training.fielded import fielded

MACHINE_LIFE_SECONDS = 2 * 3600.0
"""Assumed while nothing is known; short, because saving too often costs 1% and saving too seldom an hour."""

FIRST_SECONDS = 0.25
"""The first save comes early: it is the one that tells what saves cost, and even a short job shall have one."""

INTERVAL_SECONDS_MIN = 1.0
STALL_SHARE_MAX = 0.01
"""At most this share of the training's time is spent standing still for saves."""

WRITING_SHARE_MAX = 0.2
"""At most this share of the time something is being written; the rest is left to uploads and to the script's own files."""

WRITING_COST = 0.1
"""What a second of writing in the background takes from the training, which runs on other cores."""


@fielded(frozen=True)
class Cost:
    """What the last save took: how long the training stood still, and how long it took until all was durable."""

    stall_seconds: float
    writing_seconds: float


def best_interval_seconds(cost: Cost, machine_life_seconds: float | None) -> float:
    """Young and Daly: lost work and time spent saving cost the same at the square root of twice cost times life."""
    life = machine_life_seconds or MACHINE_LIFE_SECONDS
    price = cost.stall_seconds + WRITING_COST * cost.writing_seconds
    return max(
        math.sqrt(2 * price * life),
        cost.stall_seconds / STALL_SHARE_MAX,
        cost.writing_seconds / WRITING_SHARE_MAX,
        INTERVAL_SECONDS_MIN,
    )


@fielded
class Cadence:
    """Decides at each boundary whether a save is due."""

    every_seconds: float | None = None
    every_steps: int | None = None
    machine_life_seconds: float | None = None
    saved_at: float = 0.0
    """Monotonic: when the last save began, or the loop did."""

    saved_step: int = 0
    first: bool = True

    def begin(self, now: float, step: int) -> None:
        self.saved_at, self.saved_step, self.first = now, step, True

    def saved(self, now: float, step: int) -> None:
        self.saved_at, self.saved_step, self.first = now, step, False

    def due(self, now: float, step: int, cost: Cost | None) -> bool:
        if step == self.saved_step:
            return False
        if self.every_steps is not None and step // self.every_steps > self.saved_step // self.every_steps:
            return True
        if self.every_seconds is not None:
            return now - self.saved_at >= self.every_seconds
        if self.every_steps is not None:
            return False
        if self.first or cost is None:
            return now - self.saved_at >= FIRST_SECONDS
        return now - self.saved_at >= best_interval_seconds(cost, self.machine_life_seconds)
