"""What the machines of a simulated sweep really cost, by somebody who sees all of them: no worker's own account is believed."""

from __future__ import annotations

from collections import Counter, defaultdict

from outlast.agent.sweep_terms import LEAVE_SECONDS, WORK_SECONDS_MIN
from outlast.folder.cost import BOOT_SECONDS
from outlast.spec.spec import Machine, Rented

USD_PER_HOUR = 3.6
RENTED = Machine(1, 0, Rented("project", ("region",), "type", usd_per_hour=USD_PER_HOUR, usd_per_hour_on_demand=9.0))
DELETED_SECONDS = 10.0
"""From a machine's last word until it is not paid for any more."""

USELESS_SECONDS_MAX = 120.0
"""So long a machine that finds nothing to do lives at most."""


class Meter:
    def __init__(self, share_seconds: float | None) -> None:
        self.share_seconds = share_seconds
        self.seconds = 0.0
        self.unwatched_seconds = 0.0
        """Of machines that may not leave, while nobody else was there to end the sweep."""

        self.useless_seconds = 0.0
        """Of machines that the group has made once more, although the share of their place could not pay for work any more, as another
        one before them: for one of those each worker holds something back, and nobody can keep the group from making the next."""

        self._spent: dict[str, float] = defaultdict(float)
        self._late: Counter[str] = Counter()
        self._began: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        """Rank -> when its last machine was gone: the next one is made then, not sooner."""

    def booted(self, machine: str, now: float) -> None:
        place = machine.rpartition("-")[0]
        ended = self._ended.get(place.partition("-")[2], now - BOOT_SECONDS)
        self._began[machine] = min(now, max(now - BOOT_SECONDS, ended))
        if self.share_seconds is not None:
            needed = LEAVE_SECONDS + WORK_SECONDS_MIN + BOOT_SECONDS
            self._late[place] += self._spent[place] >= self.share_seconds - needed

    def gone(self, machine: str, now: float, *, by_itself: bool = False) -> None:
        """Twice is as good as once."""
        began = self._began.pop(machine, None)
        if began is not None:
            end = now + (DELETED_SECONDS if by_itself else 0.0)
            self.seconds += end - began
            place = machine.rpartition("-")[0]
            self._ended[place.partition("-")[2]] = end
            self._spent[place] += end - began
            if self._late[place] > 1:
                self.useless_seconds += min(USELESS_SECONDS_MAX, end - began)

    def too_dear(self, limit_usd: float) -> str:
        """Empty: the limit has held."""
        over = self.seconds - limit_usd / USD_PER_HOUR * 3600
        return (
            f"{over:.0f} s more were paid for than the money was for"
            if over > self.unwatched_seconds + self.useless_seconds
            else ""
        )
