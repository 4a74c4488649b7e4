"""The evaluations of a job, as its own folder lists them; and each new checkpoint evaluated while it trains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import Damaged, KeyMissing, NewerFormat, NotFound
from outlast.folder.records import Checkpoint, EvaluationLink, EvaluationResult
from outlast.jobs.evaluate import Wanted, evaluate, id_for
from outlast.jobs.job import Job
from outlast.jobs.look import look
from outlast.jobs.watch import wait
from outlast.jobs.world import World
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


def follow_training(
    world: World, trained: Job, wanted: Wanted, *, on_begin: Callable[[Job, Checkpoint], None] | None = None
) -> Iterator[Evaluated]:
    """Each checkpoint that the trained job commits, one after another, until it has ended and its last one is evaluated.

    Which job evaluates a checkpoint follows from the checkpoint (`id_for`): killed and started again, or started twice, this
    goes on with the jobs that are there and makes no second one. A checkpoint that newer ones replaced meanwhile is passed over.
    """
    done: set[str] = set()
    while True:
        ended = look(world, trained).final
        kept = trained.folder.existing_head().head.checkpoints
        fresh = sorted((one for one in kept if one.name not in done and not one.adopted), key=lambda one: one.name)
        if not fresh and ended:
            return
        if not fresh:
            world.clock.sleep(max(LOOK_SECONDS, trained.folder.store.poll_seconds))
            continue
        done.add(fresh[0].name)
        found = _evaluate_one(world, trained, wanted, fresh[0], on_begin)
        if found is not None:
            yield found


def _evaluate_one(
    world: World,
    trained: Job,
    wanted: Wanted,
    checkpoint: Checkpoint,
    on_begin: Callable[[Job, Checkpoint], None] | None,
) -> Evaluated | None:
    job = Job.of(trained.home, id_for(trained, checkpoint.name, checkpoint.step, wanted))
    try:
        ended = job.folder.read_head().head.state.final
    except KeyMissing:
        ended = False
    if not ended:
        asked = replace(wanted.asked, job_id=job.id)
        try:
            evaluate(world, trained, replace(wanted, asked=asked, checkpoint=checkpoint.name))
        except NotFound:
            if any(one.name == checkpoint.name for one in trained.folder.existing_head().head.checkpoints):
                raise
            return None  # replaced by newer ones between the look and the copy
        if on_begin is not None:
            on_begin(job, checkpoint)
        wait(world, job)
    look(world, job)
    return evaluated(trained, job)
