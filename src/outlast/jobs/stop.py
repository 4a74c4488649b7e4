"""Stop: a wish, then the bell; the owner has a grace to save and leave; if nobody is alive, the command does it itself."""

from __future__ import annotations

from outlast.errors import Denied, OutlastError, StoreFull
from outlast.folder import life
from outlast.folder.folder import nonce
from outlast.folder.publish import publish
from outlast.folder.records import Head, LaunchRecord, Request, State
from outlast.jobs.job import Job, as_launch
from outlast.jobs.look import end, look, with_lost
from outlast.jobs.secrets import forget
from outlast.jobs.sweep_parts import refuse_cell
from outlast.jobs.world import World
from outlast.jobs.zones import remember_end
from outlast.results.status import Status
from outlast.spec.spec import Spec

TELL_SECONDS_MAX = 30.0
"""A machine whose job has ended has so long to tell whom it was asked to tell."""

GRACE_SECONDS = 75.0
"""The trainer's own minute, and the time for its last upload. After that the machines are taken away, whatever they do."""


def stop(world: World, job: Job, *, grace_seconds: float = GRACE_SECONDS) -> Status:
    """Returns when nothing of the job runs any more. A job that has ended stays as it ended."""
    refuse_cell(job, "stop")
    head = job.folder.existing_head().head
    if not head.state.final:
        try:
            wish(job, head.launch)
        except (StoreFull, Denied) as error:
            _stop_untold(world, job, head, error)
        else:
            _wait(world, job, head, grace_seconds)
    _stop_engine(world, job)
    return look(world, job)


def tell(job: Job) -> bool:
    """Where several are to be stopped: each is told before the first is waited for. What is wrong is said when it is stopped.

    False: it could not be told, or had ended before."""
    try:
        head = job.folder.existing_head().head
        if not head.state.final:
            wish(job, head.launch)
    except OutlastError:
        return False
    return not head.state.final


def _stop_untold(world: World, job: Job, head: Head, why: StoreFull | Denied) -> None:
    """A home that is full or read-only: nobody can be told, nothing be saved. What its machines hold may be the room that its end needs."""
    record = job.folder.read_launch(head.launch)
    engine, launch = world.engine(record.engine), as_launch(job, record, job.folder.read_spec())
    if not engine.capabilities.keeps_ends or not engine.state(launch).alive:
        # Nobody would know that it was stopped, and look for its machines in vain; or they are somebody else's.
        raise why
    engine.stop(launch)
    try:
        _wait(world, job, head, 0.0)
    except (StoreFull, Denied) as error:
        error.state = f"nothing of job `{job.id}` runs any more; its end is written by the first command that can"
        error.hint = "free some space there" if isinstance(error, StoreFull) else error.hint
        raise


def wish(job: Job, launch: int) -> None:
    request = Request("stop", launch, job.folder.store.now())
    if not job.folder.stop_wished(launch):
        job.folder.create(job.folder.keys.request(launch, "stop", nonce(job.folder.random)), request)
    job.folder.ring()


def _wait(world: World, job: Job, asked: Head, grace_seconds: float) -> None:
    """Until the launch has ended; past the grace its end is written here, and its machines find themselves fenced.

    A launch is known by its id: a job that was deleted and submitted again has the same numbers.
    """
    until = world.clock.monotonic() + grace_seconds
    while world.clock.monotonic() < until:
        look(world, job)
        head = job.folder.existing_head().head
        if head.state.final or head.launch_id != asked.launch_id:
            return
        world.clock.sleep(max(0.02, job.folder.store.poll_seconds))
    spec = job.folder.read_spec()
    record = job.folder.read_launch(asked.launch)
    while True:
        at = job.folder.existing_head()
        if at.head.state.final or at.head.launch_id != asked.launch_id:
            return
        found = world.engine(record.engine).state(as_launch(job, record, spec))
        final = life.final(at.head, State.STOPPED, job.folder.store.now())
        end(world, job, spec, record, at, with_lost(world, job, spec, record, final, found))


def _stop_engine(world: World, job: Job) -> None:
    head = job.folder.existing_head().head
    if not head.state.final:
        return
    record = job.folder.read_launch(head.launch)
    publish(job.folder, record.id)  # its machine may not have come to that, and will not any more
    spec = job.folder.read_spec()
    if spec.notify:
        _let_tell(world, job, record, spec)
    world.engine(record.engine).stop(as_launch(job, record, spec))
    forget(world, spec, record.id)
    remember_end(job, record, head)


def _let_tell(world: World, job: Job, record: LaunchRecord, spec: Spec) -> None:
    """Until its machines have left by themselves."""
    engine, launch = world.engine(record.engine), as_launch(job, record, spec)
    until = world.clock.monotonic() + TELL_SECONDS_MAX
    while engine.state(launch).alive and world.clock.monotonic() < until:
        world.clock.sleep(max(0.02, job.folder.store.poll_seconds))
