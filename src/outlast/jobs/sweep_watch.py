"""Following a sweep: the logs of its cells as they come, and what they say of now."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from outlast.errors import KeyMissing, NotFound
from outlast.folder.records import SweepLaunch
from outlast.jobs.job import Job
from outlast.jobs.look import look
from outlast.jobs.watch import FRESH_POLLS_MAX, FRESH_SECONDS_MAX, LOOK_SECONDS, RING_SECONDS, ring
from outlast.jobs.world import World
from outlast.results.cell import SeenCell
from outlast.results.logs import LogPiece, LogReader
from outlast.results.status import Status
from outlast.results.sweep import see

FRESH_CELLS_MAX = 64
"""Of so many at most it is waited for what they are at."""


def freshen_cells(world: World, job: Job, status: Status) -> None:
    """Has the cells that run write down where they are. Those whose machine is away are not waited for."""
    if status.final or status.spec.cells is None:
        return
    running = see(job.folder, status.spec, status.launch, final=False).running()[:FRESH_CELLS_MAX]
    rung = ring(job.folder) if running else ""
    if not rung:
        return
    poll = max(0.02, job.folder.store.poll_seconds)
    until = world.clock.monotonic() + min(FRESH_SECONDS_MAX, FRESH_POLLS_MAX * poll)
    waiting = [_cell(job, status, cell) for cell in running]
    while waiting and world.clock.monotonic() < until:
        waiting = [one for one in waiting if not _has_heard(one, rung)]
        if waiting:
            world.clock.sleep(poll)


def _has_heard(cell: SeenCell, rung: str) -> bool:
    try:
        head = cell.read_head().head
    except KeyMissing:
        return False
    beat = cell.read_beat(head.attempt) if head.attempt else None
    return head.state.final or (beat is not None and beat.rung == rung)


def _cell(job: Job, status: Status, cell: int) -> SeenCell:
    turn = (status.launch.cells or SweepLaunch(1)).turn
    return SeenCell(job.folder.store, status.spec, cell, job.folder.random, turn)


def read_cells(job: Job, status: Status) -> Iterator[tuple[int, LogPiece]]:
    """What all cells have said by now, one after another."""
    seen = see(job.folder, status.spec, status.launch, final=status.final)
    for cell in sorted({*seen.progress.rows, *seen.progress.claims}):
        for piece in _pieces(LogReader(_cell(job, status, cell))):
            yield cell, piece


def watch_cells(
    world: World,
    job: Job,
    *,
    first_launch: int = 0,
    polling_seconds: float | None = None,
    on_status: Callable[[Status], None] | None = None,
) -> Iterator[tuple[int, LogPiece]]:
    """Ends when the sweep does. `first_launch`: only cells that ended in it, or later."""
    readers: dict[int, LogReader] = {}
    over: set[int] = set()
    settled: set[int] = set()
    pause = polling_seconds if polling_seconds is not None else job.folder.store.poll_seconds
    ring_at = look_at = world.clock.monotonic()
    status = look(world, job)
    while True:
        now = world.clock.monotonic()
        if now >= ring_at:
            ring(job.folder)
            ring_at = now + RING_SECONDS
        if now >= look_at:
            status = look(world, job)
            if on_status is not None:
                on_status(status)
            seen = see(job.folder, status.spec, status.launch, final=status.final)
            ended = {cell for cell, row in seen.progress.rows.items() if row.launch >= first_launch}
            for cell in sorted((ended | set(seen.progress.claims)) - over):
                readers.setdefault(cell, LogReader(_cell(job, status, cell)))
            settled = {
                cell for cell in ended if seen.progress.settled(cell)
            }  # its head was final before it is read now
            look_at = world.clock.monotonic() + max(LOOK_SECONDS / 4, job.folder.store.poll_seconds)
        for cell, reader in list(readers.items()):
            for piece in _pieces(reader):
                yield cell, piece
            if cell in settled or status.final:
                over.add(cell)
                del readers[cell]
        if status.final:
            return
        world.clock.sleep(max(0.02, pause))


def _pieces(reader: LogReader) -> Iterator[LogPiece]:
    """Of a cell that was claimed and has not begun: nothing yet."""
    try:
        yield from reader.read()
    except NotFound:
        return
