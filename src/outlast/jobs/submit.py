"""Half a submit is either nothing or a job that can be submitted again.

The order of writes: bundle, spec, a sweep's cells, what it begins with of another job, launch record, secrets (outside of the home),
index, head, then the engine's start. Each names only what is there already. All but head are create-only, and who finds one there uses
it: the second submit of a job never mixes its own flags with the first one's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from outlast.dataclass import dataclass
from outlast.errors import Denied, KeyMissing, NotFound, OutlastError, PreconditionFailed, UsageError
from outlast.folder import layout, life
from outlast.folder.folder import nonce
from outlast.folder.layout import SweepKeys
from outlast.folder.publish import publish
from outlast.folder.records import Head, LaunchRecord, State, SweepLaunch
from outlast.folder.sweep_records import Grid
from outlast.jobs.adopt import adopt
from outlast.jobs.asked import Asked
from outlast.jobs.elsewhere import is_elsewhere
from outlast.jobs.job import Job, to_start
from outlast.jobs.job_names import add_names
from outlast.jobs.machine import first_region
from outlast.jobs.plan import Plan, plan
from outlast.jobs.secrets import forget, keep_for
from outlast.jobs.settle import hold, settle, settle_sources
from outlast.jobs.trained import bring_trained
from outlast.jobs.world import World
from outlast.spec.record import decode, encode
from outlast.spec.spec import Spec

PAST_SECONDS_MIN = 60.0
"""Clocks are not that far apart within one submit."""


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
    """The bundle is packed once for all that ship the same directories, less the same data."""
    packed: dict[tuple[object, ...], Plan] = {}
    submitted: list[Submitted] = []
    names: list[str] = []
    try:
        for asked in many:
            data = (asked.links, asked.datasets, asked.config_files)
            values = tuple(value for value in asked.config_values if value.startswith("dataset."))
            key = (asked.directory, asked.extra_dirs, asked.home, asked.git, data, values)
            planned = plan(world, asked, shipped=packed.get(key))
            packed[key] = planned
            names.insert(0, planned.spec.job)
            submitted.append(_carry_out(world, planned))
    finally:
        add_names(world.cache_dir, names)
    return submitted


def carry_out(world: World, planned: Plan, grid: Grid | None = None) -> Submitted:
    add_names(world.cache_dir, [planned.spec.job])
    return _carry_out(world, planned, grid)


def _carry_out(world: World, planned: Plan, grid: Grid | None = None) -> Submitted:
    """`grid`: the cells of a sweep."""
    job = Job.of(planned.home, planned.spec.job)
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
    index(job, spec, record)
    prune = settle(world, job, spec, planned, there=there)
    if grid is not None:
        settle_sources(world, job, spec, planned, grid.sources)
    head = begin(job, life.begun(job.id, record, adopted))
    hold(job, head, prune, there=there)
    if head.state.final:
        raise UsageError(
            f"there is a job `{job.id}` already, and it has {head.state.value}",
            state="nothing was started, nothing is being spent",
            hint=(f"`--from {job.id}`" if head.state is State.SUCCEEDED else f"`outlast resume {job.id}`")
            + ", or another `--job-id`",
        )
    if there:
        start(world, job, spec, head)
    else:
        start_new(world, job, spec, record, head)
    return Submitted(job, planned, spec, there)


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


def start_new(world: World, job: Job, spec: Spec, record: LaunchRecord, head: Head) -> None:
    """A launch that this command has made itself: if it is refused, it is over."""
    try:
        start(world, job, spec, head, record)
    except (Denied, NotFound) as error:
        if world.engine(record.engine).capabilities.rents and _give_up(world, job, spec, record, error):
            error.state = error.state or f"job `{job.id}` has failed: nobody will start it later"
        raise


def _give_up(world: World, job: Job, spec: Spec, record: LaunchRecord, error: OutlastError) -> bool:
    """Whoever was refused believes that nothing was started; whoever looks at the job later, with more rights, shall not start it."""
    try:
        at = job.folder.read_head()
        begun = any(attempt.launch == record.launch for attempt in at.head.attempts.values())
        if at.head.state.final or at.head.launch_id != record.id or begun:
            return False
        reason = f"it could not be started: {error.message}"
        ended = life.final(at.head, State.FAILED, job.folder.store.now(), reason=reason)
        if job.folder.swap(at, ended, f"{record.id}-refused") is None:
            return False
        forget(world, spec, record.id)
        publish(job.folder, record.id)
    except OutlastError:
        return False  # the home is away, or refuses too: the job stays as it is
    return True


def agent_for(world: World, job: Job, engine: str) -> str:
    """The digest of the agent that the engine's machines fetch, now in the home; empty: they have it."""
    if not world.engine(engine).capabilities.rents:
        return ""
    from outlast.bundle.agent import ship_agent

    return ship_agent(job.home.store, world.cache_dir)


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


def launch_record(job: Job, number: int, engine: str, spec: Spec, now: float, **changes: object) -> LaunchRecord:
    """The record with the first free number from `number` on, written; of the first launch, the one that is there already."""
    machine = first_region(spec.machine)
    record = LaunchRecord(
        launch=number,
        id=nonce(job.folder.random),
        engine=engine,
        workers=spec.workers,
        machine=machine,
        launched_at=now,
        deadline_at=now + spec.max_run_seconds,
        bundle=spec.bundle,
        usd_per_hour=machine.rented.usd_per_hour if machine.rented else 0.0,
        max_cost_usd=spec.max_cost_usd,
    )
    while True:
        record = replace(record, **changes)  # type: ignore[arg-type]
        key = job.folder.keys.launch(record.launch)
        try:
            job.folder.store.put(key, encode(record), if_generation=0)
        except PreconditionFailed:
            try:
                there, generation = _read_launch(job, key)
                if number == 1 and _is_past(job, spec, there):
                    job.folder.store.put(key, encode(record), if_generation=generation)
                    return record
            except (KeyMissing, PreconditionFailed):
                continue  # it was removed, or replaced, at this moment
            if there.id == record.id or number == 1:
                return there
            record = replace(record, launch=record.launch + 1)
        else:
            return record


def _read_launch(job: Job, key: str) -> tuple[LaunchRecord, int]:
    stored = job.folder.store.get(key)
    return decode(LaunchRecord, stored.data, key), stored.generation


def _is_past(job: Job, spec: Spec, there: LaunchRecord) -> bool:
    """A first launch that is older than its spec was left by a job of the same id that was deleted: its removal may be under way."""
    if there.launched_at >= spec.submitted_at - PAST_SECONDS_MIN:
        return False
    return not any(entry.key == job.folder.keys.head for entry in job.folder.store.list(job.folder.keys.head, limit=1))


def index(job: Job, spec: Spec, record: LaunchRecord) -> None:
    """From the launch's own time, so that a submit that is repeated writes the same name again."""
    try:
        job.folder.store.put(layout.index(record.launched_at, job.id, record.launch), b"", if_generation=0)
    except PreconditionFailed:
        return


def begin(job: Job, head: Head) -> Head:
    """Creates head; who comes second takes what is there."""
    try:
        job.folder.store.put(job.folder.keys.head, encode(head), if_generation=0)
    except PreconditionFailed:
        return job.folder.read_head().head
    return head


def start(world: World, job: Job, spec: Spec, head: Head, made: LaunchRecord | None = None) -> None:
    """Starts head's launch from its record, unless it is another computer's; undone if the job has ended or moved on meanwhile.

    `made`: a record that this command has just written, if it is head's.
    """
    record = made if made is not None and made.id == head.launch_id else job.folder.read_launch(head.launch)
    if is_elsewhere(world, record):
        return
    launch = to_start(job, record, spec)
    engine = world.engine(record.engine)
    engine.start(launch)
    try:
        now = job.folder.read_head().head
    except KeyMissing:
        engine.stop(launch)
        return
    if now.state.final or now.launch_id != record.id:
        publish(job.folder, record.id)
        engine.stop(launch)
