"""A job that has ended is not over while something is rented for it: its machines end their own group, and who looks makes sure."""

from __future__ import annotations

from outlast.engines.registry import TIDIERS
from outlast.errors import OutlastError
from outlast.folder.records import Head, LaunchRecord
from outlast.jobs.complaints import stuck_words
from outlast.jobs.job import Job, as_launch
from outlast.jobs.world import World
from outlast.jobs.zones import remember_end
from outlast.spec.spec import Spec

LEAVE_SECONDS = 120.0
"""So long a machine has to end its group by itself, after its job's end and its linger."""

FORGOTTEN_SECONDS = 24 * 3600.0
"""What a job that ended longer ago has left is found by `outlast audit`, not by every look."""

MARKER_SECONDS = 3600.0
"""So long after its end somebody may still be about to start a launch that was stopped."""

LOOK_SECONDS = 0.5


def see_off(world: World, job: Job, record: LaunchRecord, spec: Spec, head: Head) -> str:
    """Returns when nothing of it is rented any more; else why something may be."""
    engine, launch = world.engine(record.engine), as_launch(job, record, spec)
    if not engine.capabilities.rents or not head.state.final:
        return ""
    if _linger_seconds(record):
        return "its machine lingers, as you asked"
    try:
        while engine.state(launch).alive:
            if _left_seconds(job, record, head) <= 0:
                engine.stop(launch)
                stuck = stuck_words(job.folder, record)
                return f"nothing runs, since this command has ended it: {stuck}" if stuck else ""
            world.clock.sleep(max(LOOK_SECONDS, job.folder.store.poll_seconds))
        _tidy(world, job, record, spec, head)
    except OutlastError as error:
        return f"its machines may still run, see `outlast audit`: {error.message}"
    return ""


def end_what_is_left(world: World, job: Job, record: LaunchRecord, spec: Spec, head: Head) -> None:
    """Of a launch whose machine has had its time: with the rights of whoever looks."""
    engine = world.engine(record.engine)
    if not engine.capabilities.rents or not -FORGOTTEN_SECONDS < _left_seconds(job, record, head) <= 0:
        return
    launch = as_launch(job, record, spec)
    try:
        if engine.state(launch).alive:
            engine.stop(launch)
        _tidy(world, job, record, spec, head)
        remember_end(job, record, head)
    except OutlastError:
        return  # whoever looks wants to see the job; `outlast audit` says what is the matter


def _tidy(world: World, job: Job, record: LaunchRecord, spec: Spec, head: Head) -> None:
    """A machine may end its own group and nothing else: templates cost nothing, but nobody wants them."""
    tidy = TIDIERS.get(record.engine)
    if tidy is None or world.dry:
        return
    ended_seconds = job.folder.store.now() - (head.ended_at or 0.0)
    try:
        tidy(as_launch(job, record, spec), world.environ, world.clock, ended_seconds > MARKER_SECONDS)
    except OutlastError:
        return  # whoever may not: `outlast audit` lists what is left


def _left_seconds(job: Job, record: LaunchRecord, head: Head) -> float:
    ended_seconds = job.folder.store.now() - (head.ended_at or 0.0)
    return LEAVE_SECONDS + _linger_seconds(record) - ended_seconds


def _linger_seconds(record: LaunchRecord) -> float:
    return record.machine.rented.linger_seconds if record.machine.rented is not None else 0.0
