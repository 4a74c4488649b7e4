"""The records of a sweep, beside those that it has as a job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from outlast.dataclass import dataclass


@dataclass(frozen=True)
class Source:
    """One of several commits over which a sweep goes."""

    ref: str
    commit: str
    bundle: str


@dataclass(frozen=True)
class Grid:
    """What one submit has asked for: create-only. The cells of a sweep are those of its grids, one after another."""

    number: int
    first: int
    """The number of its first cell; cells are counted from 1."""

    cells: int
    document: str
    """The experiments as they were written down, or the ranges of a search: JSON as text, since the order of its keys counts, and
    a record's own are sorted."""

    args: tuple[str, ...] = ()
    """The script's arguments, before those of the cell."""

    only: tuple[int, ...] | None = None
    """Which of the document's cells, from 0, are new to the sweep; None: all."""

    sources: tuple[Source, ...] = ()
    """The commits that each of the document's cells runs with, one commit after another; none: the launch's bundle."""

    submitted_at: float = 0.0

    @property
    def meant(self) -> Any:
        return json.loads(self.document)


def as_text(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"))


@dataclass(frozen=True)
class CellClaim:
    """Who runs a cell; create-only. It says where to look, and never decides: the cell's head does."""

    machine: str
    worker: int
    at: float


@dataclass(frozen=True)
class Trial:
    """The parameters that a search has chosen for a cell; create-only."""

    cell: int
    params: Mapping[str, Any]
    at: float = 0.0


@dataclass(frozen=True)
class Bill:
    """What one worker's part of a rented machine has cost: rewritten by that worker as long as it lives."""

    launch: int
    worker: int
    machine: str
    """Workers that share a machine have the same here."""

    usd_per_hour: float
    began_at: float
    """The first second that is paid for."""

    until: float
    """Some time ahead: a worker that has not renewed it by then has left its machine, and one that dies has cost no more than that."""

    unbilled_seconds: float = 0.0
    """Of machines before this one, in its place, that never wrote a bill."""


@dataclass(frozen=True)
class Row:
    """How a cell has ended: what `results` shows of it."""

    cell: int
    state: str
    """As head says it: `succeeded`, `failed`, `stopped`, `expired`; or `early`: ended because others did better."""

    launch: int
    turn: int = 1
    started_at: float | None = None
    ended_at: float | None = None
    seconds: float = 0.0
    """Of all its attempts together."""

    attempts: int = 0
    preemptions: int = 0
    step: int | None = None
    exit_code: int | None = None
    reason: str = ""
    usd: float = 0.0
    """What its attempts have cost. Boots and waits are nobody's: they are in the machines' bills."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    """The last value of each."""

    params: Mapping[str, Any] = field(default_factory=dict)
    """What a search has chosen for it; empty: its grid says it."""
