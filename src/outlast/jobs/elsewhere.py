"""Jobs whose machines are processes of another computer: it alone can start and see them, and the home says whether it lives."""

from __future__ import annotations

from outlast.engines.engine import Condition, LaunchState
from outlast.folder.records import Head, LaunchRecord
from outlast.host.system import same_place
from outlast.jobs.job import Job
from outlast.jobs.world import World

SILENT_SECONDS = 300.0
"""A computer from which nothing was heard for so long is asleep, off, or away: whoever wants may go on elsewhere."""


def is_elsewhere(world: World, record: LaunchRecord) -> bool:
    """Two that start the same launch would take it from each other for ever.

    Nor does a look start what nobody says was started here: who only lists a home runs no code out of it.
    """
    here = world.engine(record.engine).capabilities.place
    return bool(here) and not same_place(record.place, here)


def is_silent(job: Job, record: LaunchRecord, head: Head) -> bool:
    """By the store's time: neither computer's clock has a say."""
    return job.folder.store.now() - _heard_at(job, record, head) > SILENT_SECONDS


def state_elsewhere(job: Job, record: LaunchRecord, head: Head) -> LaunchState:
    computer = record.place.partition(":")[0]
    if not computer:
        return LaunchState(Condition.WAITING, f"it was not started from here; `outlast resume {job.id}` does so")
    if is_silent(job, record, head):
        why = f"computer `{computer}` has been silent for long; `outlast resume {job.id}` goes on with it here"
        return LaunchState(Condition.WAITING, why)
    return LaunchState(Condition.RUNNING, f"on computer `{computer}`")


def _heard_at(job: Job, record: LaunchRecord, head: Head) -> float:
    attempt = head.attempts.get(str(head.attempt))
    beat = job.folder.read_beat(head.attempt) if head.attempt else None
    return max(
        record.launched_at,
        attempt.started_at if attempt is not None and attempt.launch == record.launch else 0.0,
        beat.at if beat is not None else 0.0,
    )
