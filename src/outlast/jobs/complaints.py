"""What rented machines say that lack a right: those that cannot begin by themselves, those that cannot end by a record in the home."""

from __future__ import annotations

from dataclasses import replace

from outlast.engines.engine import Condition, LaunchState
from outlast.engines.registry import COMPLAINTS
from outlast.errors import KeyMissing, OutlastError
from outlast.folder.folder import Folder
from outlast.folder.records import Beat, Head, LaunchRecord, State
from outlast.jobs.job import Job, as_launch
from outlast.jobs.world import World
from outlast.spec.spec import Spec

STUCK = "stuck"
"""Beside the launch's boots: a machine that has done its work may not end its group."""

QUIET_SECONDS = 120.0
"""Whoever trains tells of itself more often than this."""

WORDS_MAX = 600


def with_complaint(
    world: World, job: Job, record: LaunchRecord, spec: Spec, head: Head, beat: Beat | None, state: LaunchState
) -> LaunchState:
    """Asked of the machines only where they are up and nothing is heard of them in the home."""
    listen = COMPLAINTS.get(record.engine)
    if listen is None or state.why or state.condition is not Condition.RUNNING or not _is_quiet(job, head, beat):
        return state
    try:
        words = listen(as_launch(job, record, spec), world.environ, world.clock)
    except OutlastError:
        return state  # whoever looks wants to see the job
    return replace(state, why=words[:WORDS_MAX])


def _is_quiet(job: Job, head: Head, beat: Beat | None) -> bool:
    if head.state is State.SUBMITTED:
        return True
    attempt = head.attempts.get(str(head.attempt))
    if attempt is None or attempt.ended_at is not None:
        return False
    heard_at = max(attempt.started_at, beat.at if beat is not None else 0.0)
    return job.folder.store.now() - heard_at > QUIET_SECONDS


def stuck_words(folder: Folder, record: LaunchRecord) -> str:
    """Why a launch that is over was not ended by its own machine; empty: nobody has complained."""
    if record.engine not in COMPLAINTS:
        return ""
    try:
        words = folder.store.get(f"{folder.keys.boots(record.launch)}{STUCK}").data
    except (KeyMissing, OutlastError):
        return ""
    said = " ".join(words.decode(errors="replace").split())[:WORDS_MAX]
    return f"{said}; `outlast init` gives that right"
