"""A sweep that is watched: how many of its cells are done, until all are; and the first that fails, while there is time to stop."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from outlast.cli.outcome import end_line
from outlast.cli.progress import shown_progress
from outlast.cli.terminal import put_json, say
from outlast.errors import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from outlast.jobs.job import Job
    from outlast.jobs.world import World
    from outlast.results.status import Status
    from outlast.results.sweep import Counts, Seen

LOOK_SECONDS = 0.5
SAID_SECONDS = 10.0
"""Where there is no bar, counts are said so often at most."""


def follow_sweep(world: World, job: Job, *, as_json: bool) -> int:
    from outlast.cli.follow import say_detached
    from outlast.jobs.see_off import see_off
    from outlast.results.sweep_status import with_cells

    watched = _Watched(world, job)
    try:
        status = watched.until(failed=True)
        if not status.final:
            status = watched.until(failed=False)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C has nothing left to interrupt
        say_detached(job)
        return EXIT_INTERRUPTED
    status = with_cells(job.folder, status)
    if as_json:
        put_json(status.row())
    say(f"`outlast results {job.id}` shows them, the best first")
    say(end_line(status, see_off(world, job, status.launch, status.spec, status.head)))
    return status.outcome_code


class _Watched:
    """On a terminal a bar, else a line now and then."""

    def __init__(self, world: World, job: Job) -> None:
        self._world = world
        self._job = job
        self._said = ""
        self._say_at = 0.0

    def until(self, *, failed: bool) -> Status:
        """Until the sweep ends, or with `failed` until one of its cells has."""
        from outlast.jobs.look import look
        from outlast.results.sweep import counts_words, see

        world, job = self._world, self._job
        bar = sys.stderr.isatty()
        with shown_progress(world.clock) as on_progress:
            while True:
                status = look(world, job)
                seen = see(job.folder, status.spec, status.launch, final=status.final)
                counts = seen.counts()
                first = _first_failed(seen) if failed else None
                if status.final or first is not None:
                    break
                on_progress(_others(counts), counts.done, counts.cells, "cells")
                if not bar:
                    self._tell(counts_words(counts))
                world.clock.sleep(max(LOOK_SECONDS, job.folder.store.poll_seconds))
        if first is not None:
            say(f"cell {first} has failed; `outlast logs {job.id} {first}` prints what it said")
        if status.final:
            self._tell(counts_words(counts), now=True)
        return status

    def _tell(self, words: str, *, now: bool = False) -> None:
        at = self._world.clock.monotonic()
        if words != self._said and (now or at >= self._say_at):
            say(words)
            self._said, self._say_at = words, at + SAID_SECONDS


def _others(counts: Counts) -> str:
    """What is going on, before the bar of what is done."""
    words = [
        f"{number:,} {what}" for what, number in (("running", counts.running), ("failed", counts.failed)) if number
    ]
    return ", ".join(words) or "waiting"


def _first_failed(seen: Seen) -> int | None:
    """Of this launch."""
    launch = seen.record.launch
    return min(
        (cell for cell, row in seen.progress.rows.items() if row.launch == launch and row.state == "failed"),
        default=None,
    )
