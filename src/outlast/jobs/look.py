"""Looking at a job is also looking after it: what died is started again, what is over is written down."""

from __future__ import annotations

from outlast.dataclass import replace
from outlast.engines.engine import Condition, LaunchState
from outlast.engines.registry import LOST
from outlast.errors import Denied, KeyMissing, NoCapacity, StoreFull
from outlast.folder import cost, life
from outlast.folder.cell import CellFolder
from outlast.folder.folder import HeadAt, nonce
from outlast.folder.publish import publish
from outlast.folder.records import Head, LaunchRecord, State
from outlast.jobs.complaints import stuck_words, with_complaint
from outlast.jobs.dismiss import dismiss_idle
from outlast.jobs.elsewhere import is_elsewhere, state_elsewhere
from outlast.jobs.job import Job, as_launch
from outlast.jobs.launch import start
from outlast.jobs.move import WAIT_SECONDS, move, next_region, with_next_region
from outlast.jobs.secrets import forget
from outlast.jobs.see_off import FORGOTTEN_SECONDS, end_what_is_left
from outlast.jobs.world import World
from outlast.jobs.zones import remember_end, remember_stockout
from outlast.results.cell_status import cell_status
from outlast.results.status import Status, status_of
from outlast.results.sweep import cells_that_run
from outlast.spec.spec import Spec

EXPIRED_LATE_SECONDS = 300.0
EXPIRED_LATE_SHARE = 0.1
"""A command writes `expired` so long after the deadline: the agent, which ends before it, has had its chance."""

LEFT = "its machines left before its end: they did not find it in its home, which may have been away or full"

LOST_SECONDS_MAX = 1800.0
"""So long a machine has lived at most of which the home knows nothing: its startup script gives up long before."""

FORGET_SECONDS = 120.0
"""So long a machine that ends has for its last words."""


def look(world: World, job: Job, ended: HeadAt | None = None) -> Status:
    """The job's state, after mending what a dead machine, supervisor or command has left. A cell is looked after by its sweep.

    `ended`: a final head that was read just now.
    """
    if isinstance(job.folder, CellFolder):
        return cell_status(job.folder, look(world, Job.of(job.home, job.folder.sweep)))
    try:
        return _look(world, job, ended)
    except KeyMissing:
        job.folder.existing_head()  # `NotFound`: somebody has deleted it meanwhile
        raise


def _look(world: World, job: Job, ended: HeadAt | None) -> Status:
    at = ended or job.folder.existing_head()
    spec = job.folder.read_spec()
    record = job.folder.read_launch(at.head.launch)
    stopping = False
    launch_state = LaunchState(Condition.ABSENT)
    if not at.head.state.final:
        stopping = job.folder.stop_wished(at.head.launch)
        launch_state = world.engine(record.engine).state(as_launch(job, record, spec))
        if not launch_state.alive and is_elsewhere(world, record):
            launch_state = state_elsewhere(job, record, at.head)
        at, launch_state = _mend(world, job, spec, record, at, launch_state, stopping)
        if at.head.launch != record.launch:
            record = job.folder.read_launch(at.head.launch)
        launch_state = dismiss_idle(world, job, record, spec, launch_state) if launch_state.idle else launch_state
    else:
        publish(job.folder, record.id, spec, at.head)  # the machine that should have may have been taken away first
        end_what_is_left(world, job, record, spec, at.head)
        ended_seconds = job.folder.store.now() - (at.head.ended_at or 0.0)
        if ended_seconds > FORGET_SECONDS:
            forget(world, spec, record.id)  # its machine does so itself, when it has told whom it has to tell
        if ended_seconds < FORGOTTEN_SECONDS:
            launch_state = replace(launch_state, why=stuck_words(job.folder, record))
    beat = job.folder.read_beat(at.head.attempt) if at.head.attempt else None
    if not at.head.state.final:
        launch_state = with_complaint(world, job, record, spec, at.head, beat, launch_state)
    return status_of(
        spec,
        at.head,
        record,
        alive=launch_state.condition.value if launch_state.alive else "",
        why=launch_state.why,
        machines=launch_state.machines,
        stopping=stopping,
        beat=beat,
        now=job.folder.store.now(),
        folder_url=job.folder_url,
    )


def _mend(
    world: World, job: Job, spec: Spec, record: LaunchRecord, at: HeadAt, launch_state: LaunchState, stopping: bool
) -> tuple[HeadAt, LaunchState]:
    now = job.folder.store.now()
    late = min(EXPIRED_LATE_SECONDS, EXPIRED_LATE_SHARE * (record.deadline_at - record.launched_at))
    final: Head | None = None
    if now > record.deadline_at + late:
        final = life.final(at.head, State.EXPIRED, now, reason="the launch's time was over")
        final = with_lost(world, job, spec, record, final, launch_state)
    elif launch_state.condition is Condition.BOOT_FAILED:
        alone = life.left_alone(at.head, job.folder.read_beat(at.head.attempt), now)
        final = life.final(alone, State.FAILED, now, reason=f"the machine could not boot: {launch_state.why}")
        final = with_lost(world, job, spec, record, final, launch_state)
    elif launch_state.condition is Condition.REFUSED:
        why = f"no machine can be had {launch_state.why}"
        final = life.final(at.head, State.FAILED, now, reason=why, refused=True)
    elif stopping and (
        launch_state.condition in (Condition.ABSENT, Condition.WAITING) or not _trains(job, record, at.head)
    ):
        final = with_lost(world, job, spec, record, life.final(at.head, State.STOPPED, now), launch_state)
    elif launch_state.over and not job.folder.existing_head().head.state.final:
        # Machines write their job's end before their own: there is none, and none is to come.
        beat = job.folder.read_beat(at.head.attempt)
        alone = life.left_alone(at.head, beat, now, stopped=launch_state.stopped)
        if launch_state.stopped:  # by somebody who could not write that here
            final = life.final(alone, State.STOPPED, now)
        else:
            final = life.final(alone, State.FAILED, now, reason=launch_state.why or LEFT)
    if final is not None:
        try:
            return end(world, job, spec, record, at, final), LaunchState(Condition.ABSENT)
        except (StoreFull, Denied) as error:
            # Who only looks needs neither room nor rights: the next one who has them writes it.
            return at, LaunchState(Condition.WAITING, error.message)
    if launch_state.lacks_capacity and now - record.launched_at >= WAIT_SECONDS:
        remember_stockout(job, record)
    region = next_region(spec, record, launch_state, now)
    if region and not stopping:
        moved = move(world, job, spec, record, at, region)
        at = moved or job.folder.existing_head()
        record = job.folder.read_launch(at.head.launch)
        return at, world.engine(record.engine).state(as_launch(job, record, spec))
    if not launch_state.alive or (launch_state.lacks_workers and not stopping):
        try:
            start(world, job, spec, at.head)
        except (NoCapacity, StoreFull) as error:
            # It was there at submit: another machine, a device that is not back yet, or room on this computer's disk.
            return at, LaunchState(Condition.WAITING, error.message)
        launch_state = world.engine(record.engine).state(as_launch(job, record, spec))
        at = job.folder.existing_head()
    return at, with_next_region(spec, record, launch_state)


def with_lost(world: World, job: Job, spec: Spec, record: LaunchRecord, head: Head, found: LaunchState) -> Head:
    """An end with what its machines have cost that never came up, after the last that did. `found`: the launch just before it."""
    count = LOST.get(record.engine)
    if count is None:
        return head
    there = found.condition in (Condition.STARTING, Condition.RUNNING)
    there_until = head.ended_at if there else None
    machines, seconds = count(as_launch(job, record, spec), world.environ, world.clock, there_until)
    if not machines and found.condition is Condition.BOOT_FAILED:  # the home may know nothing of them
        machines = record.workers
        seconds = machines * min(LOST_SECONDS_MAX, max(0.0, (head.ended_at or 0.0) - record.launched_at))
    return life.counted(head, record.id, cost.lost_usd(record, machines, seconds)) if machines else head


def _trains(job: Job, record: LaunchRecord, head: Head) -> bool:
    """Somebody has begun an attempt and may have something to save. Who begins one now finds that head has changed."""
    if record.cells is not None:
        return bool(cells_that_run(job.folder, record))
    attempt = head.attempts.get(str(head.attempt))
    return attempt is not None and attempt.ended_at is None and attempt.launch == head.launch


def end(world: World, job: Job, spec: Spec, record: LaunchRecord, at: HeadAt, final: Head) -> HeadAt:
    """Swaps head to its end on behalf of machines that cannot, then stops them. Somebody was faster: theirs holds."""
    swapped = job.folder.swap(at, final, f"{nonce(job.folder.random)}-end")
    if swapped is None:
        return job.folder.existing_head()
    world.engine(record.engine).stop(as_launch(job, record, spec))
    publish(job.folder, record.id)
    forget(world, spec, record.id)
    remember_end(job, record, swapped.head)
    return swapped
