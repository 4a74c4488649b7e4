"""A launch's custom jobs as Vertex AI describes them."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from outlast.dataclass import dataclass
from outlast.engines.vertex.names import CLAIM_LABEL, RANK_LABEL

MESSAGE_CHARACTERS_MAX = 600


class Phase(enum.Enum):
    WAITING = "waiting"
    RUNNING = "running"
    GOING = "going"
    """Cancelled, and not gone yet."""

    DONE = "done"
    """Its first replica ended with 0."""

    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def alive(self) -> bool:
        return self in (Phase.WAITING, Phase.RUNNING, Phase.GOING)


PHASES = {
    "JOB_STATE_UNSPECIFIED": Phase.WAITING,
    "JOB_STATE_QUEUED": Phase.WAITING,
    "JOB_STATE_PENDING": Phase.WAITING,
    "JOB_STATE_PAUSED": Phase.WAITING,
    "JOB_STATE_UPDATING": Phase.RUNNING,
    "JOB_STATE_RUNNING": Phase.RUNNING,
    "JOB_STATE_CANCELLING": Phase.GOING,
    "JOB_STATE_SUCCEEDED": Phase.DONE,
    "JOB_STATE_PARTIALLY_SUCCEEDED": Phase.DONE,
    "JOB_STATE_FAILED": Phase.FAILED,
    "JOB_STATE_EXPIRED": Phase.FAILED,
    "JOB_STATE_CANCELLED": Phase.CANCELLED,
}
"""A state that nobody here knows counts as waiting: it is not over."""

EXHAUSTED = 8
INTERNAL = 13
LATER = frozenset({EXHAUSTED, INTERNAL, 14})
"""RESOURCE_EXHAUSTED, INTERNAL, UNAVAILABLE: it may be there later, or elsewhere."""


@dataclass(frozen=True)
class CustomJob:
    name: str
    phase: Phase
    rank: int
    claim: str
    made_at: float
    started_at: float
    ended_at: float
    code: int
    """Google's number for why it failed; 0: it did not, or nobody says."""

    message: str
    document: Mapping[str, Any]

    @property
    def number(self) -> str:
        return self.name.rpartition("/")[2]


def custom_job(document: Mapping[str, Any]) -> CustomJob:
    labels = document.get("labels", {})
    error = document.get("error") or {}
    rank = str(labels.get(RANK_LABEL, "0"))
    return CustomJob(
        name=str(document.get("name", "")),
        phase=PHASES.get(str(document.get("state", "")), Phase.WAITING),
        rank=int(rank) if rank.isdigit() else 0,
        claim=str(labels.get(CLAIM_LABEL, "")),
        made_at=_seconds(document.get("createTime")),
        started_at=_seconds(document.get("startTime")),
        ended_at=_seconds(document.get("endTime")),
        code=int(error.get("code") or 0),
        message=" ".join(str(error.get("message", "")).split())[:MESSAGE_CHARACTERS_MAX],
        document=document,
    )


def of_rank(jobs: Iterable[CustomJob], rank: int) -> list[CustomJob]:
    """The oldest first."""
    return sorted((one for one in jobs if one.rank == rank), key=lambda one: (one.made_at, one.name))


def current(jobs: list[CustomJob]) -> CustomJob | None:
    """The one that lives; if none does, the one that ended last."""
    living = [one for one in jobs if one.phase.alive]
    return living[0] if living else jobs[-1] if jobs else None


def _seconds(text: Any) -> float:
    try:
        return datetime.fromisoformat(_plain(str(text))).timestamp()
    except ValueError:
        return 0.0


def _plain(text: str) -> str:
    """Python before 3.11 reads neither `Z` nor nine digits."""
    whole, dot, rest = text.removesuffix("Z").partition(".")
    return f"{whole}{dot}{rest[:6].ljust(6, '0') if dot else ''}+00:00"
