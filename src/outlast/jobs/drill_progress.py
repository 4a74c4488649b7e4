"""How far a killed training is, in the seconds of its reference: by what it has saved, and from there on by the clock.

By the clock alone a reference that ran on a busy computer would put every kill behind the end of a training that has it to itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from outlast.folder.records import Head
from outlast.jobs.drill_story import Story

Mark = tuple[str, str]
"""A file as the script wrote it: its path and its digest."""


BARREN_PATIENCE = 2
"""So many attempts in a row may be killed before they have saved anything."""


def got_on(head: Head, attempt: int) -> bool:
    """It, or those before it: a job whose attempts are all killed while they start is given up for making no progress."""
    return head.barren < BARREN_PATIENCE or head.attempts[str(attempt)].committed_step is not None


class Progress:
    def __init__(self, reference: Story, hurry: float) -> None:
        """`hurry`: so many times faster than its reference it is taken to be between two saves."""
        self._hurry = hurry
        self._steps = {commit.step: commit.seconds for commit in reference.commits if reference.by_library}
        self._marks: dict[Mark, float] = {}
        for seen in reference.seen:
            if seen.digest:
                self._marks.setdefault((seen.path, seen.digest), seen.seconds)
        self._commits: dict[int, float] = {}
        """Step of a checkpoint of this job -> how far it was when that was committed."""

        self._reached = self._reached_at = 0.0

    def begin(self, now: float) -> None:
        """Another attempt, of which nothing is known yet."""
        self._reached, self._reached_at = 0.0, now

    def restore(self, step: int | None, marks: Iterable[Mark], began_at: float) -> None:
        """What that attempt began with. Files that the reference never wrote (they hold a time) are as old as their own commit."""
        known = [self._of_step(step), *(self._marks.get(mark, 0.0) for mark in marks)]
        self._reach(max(known) or self._commits.get(-1 if step is None else step, 0.0), began_at)

    def commit(self, step: int, now: float) -> None:
        self._reach(self._of_step(step), now)
        self._commits[step] = self.seconds(now)

    def write(self, mark: Mark, now: float) -> None:
        self._reach(self._marks.get(mark, 0.0), now)

    def seconds(self, now: float) -> float:
        return self._reached + (now - self._reached_at) * self._hurry

    def _of_step(self, step: int | None) -> float:
        return max((seconds for made, seconds in self._steps.items() if step is not None and made <= step), default=0.0)

    def _reach(self, seconds: float, now: float) -> None:
        if seconds > self._reached:
            self._reached, self._reached_at = seconds, now
