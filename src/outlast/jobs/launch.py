"""A launch: its record in the job's folder, its row in the index, and its start by the engine."""

from __future__ import annotations

from typing import Any

from outlast.dataclass import replace
from outlast.errors import Denied, KeyMissing, NotFound, OutlastError, PreconditionFailed, StoreFull, UsageError
from outlast.folder import layout, life
from outlast.folder.folder import nonce
from outlast.folder.publish import publish
from outlast.folder.records import Head, LaunchRecord, State
from outlast.jobs.elsewhere import is_elsewhere
from outlast.jobs.job import Job, to_start
from outlast.jobs.machine import first_region
from outlast.jobs.secrets import forget
from outlast.jobs.world import World
from outlast.spec.record import decode, encode
from outlast.spec.spec import Spec

PAST_SECONDS_MIN = 60.0
"""Clocks are not that far apart within one submit."""


def new_record(job: Job, number: int, engine: str, spec: Spec, now: float, **changes: Any) -> LaunchRecord:
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
    return replace(record, **changes)


def launch_record(job: Job, number: int, engine: str, spec: Spec, now: float, **changes: Any) -> LaunchRecord:
    """The record with the first free number from `number` on, written; of the first launch, the one that is there already."""
    record = new_record(job, number, engine, spec, now, **changes)
    while True:
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


def index(job: Job, record: LaunchRecord) -> None:
    """From the launch's own time, so that a submit that is repeated writes the same name again."""
    try:
        job.folder.store.put(row_of(job, record), b"", if_generation=0)
    except PreconditionFailed:
        return


def row_of(job: Job, record: LaunchRecord) -> str:
    return layout.index(record.launched_at, job.id, record.launch)


def agent_for(world: World, job: Job, engine: str) -> str:
    """The digest of the agent that the engine's machines fetch, now in the home; empty: they have it."""
    if not world.engine(engine).capabilities.rents:
        return ""
    from outlast.bundle.agent import ship_agent

    return ship_agent(job.home.store, world.cache_dir)


def start_new(world: World, job: Job, spec: Spec, record: LaunchRecord, head: Head) -> None:
    """A launch that this command has made itself: if it is refused, it is over."""
    try:
        start(world, job, spec, head, record)
    except (Denied, NotFound, StoreFull, UsageError) as error:
        if not world.engine(record.engine).capabilities.rents:
            if isinstance(error, (Denied, StoreFull)):
                _waits(job, error)
        elif not isinstance(error, StoreFull) and _give_up(world, job, spec, record, error):
            error.state = error.state or f"job `{job.id}` has failed: nobody will start it later"
        raise


def _waits(job: Job, error: OutlastError) -> None:
    """This computer has no room for its machine, or lets nobody write: the job is there, and whoever submits another has two."""
    error.state = (
        f"job `{job.id}` is there, and nothing of it runs: the first command that looks at it and can starts it"
    )
    error.hint = f"{error.hint}; `outlast stop {job.id}` gives it up"


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
