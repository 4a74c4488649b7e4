"""A sweep's status: a job's, with the counts and the cost of its cells."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from outlast.dataclass import dataclass
from outlast.folder.bills import Bills
from outlast.folder.folder import Folder
from outlast.folder.sweep_records import Row
from outlast.results.cell import RunningCell
from outlast.results.status import Status
from outlast.results.sweep import Counts, Seen, see


@dataclass(frozen=True, kw_only=True)
class SweepStatus(Status):
    seen: Seen
    counts: Counts
    usd: float
    """Of all its machines, also while they booted or waited; a cell's own cost is that of its attempts."""

    attempts_made: int
    """By cells that have ended or run."""

    preempted: int
    began_at: float | None

    __repr__ = Status.__repr__

    @property
    def preemptions(self) -> int:
        return self.preempted

    @property
    def started_at(self) -> float | None:
        return self.began_at

    @property
    def cost_usd(self) -> float:
        return round(self.usd + self._lingered_usd, 4)

    def row(self) -> dict[str, Any]:
        return {**super().row(), "attempts": self.attempts_made, "cells": self.counts.document()}


def with_cells(folder: Folder, status: Status) -> Status:
    """The status of a sweep with what its cells say; of any other job as it was."""
    if status.spec.cells is None or isinstance(status, SweepStatus):
        return status
    seen = see(folder, status.spec, status.launch, final=status.final)
    running = seen.look_at_running(status.now, metrics=False)
    told: list[Row | RunningCell] = [row for cell, row in seen.progress.rows.items() if cell not in running]
    told += running.values()
    began = [one.started_at for one in (*told, *seen.earlier) if one.started_at is not None]
    known = {one.name: getattr(status, one.name) for one in fields(Status)}
    if status.state == "starting" and began:
        known["state"] = "running"  # its head says nothing of that: its cells' heads do
    return SweepStatus(
        **known,
        seen=seen,
        counts=seen.counts(),
        usd=Bills(folder).spent_usd(status.now) + sum(status.head.beside_usd.values()),
        attempts_made=sum(one.attempts for one in told),
        preempted=sum(one.preemptions for one in told),
        began_at=min(began, default=None),
    )
