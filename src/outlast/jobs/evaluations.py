"""The evaluations of a job, as its own folder lists them."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import Damaged, KeyMissing, NewerFormat
from outlast.folder.records import EvaluationLink, EvaluationResult
from outlast.jobs.job import Job
from outlast.spec.record import decode

LOOK_SECONDS = 1.0
LISTED_MAX = 1000


@dataclass(frozen=True)
class Evaluated:
    """One evaluation. `state` is its job's; `gone`: deleted since, and only its result is left."""

    job: str
    checkpoint: str
    step: int | None
    split: str
    state: str
    metrics: dict[str, float] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "checkpoint": self.checkpoint or None,
            "step": self.step,
            "split": self.split or None,
            "state": self.state,
            "metrics": self.metrics,
        }


def list_evaluations(trained: Job) -> list[Evaluated]:
    """By the step that was evaluated, then by when. Reads, and mends nothing."""
    store, keys = trained.folder.store, trained.folder.keys
    names = {entry.key.removeprefix(keys.evaluations).partition("/")[0] for entry in store.list(keys.evaluations)}
    found: list[tuple[float, Evaluated]] = []
    for name in sorted(names)[:LISTED_MAX]:
        link = _read(trained, EvaluationLink, keys.evaluation(name))
        result = _read(trained, EvaluationResult, keys.result(name))
        said = result or link
        if said is None:
            continue
        state = "succeeded" if result is not None else _state(Job.of(trained.home, name))
        metrics = dict(result.metrics) if result is not None else {}
        at = link.submitted_at if link is not None else result.ended_at if result is not None else 0.0
        found.append((at, Evaluated(name, said.checkpoint, said.step, said.split, state, metrics)))
    return [one for _, one in sorted(found, key=lambda row: (row[1].step or 0, row[0]))]


def _read(trained: Job, kind: Any, key: str) -> Any:
    """Foreign files are no evaluations."""
    try:
        return decode(kind, trained.folder.store.get(key).data, key)
    except (KeyMissing, Damaged, NewerFormat, ValueError):
        return None


def _state(job: Job) -> str:
    try:
        return job.folder.read_head().head.state.value
    except (KeyMissing, Damaged, NewerFormat):
        return "gone"


def evaluated(trained: Job, job: Job) -> Evaluated:
    """What has become of one of them, by its own records; its result is published by whoever looks."""
    spec = job.spec()
    assert spec.evaluation is not None
    result = _read(trained, EvaluationResult, trained.folder.keys.result(job.id))
    of = spec.evaluation
    metrics = dict(result.metrics) if result is not None else {}
    return Evaluated(job.id, of.checkpoint, of.step, of.split, _state(job), metrics)
