"""Many submits at once: each step is taken for all of them and made durable once, which is what a submit mostly waits for.

The steps and their order are those of `submit.py`. Whoever finds something of its own there already is submitted alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from outlast.dataclass import dataclass
from outlast.errors import OutlastError
from outlast.folder import life
from outlast.folder.records import Head, LaunchRecord
from outlast.jobs.job import Job
from outlast.jobs.launch import new_record, row_of, start_new
from outlast.jobs.plan import Plan
from outlast.jobs.secrets import keep_for
from outlast.jobs.settle import hold, settle
from outlast.jobs.world import World
from outlast.spec.record import encode

TOGETHER_MAX = 128
"""So many at a time: the first ones run while the next ones are submitted."""


@dataclass
class _Submit:
    planned: Plan
    job: Job
    record: LaunchRecord
    head: Head
    prune: int = 0


@dataclass(frozen=True)
class Outcome:
    submitted: list[Plan]
    there: list[Plan]
    """Of which something is there: to be submitted alone."""

    refused: list[OutlastError]


def in_rows(world: World, plans: Sequence[Plan]) -> Iterator[list[Plan]]:
    """In order; those of a row go together. Machines that are paid for are started one by one, each as soon as it can be."""

    def kind(planned: Plan) -> object:
        spec = planned.spec
        simple = not spec.from_job and spec.evaluation is None and spec.cells is None
        return (planned.home.url, spec.engine) if simple and not _rents(world, planned) else id(planned)

    for _, alike in groupby(plans, kind):
        row = list(alike)
        for first in range(0, len(row), TOGETHER_MAX):
            yield row[first : first + TOGETHER_MAX]


def _rents(world: World, planned: Plan) -> bool:
    return world.engine(planned.spec.engine).capabilities.rents


def submit_together(world: World, plans: Sequence[Plan]) -> Outcome:
    """Of one home and engine. One that is refused does not keep the others."""
    home = plans[0].home
    world.remember_home(home)
    there: list[Plan] = []
    refused: list[OutlastError] = []

    def kept(submits: list[_Submit], step: Callable[[_Submit], None]) -> list[_Submit]:
        done: list[_Submit] = []
        for submit in submits:
            try:
                step(submit)
            except OutlastError as error:
                refused.append(error)
            else:
                done.append(submit)
        return done

    def settled(submit: _Submit) -> None:
        submit.prune = settle(world, submit.job, submit.planned.spec, submit.planned, there=False)

    def started(submit: _Submit) -> None:
        hold(submit.job, submit.head, submit.prune, there=False)
        start_new(world, submit.job, submit.planned.spec, submit.record, submit.head)

    def created(submits: list[_Submit], object_of: Callable[[_Submit], tuple[str, bytes]]) -> list[_Submit]:
        made = home.store.create_many([object_of(submit) for submit in submits])
        there.extend(submit.planned for submit, new in zip(submits, made, strict=True) if not new)
        return [submit for submit, new in zip(submits, made, strict=True) if new]

    submits = [_begin(world, planned) for planned in plans]
    submits = created(submits, lambda one: (one.job.folder.keys.spec, encode(one.planned.spec)))
    submits = created(submits, lambda one: (one.job.folder.keys.launch(1), encode(one.record)))
    for one in submits:
        keep_for(world, one.job, one.planned.spec, one.record.id, one.planned.secrets)
    home.store.create_many([(row_of(one.job, one.record), b"") for one in submits])
    submits = kept(submits, settled)
    submits = created(submits, lambda one: (one.job.folder.keys.head, one.job.folder.encode_head(one.head)))
    submits = kept(submits, started)
    return Outcome([one.planned for one in submits], there, refused)


def _begin(world: World, planned: Plan) -> _Submit:
    job = Job.of(planned.home, planned.spec.job)
    place = world.engine(planned.spec.engine).capabilities.place
    record = new_record(job, 1, planned.spec.engine, planned.spec, planned.home.store.now(), place=place)
    return _Submit(planned, job, record, life.begun(job.id, record, ()))
