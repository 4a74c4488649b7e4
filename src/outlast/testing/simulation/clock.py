"""The clocks of the simulated world: one true time, and every machine's own wrong idea of it."""

from __future__ import annotations

from outlast.testing.simulation.schedule import Schedule

EPOCH = 1_800_000_000.0
"""The store's time at the beginning of every schedule, in seconds since 1970."""


class SimulatedClock:
    """One machine's clock: `skew_seconds` off, and with a monotonic clock that began at boot and stands still in a suspend."""

    def __init__(self, schedule: Schedule, *, skew_seconds: float = 0.0, boot_seconds: float = 0.0) -> None:
        self._schedule = schedule
        self.skew_seconds = skew_seconds
        self.suspended_seconds = 0.0
        self._boot_seconds = boot_seconds

    def now(self) -> float:
        return EPOCH + self._schedule.now + self.skew_seconds

    def monotonic(self) -> float:
        return self._schedule.now - self._boot_seconds - self.suspended_seconds

    def sleep(self, seconds: float) -> None:
        self._schedule.sleep(seconds)
