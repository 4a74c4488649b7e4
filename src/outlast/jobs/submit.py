"""Half a submit is either nothing or a job that can be submitted again.

The order of writes: bundle, spec, a sweep's cells, what it begins with of another job, launch record, secrets (outside of the home),
index, head, then the engine's start. Each names only what is there already. All but head are create-only, and who finds one there uses
it: the second submit of a job never mixes its own flags with the first one's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from outlast.dataclass import dataclass, replace
from outlast.errors import Denied, KeyMissing, PreconditionFailed, StoreFull, UsageError
from outlast.folder import life
from outlast.folder.layout import SweepKeys
from outlast.folder.records import Head, State, SweepLaunch
from outlast.folder.sweep_records import Grid
from outlast.jobs.adopt import adopt
from outlast.jobs.asked import Asked
from outlast.jobs.job import Job
from outlast.jobs.job_names import add_cells, add_names
from outlast.jobs.launch import agent_for, index, launch_record, start, start_new
from outlast.jobs.plan import Plan, plan
from outlast.jobs.plan_many import plan_many
from outlast.jobs.secrets import keep_for
from outlast.jobs.settle import hold, settle, settle_sources
from outlast.jobs.submit_together import Outcome, in_rows, submit_together
from outlast.jobs.trained import bring_trained
from outlast.jobs.world import World
from outlast.spec.record import encode
from outlast.spec.spec import Spec


@dataclass(frozen=True)
class Submitted:
    job: Job
    plan: Plan
    spec: Spec
    resubmitted: bool
    """The job was there already, whole or half."""


def submit(world: World, asked: Asked) -> Submitted:
    return carry_out(world, plan(world, asked))


def submit_many(world: World, many: Iterable[Asked]) -> list[Submitted]:
    """All are checked before the first one is submitted. If one is refused then, those that go with it are submitted all the same."""
    plans = plan_many(world, many)
    submitted: dict[str, Submitted] = {}
    try:
        for row in in_rows(world, plans):
            outcome = submit_together(world, row) if len(row) > 1 else Outcome([], row, [])
            for planned in outcome.submitted:
                spec = planned.spec
                submitted[spec.job] = Submitted(Job.of(planned.home, spec.job), planned, spec, resubmitted=False)
            for planned in outcome.there:
                submitted[planned.spec.job] = _carry_out(world, planned)
            for error in outcome.refused:
                raise error
    finally:
        add_names(world.cache_dir, [*reversed(submitted)])
    return [submitted[planned.spec.job] for planned in plans]


def carry_out(world: World, planned: Plan, grid: Grid | None = None) -> Submitted:
    add_names(world.cache_dir, [planned.spec.job])
    if grid is not None:
        add_cells(world.cache_dir, planned.spec.job, grid.cells)
    return _carry_out(world, planned, grid)


def _carry_out(world: World, planned: Plan, grid: Grid | None = None) -> Submitted:
    """`grid`: the cells of a sweep."""
    job = Job.of(planned.home, planned.spec.job)
    with _unless_begun(job):
        world.remember_home(planned.home)
        spec, there = _spec(job, planned.spec)
        if grid is not None:
            _put_grid(job, grid)
        adopted = adopt(world, job, spec)
        bring_trained(job, spec)
        place = world.engine(spec.engine).capabilities.place
        agent = agent_for(world, job, spec.engine)
        cells = SweepLaunch(grids=1) if spec.cells is not None else None
        record = launch_record(job, 1, spec.engine, spec, job.home.store.now(), place=place, agent=agent, cells=cells)
        keep_for(world, job, spec, record.id, planned.secrets)
        index(job, record)
        prune = settle(world, job, spec, planned, there=there)
        if grid is not None:
            settle_sources(world, job, spec, planned, grid.sources)
        head = begin(job, life.begun(job.id, record, adopted))
    hold(job, head, prune, there=there)
    _refuse_ended(job, head)
    if there:
        start(world, job, spec, head)
    else:
        start_new(world, job, spec, record, head)
    return Submitted(job, planned, spec, there)


@contextmanager
def _unless_begun(job: Job) -> Iterator[None]:
    """What was refused for certain has made no job, though its plan was told before."""
    try:
        yield
    except (StoreFull, Denied) as error:
        error.state = error.state or f"job `{job.id}` was not submitted; nothing was started, nothing is being spent"
        raise


def check_not_ended(planned: Plan) -> None:
    """Before anything is said of a job that would be refused: the id that was asked for may be that of one that has ended."""
    job = Job.of(planned.home, planned.spec.job)
    try:
        head = job.folder.read_head().head
        if head.state.final:
            job.folder.read_spec()  # of what is damaged, that is what is said
            job.folder.read_launch(head.launch)
            _refuse_ended(job, head)
    except KeyMissing:
        return  # and is written now


def _refuse_ended(job: Job, head: Head) -> None:
    if head.state.final:
        raise UsageError(
            f"there is a job `{job.id}` already, and it has {head.state.value}",
            state="nothing was started, nothing is being spent",
            hint=_instead(job, head),
        )


def _instead(job: Job, head: Head) -> str:
    if head.state is not State.SUCCEEDED:
        return f"`outlast resume {job.id}`, or another `--job-id`"
    return f"another `--job-id`{f'; with `--from {job.id}` it begins with these weights' if head.checkpoints else ''}"


def _put_grid(job: Job, grid: Grid) -> None:
    """A submit that was killed may have left it. Other cells than these would be run in their place."""
    key = SweepKeys(job.id).grid(grid.number)
    if not job.folder.create(key, grid):
        there = job.folder.read(Grid, key)
        if replace(there, submitted_at=grid.submitted_at) != grid:
            raise UsageError(
                f"sweep `{job.id}` was submitted with other cells before, and never completely",
                state="nothing was started, nothing is being spent",
                hint=f"`outlast delete {job.id}`, or another name",
            )


def _spec(job: Job, spec: Spec) -> tuple[Spec, bool]:
    while True:
        try:
            job.folder.store.put(job.folder.keys.spec, encode(spec), if_generation=0)
        except PreconditionFailed:
            try:
                return job.folder.read_spec(), True
            except KeyMissing:
                continue  # it was deleted at this moment
        return spec, False


def begin(job: Job, head: Head) -> Head:
    """Creates head; who comes second takes what is there."""
    try:
        job.folder.store.put(job.folder.keys.head, job.folder.encode_head(head), if_generation=0)
    except PreconditionFailed:
        return job.folder.read_head().head
    return head
