"""Following a job's log until it ends, or until somebody has seen enough: the job goes on then."""

from __future__ import annotations

import errno
import signal
import sys
from typing import TYPE_CHECKING, TextIO

from outlast.cli.display import Display, JsonDisplay, display, show_all
from outlast.cli.terminal import say, shown
from outlast.errors import EXIT_INTERRUPTED, StoreFull, StoreUnavailable

if TYPE_CHECKING:
    from outlast.jobs.job import Job
    from outlast.jobs.world import World
    from outlast.results.status import Status

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Of what stdout leads to: a home that is full is a `StoreFull` already."""


def follow(
    world: World,
    job: Job,
    *,
    out: TextIO,
    as_json: bool = False,
    attempt: int | None = None,
    first: int = 1,
    polling_seconds: float | None = None,
    lines: int | None = None,
) -> int | None:
    """The exit code if it was left before the job's end, else None. `lines`: so many of what is there, and all that comes."""
    from outlast.jobs.watch import watch

    to: Display = JsonDisplay() if as_json else display(out, workers=job.spec().workers)
    if lines is not None:
        to = last_lines(job, attempt, lines, to)
    waiting = _Waiting()
    try:
        pieces = watch(
            world, job, attempt=attempt, first=first, polling_seconds=polling_seconds, on_status=waiting.tell
        )
        show_all(pieces, to)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C has nothing left to interrupt
        say_detached(job)
        return EXIT_INTERRUPTED
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise StoreFull(
            f"the log cannot be written here: {error.strerror}",
            state=f"job `{job.id}` is not touched by that, and nobody needs to watch it",
            hint=f"`outlast logs -f {job.id}` prints it all",
        ) from error
    except StoreUnavailable as error:
        raise StoreUnavailable(
            error.message,
            state=f"job `{job.id}` goes on: its machines wait for the home to come back, and nobody needs to watch them",
            hint=f"`outlast logs -f {job.id}` follows it again",
        ) from error
    return None


def last_lines(job: Job, attempt: int | None, lines: int, to: Display) -> Display:
    """A display that shows the last so many lines of what there is by now, and what comes."""
    from outlast.cli.last_lines import LastLines, find_last
    from outlast.results.logs import read_log

    return LastLines(to, find_last(read_log(job.folder, attempt=attempt), lines))


def say_detached(job: Job) -> None:
    say()
    say(f"detached; job `{job.id}` goes on")
    say(f"  `outlast logs -f {job.id}` follows it again, `outlast stop {job.id}` stops it")


class _Waiting:
    """Says what a job waits for or lacks, once for each thing, if it still does at the second look."""

    def __init__(self) -> None:
        self._seen = self._said = ""

    def tell(self, status: Status) -> None:
        why = "" if status.final else status.why
        if why and why == self._seen and why != self._said:
            self._said = why
            say(f"{'waiting' if status.state == 'waiting' else f'{status.job} is {status.state},'} {shown(why)}")
        self._seen = why


def out_stream(as_json: bool) -> TextIO:
    """Where a followed log goes: with `--json`, stdout is kept for the object at the end."""
    return sys.stderr if as_json else sys.stdout
