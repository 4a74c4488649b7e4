"""The record of what jobs have met in one region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from outlast.dataclass import dataclass


@dataclass(frozen=True)
class Met:
    """What was met in one place with one kind of machine."""

    place: str
    """A zone; the region itself, where nobody knows which."""

    what: str
    """The machine type, what is attached to it, and how it is rented: `n1-standard-8+1xnvidia-tesla-t4 spot`."""

    stockouts: int = 0
    """How many launches found no capacity."""

    out_at: float | None = None
    """When the last one did."""

    machines: int = 0
    """How many have lived and ended."""

    taken: int = 0
    """How many of those were taken away."""

    lived_seconds: float = 0.0
    """All of them together."""

    usd_per_hour: float = 0.0
    """What the last launch there was told to cost, its disk included."""

    seen_at: float = 0.0


@dataclass(frozen=True)
class RegionMemory:
    region: str
    met: Mapping[str, Met] = field(default_factory=dict)
    """By place and kind of machine."""

    told: tuple[str, ...] = ()
    """The launches that are in it already: the newest ones."""
