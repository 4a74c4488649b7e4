"""The store's time between two of its answers: its last `Date`, and how long ago that was."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from outlast.clock import Clock
from outlast.errors import StoreUnavailable

FRESH_SECONDS = 60.0
"""So long a `Date` is counted on; then the store is asked again."""

JUMP_SECONDS = 5.0
"""This machine's two clocks have parted by more: it slept, or somebody set the time, so the store is asked again."""


class _Heard(NamedTuple):
    date: float
    at: float
    """By the monotonic clock."""

    gap: float
    """Between this machine's own two clocks."""


class StoreTime:
    """Never this machine's own idea of the date."""

    def __init__(self, clock: Clock, ask: Callable[[], None]) -> None:
        """`ask` makes any request whose answer is `heard`."""
        self._clock = clock
        self._ask = ask
        self._heard: _Heard | None = None

    def heard(self, date: float) -> None:
        """`date` has whole seconds: an estimate that lies within its second is better and stays."""
        now = self._clock.monotonic()
        last = self._heard
        estimate = date + 0.5
        if last is not None and not self._jumped(last):
            estimate = min(max(last.date + now - last.at, date), date + 1.0)
        self._heard = _Heard(estimate, now, self._clock.now() - now)

    def now(self) -> float:
        last = self._heard
        if last is None or self._clock.monotonic() - last.at > FRESH_SECONDS or self._jumped(last):
            self._heard = None
            self._ask()
            last = self._heard
            if last is None:
                raise StoreUnavailable("the store does not say what time it is")
        return last.date + self._clock.monotonic() - last.at

    def _jumped(self, last: _Heard) -> bool:
        return abs(self._clock.now() - self._clock.monotonic() - last.gap) > JUMP_SECONDS
