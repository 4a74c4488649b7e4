"""A sweep that is there already, submitted again: what is said of it, and what is asked."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from outlast.cli.terminal import shown
from outlast.cli.words import count
from outlast.errors import UsageError

if TYPE_CHECKING:
    from outlast.jobs.sweep import Again, SweepAsked

FILES_NAMED_MAX = 3
RERUNS = ("failed", "all", "none")
HINT = "`--rerun all` begins every cell anew, `--rerun failed` those that failed, `--rerun none` only those that are missing"


def check_running(cells: SweepAsked, again: Again) -> None:
    """What a launch that is under way cannot take up any more is said, and not passed over."""
    problem = ""
    if again.new:
        problem = f"has no room for {count(len(again.new), 'more cell')} until it has ended"
    elif again.changed:
        problem = f"began with other code: {_files(again)}"
    elif cells.rerun == "all":
        problem = "`--rerun all` begins what has ended"
    if problem:
        raise UsageError(
            f"sweep `{again.job.id}` runs, and {problem}",
            state="it goes on as it was",
            hint=f"`outlast stop {again.job.id}`, then the same again",
        )


def _files(again: Again) -> str:
    named = ", ".join(f"`{shown(path)}`" for path in again.changed[:FILES_NAMED_MAX])
    return f"{named} and others" if again.changed[FILES_NAMED_MAX:] else named


def ended_words(again: Again) -> str:
    done = len(again.rows) - again.failed
    failed = f", {again.failed:,} of them without success (`--rerun failed`)" if again.failed else ""
    return f"all {len(again.rows):,} cells have ended{failed}" if failed else f"all {done:,} cells are done"


def chosen_rerun(cells: SweepAsked, again: Again) -> str:
    """With other code, what was done with the old one is the user's to decide."""
    if cells.rerun:
        return cells.rerun
    if not again.changed or not again.rows or again.running:
        return "failed"
    ended = count(len(again.rows), "cell")
    question = f"the code of sweep `{again.job.id}` has changed since {ended} ended ({_files(again)})"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            question,
            state="nothing was started",
            hint=HINT,
        )
    while True:
        sys.stderr.write(f"{question[0].upper()}{question[1:]}: begin which of them again? [failed/all/none] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
        if not answer:
            raise UsageError("nobody has answered", state="nothing was started", hint=HINT)
        if answer.strip().lower() in RERUNS:
            return answer.strip().lower()
