"""A cell of a sweep that runs now: how far it is, what it has logged, what it has cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from random import Random
from typing import Any

from outlast.dataclass import dataclass, replace
from outlast.errors import Damaged, KeyMissing, NewerFormat
from outlast.folder.cell import CellFolder
from outlast.folder.folder import Folder
from outlast.folder.layout import cell_id
from outlast.folder.records import LaunchRecord
from outlast.results.metrics import read_sample
from outlast.results.status import PREEMPTIONS
from outlast.spec.spec import Spec
from outlast.store.store import Store


class SeenCell(CellFolder):
    """Whose sweep was read before: a spec is not looked up again for each of its cells."""

    def __init__(self, store: Store, spec: Spec, cell: int, random: Random, turn: int) -> None:
        super().__init__(store, spec.job, cell, random, turn)
        self._sweep_spec = spec

    def read_spec(self) -> Spec:
        """All but its arguments and its code."""
        spec = self._sweep_spec
        return replace(spec, job=cell_id(spec.job, self.cell), sweep=spec.job, cells=None, workers=1)


@dataclass(frozen=True)
class RunningCell:
    params: Mapping[str, Any] = field(default_factory=dict)
    """What a search has chosen for it."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    step: int | None = None
    usd: float = 0.0
    seconds: float = 0.0
    attempts: int = 0
    preemptions: int = 0
    started_at: float | None = None


def look_at(
    folder: Folder, spec: Spec, record: LaunchRecord, cell: int, turn: int, now: float, *, metrics: bool
) -> RunningCell:
    """A few reads, of one that runs. One that was only claimed yet has nothing to tell."""
    seen = SeenCell(folder.store, spec, cell, folder.random, turn)
    chosen = spec.cells is not None and spec.cells.search == "tpe"
    trial = seen.read_trial() if chosen and metrics else None
    params = trial.params if trial is not None else {}
    try:
        head = seen.read_head().head
    except (KeyMissing, Damaged, NewerFormat):
        return RunningCell(params)
    attempts = list(head.attempts.values())
    steps = [one.step for one in attempts if one.step is not None]
    beat = seen.read_beat(head.attempt) if head.attempt and metrics else None
    if beat is not None and beat.step is not None:
        steps.append(beat.step)
    series = read_sample(seen)[0] if metrics else {}
    return RunningCell(
        params=params,
        metrics={name: next(reversed(values.values())) for name, values in series.items()},
        step=max([*steps, head.best_step]) if steps or head.best_step >= 0 else None,
        usd=sum(((one.ended_at or now) - one.started_at) * one.usd_per_hour for one in attempts) / 3600,
        seconds=sum((one.ended_at or now) - one.started_at for one in attempts),
        attempts=len(attempts),
        preemptions=sum(1 for one in attempts if one.cause in PREEMPTIONS),
        started_at=min((one.started_at for one in attempts), default=None),
    )
