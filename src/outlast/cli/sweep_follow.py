"""A sweep that is watched: how many of its cells are done, until all are."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from outlast.cli.outcome import end_line
from outlast.cli.terminal import put_json, say
from outlast.errors import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from outlast.jobs.job import Job
    from outlast.jobs.world import World

LOOK_SECONDS = 0.5


def follow_sweep(world: World, job: Job, *, as_json: bool) -> int:
    from outlast.cli.follow import say_detached
    from outlast.jobs.look import look
    from outlast.jobs.see_off import see_off
    from outlast.results.sweep import counts, counts_words
    from outlast.results.sweep_status import with_cells

    said = ""
    try:
        while True:
            status = look(world, job)
            words = counts_words(counts(job.folder, status.spec, status.launch, final=status.final))
            if words != said:
                say(words)
                said = words
            if status.final:
                break
            world.clock.sleep(max(LOOK_SECONDS, job.folder.store.poll_seconds))
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
