"""The ways in which a machine is asked for, best first, where Google's rules are not settled.

Each is tried until one is not refused as wrong (400); what a machine is told of its notice follows from the one that was taken.
"""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.engines.compute.told import SOFT_OFF_SECONDS

NOTICE_SECONDS = 120


@dataclass(frozen=True)
class Variant:
    notice: bool
    """Two minutes between the notice and the soft-off."""

    action: str
    """What becomes of a machine that is taken away or whose time is over; empty: as Google likes."""

    timed: bool
    """Google itself ends the machine at the deadline."""

    @property
    def notice_seconds(self) -> float:
        return SOFT_OFF_SECONDS + (NOTICE_SECONDS if self.notice else 0)


SPOT = (
    Variant(notice=True, action="DELETE", timed=True),
    Variant(notice=True, action="STOP", timed=True),
    Variant(notice=False, action="DELETE", timed=True),
    Variant(notice=False, action="STOP", timed=True),
    Variant(notice=True, action="", timed=False),
    Variant(notice=False, action="", timed=False),
)
STANDARD = (
    Variant(notice=False, action="DELETE", timed=True),
    Variant(notice=False, action="STOP", timed=True),
    Variant(notice=False, action="", timed=False),
)


def variants(*, spot: bool) -> tuple[Variant, ...]:
    return SPOT if spot else STANDARD
