"""Following a job: its log as it comes, and a look after it now and then, until it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from outlast.errors import Denied, StoreFull
from outlast.folder.cell import CellFolder
from outlast.folder.folder import Folder, HeadAt
from outlast.jobs.job import Job
from outlast.jobs.look import look
from outlast.jobs.world import World
from outlast.results.cell_status import MISSING
from outlast.results.logs import LogPiece, LogReader
from outlast.results.status import Status

WATCH_SECONDS = 30.0
RING_SECONDS = 10.0
LOOK_SECONDS = 2.0
LOOK_POLLS = 20
END_NEAR_SECONDS = 0.25
"""Who waits for a row of short jobs waits for each a moment only: it is looked after when that was not enough."""

FRESH_POLLS_MAX = 10
FRESH_SECONDS_MAX = 5.0


def watch(
    world: World,
    job: Job,
    *,
    attempt: int | None = None,
    stream: str = "log",
    first: int = 1,
    polling_seconds: float | None = None,
    on_status: Callable[[Status], None] | None = None,
) -> Iterator[LogPiece]:
    """Ends when the job does. While it watches, a launch of which nothing is alive is started again."""
    reader = LogReader(job.folder, attempt=attempt, stream=stream, first=first)
    pause = polling_seconds if polling_seconds is not None else job.folder.store.poll_seconds
    ring_at = look_at = world.clock.monotonic()
    while True:
        now = world.clock.monotonic()
        if now >= ring_at:
            ring(job.folder)
            ring_at = now + RING_SECONDS
        yield from reader.read()
        if reader.ended:
            return
        if now >= look_at:
            status = look(world, job)
            if on_status is not None:
                on_status(status)
            if status.state == MISSING:
                return
            look_at = world.clock.monotonic() + max(LOOK_SECONDS, LOOK_POLLS * job.folder.store.poll_seconds)
        world.clock.sleep(pause)


def wait(world: World, job: Job) -> Status:
    """Until the job has ended. It is looked after as by `watch`, but nobody reads its log, and nobody rings for it."""
    poll = job.folder.store.poll_seconds
    # A cell may have no head yet.
    ended = None if isinstance(job.folder, CellFolder) else _wait_for_end(world, job, END_NEAR_SECONDS)
    while True:
        status = look(world, job, ended)
        if status.head.state.final or status.state == MISSING:
            return status
        ended = _wait_for_end(world, job, max(LOOK_SECONDS, LOOK_POLLS * poll))


def _wait_for_end(world: World, job: Job, seconds: float) -> HeadAt | None:
    """The end, if it has come."""
    until = world.clock.monotonic() + seconds
    while world.clock.monotonic() < until:
        at = job.folder.existing_head()
        if at.head.state.final:
            return at
        world.clock.sleep(job.folder.store.poll_seconds)
    return None


def freshen(world: World, job: Job) -> bool:
    """Has the owner of a running job write down where it is, so that what is read next is of now. One that is away is not waited for:
    False."""
    head = job.folder.existing_head().head
    if head.state.final or head.attempt == 0:
        return True
    poll = max(0.02, job.folder.store.poll_seconds)
    rung = ring(job.folder)
    if not rung:
        return False
    until = world.clock.monotonic() + min(FRESH_SECONDS_MAX, FRESH_POLLS_MAX * poll)
    while world.clock.monotonic() < until:
        beat = job.folder.read_beat(head.attempt)
        if beat is not None and beat.rung == rung:
            return True
        world.clock.sleep(poll)
    return False


def ring(folder: Folder) -> str:
    """Empty: the home is full, or not ours to write. Whoever only reads goes on reading, and hears of news later."""
    try:
        return folder.ring(folder.store.now() + WATCH_SECONDS)
    except (StoreFull, Denied):
        return ""
