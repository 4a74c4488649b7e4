"""What the machines of a simulated sweep really cost, by somebody who sees all of them: no worker's own account is believed."""

from __future__ import annotations

from outlast.folder.cost import BOOT_SECONDS
from outlast.spec.spec import Machine, Rented

USD_PER_HOUR = 3.6
RENTED = Machine(1, 0, Rented("project", ("region",), "type", usd_per_hour=USD_PER_HOUR, usd_per_hour_on_demand=9.0))
DELETED_SECONDS = 10.0
"""From a machine's last word until it is not paid for any more."""


class Meter:
    def __init__(self) -> None:
        self.seconds = 0.0
        self._began: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        """Rank -> when its last machine was gone: the next one is made then, not sooner."""

    def booted(self, machine: str, now: float) -> None:
        rank = machine.split("-")[1]
        ended = self._ended.get(rank, now - BOOT_SECONDS)
        self._began[machine] = min(now, max(now - BOOT_SECONDS, ended))

    def gone(self, machine: str, now: float, *, by_itself: bool = False) -> None:
        """Twice is as good as once."""
        began = self._began.pop(machine, None)
        if began is not None:
            end = now + (DELETED_SECONDS if by_itself else 0.0)
            self.seconds += end - began
            self._ended[machine.split("-")[1]] = end

    def too_dear(self, limit_usd: float) -> str:
        """Empty: the limit has held."""
        over = self.seconds - limit_usd / USD_PER_HOUR * 3600
        return f"{over:.0f} s more were paid for than the money was for" if over > 0 else ""
