"""Why nothing is heard of machines that are up: they lack a right, as they say themselves, or their home takes nothing any more."""

from __future__ import annotations

import os

from outlast.dataclass import replace
from outlast.engines.engine import Condition, LaunchState
from outlast.engines.registry import COMPLAINTS
from outlast.errors import KeyMissing, OutlastError
from outlast.folder.folder import Folder
from outlast.folder.layout import SweepKeys
from outlast.folder.records import Beat, Head, LaunchRecord, State
from outlast.jobs.job import Job, as_launch
from outlast.jobs.world import World
from outlast.spec.spec import Spec

STUCK = "stuck"
"""Beside the launch's boots: a machine that has done its work may not end its group."""

QUIET_SECONDS = 120.0
"""Whoever trains tells of itself more often than this."""

WORDS_MAX = 600
ROOM_BYTES_MIN = 256 << 10
"""What records and logs need."""


def with_complaint(
    world: World, job: Job, record: LaunchRecord, spec: Spec, head: Head, beat: Beat | None, state: LaunchState
) -> LaunchState:
    """Asked of the machines only where they are up and nothing is heard of them in the home."""
    if state.why or state.condition is not Condition.RUNNING:
        return state
    if words := _closed_words(job, head):
        return replace(state, why=words)
    listen = COMPLAINTS.get(record.engine)
    if listen is None or not _is_quiet(job, record, head, beat):
        return state
    try:
        words = listen(as_launch(job, record, spec), world.environ, world.clock)
    except OutlastError:
        return state  # whoever looks wants to see the job
    return replace(state, why=words[:WORDS_MAX])


def _closed_words(job: Job, head: Head) -> str:
    """Whether the next checkpoint cannot be written, or will find no room, if the last one is anything to go by; only a directory can be
    asked."""
    try:
        seen = os.statvfs(job.home.url)
    except OSError:
        return ""
    if seen.f_flag & os.ST_RDONLY:  # as Linux leaves a disk on which it has found errors
        return f"without a home that can be written: the file system of `{job.home.url}` is read-only; nothing is committed meanwhile"
    free_bytes = seen.f_bavail * seen.f_frsize
    needed_bytes = max([ROOM_BYTES_MIN, *(one.bytes for one in head.checkpoints[-1:])])
    if free_bytes >= needed_bytes:
        return ""
    room = f"`{job.home.url}` has {free_bytes:,} bytes free, and a checkpoint may need {needed_bytes:,}"
    return f"without room in its home: {room}"


def _is_quiet(job: Job, record: LaunchRecord, head: Head, beat: Beat | None) -> bool:
    if record.cells is not None:  # a sweep's head says nothing of its cells
        claims = SweepKeys(job.id).claims(record.launch)
        return not any(True for _ in job.folder.store.list(claims, limit=1))
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
