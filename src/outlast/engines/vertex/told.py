"""What the engine tells the program in a container: the variable `OUTLAST_TOLD`."""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.engines.compute import told as machine

VARIABLE = "OUTLAST_TOLD"
STOPPED = "stopped"
"""Beside the launch's boots: while it is there, the launch cannot be started."""


@dataclass(frozen=True)
class Told(machine.Told):
    claim: str = ""
    """Which of the launch's custom jobs this is: one that another has taken the place of leaves."""

    rank: int = 0
    """Of its first replica."""

    pools: tuple[int, ...] = (1,)
    """How many replicas each pool has: the second pool's ranks come after the first one's."""

    storage: str = ""
    agent: str = ""
    """Where the agent is, if the image has none: `b/BUCKET/o/OBJECT`."""


def claim_name(rank: int) -> str:
    """Beside the launch's boots: which custom job counts."""
    return f"claim-{rank}"


def rank_in(told: Told, pool: int, index: int) -> int:
    """Of a replica, by the place that Vertex AI gives it."""
    return told.rank + sum(told.pools[:pool]) + index
