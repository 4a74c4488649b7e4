"""Planted in the agent's life: notices, verdicts, ends, the trainer of a fenced attempt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from outlast.agent import attempt, commits, serve, verdict
from outlast.agent.attempt import After, AttemptLife
from outlast.agent.child import Exit, Reason
from outlast.agent.vigil import Vigil
from outlast.folder.fence import Fence, Leave
from outlast.folder.records import Cause, State
from outlast.testing.simulation.child import SimulatedChild
from outlast.testing.simulation.planted.plant import FOUND, ISSUE, MISC, REFERENCE, around, plant


def _leave_unpublished(original: Any, self: Any, leave: Any, head: Any = None) -> bool:
    """Who ends the group does not look whether the outputs are published."""
    self.child.end()
    return leave is Leave.DONE


def _live_on(original: Any, self: AttemptLife) -> After:
    """A fenced machine leaves its trainer running, and looks again when that is done."""
    end = self.child.end
    self.child.end = lambda: None  # type: ignore[method-assign]
    try:
        after: After = original(self)
    finally:
        self.child.end = end  # type: ignore[method-assign]
    while after is After.FENCED and self.child.exit() is None:
        self.clock.sleep(30.0)
    return after


def _deaf(self: SimulatedChild) -> float | None:
    return None


def _no_deadline(original: Any, self: Vigil, now: float, deadline: float) -> None:
    original(self, now, float("inf"))


def _final_first(original: Any, self: AttemptLife) -> None:
    """The last checkpoint is not waited for."""
    return


def _counts_itself(exit: Exit, retries: int, head: Any) -> Any:
    """The attempt that is judged is charged already."""
    counted = dict(head.attempts)
    counted["0"] = replace(counted[str(head.attempt)], cause=Cause.FAILED)
    return _bug(exit, retries, replace(head, attempts=counted))


_bug = verdict._bug


def _left_is_failed(original: Any, exit: Exit, **circumstances: Any) -> Any:
    """A trainer that was told to leave, and left, is taken for one that failed."""
    told = circumstances["told"]
    return original(exit, **{**circumstances, "told": None if told is Reason.PREEMPTED and exit.code != 75 else told})


def _forgets_why(original: Any, self: Vigil, child: Any, **options: Any) -> None:
    original(self, child, **{**options, "ending": ""})


def _amend_at_once(original: Any, self: AttemptLife, change: Any, op: str) -> None:
    self._written_at = float("-inf")
    original(self, change, op)


def _wish_of_nobody(original: Any, self: AttemptLife, now: float) -> None:
    return


def _never_looks(self: AttemptLife) -> None:
    """Head is not read between commits: who was fenced does not hear of it."""
    return


def _ended_is_mine(original: Any, self: Any, head: Any) -> bool:
    """An attempt whose end was recorded is gone on with."""
    if head.attempt == 0 or (self.memory.attempt, self.memory.nonce) != (head.attempt, head.nonce):
        return False
    return bool(head.by == self.place.rank) or bool(original(self, head))


def _worker_failed(original: Any, self: AttemptLife, worker: Any) -> Exit:
    """Whatever ended another rank is taken for the script's own fault."""
    original(self, worker)
    self.vigil.stalled = False
    return Exit(worker.exit_code or 1)


def _succeeded_anyway(original: Any, self: AttemptLife, how: Any, exit: Any) -> None:
    """A job that was to be stopped is called finished."""
    original(self, replace(how, state=State.SUCCEEDED) if how.state is State.STOPPED else how, exit)


def _abandon_is_fence(original: Any, self: AttemptLife) -> None:
    """A last upload that would not be finished in time is passed over in silence."""
    try:
        original(self)
    except commits.Abandoned:
        return


ALL = (
    plant(
        "outputs never published",
        "who ends the group publishes first",
        f"{MISC}: end LITERAL",
        (serve._Service, "_leave", around(serve._Service._leave, _leave_unpublished)),
    ),
    plant(
        "fenced trainer runs on",
        "fenced machines stop their trainer",
        ISSUE,
        (AttemptLife, "live", around(AttemptLife.live, _live_on)),
    ),
    plant(
        "notice not heard",
        "a preemption costs at most the time since the last checkpoint",
        REFERENCE,
        (SimulatedChild, "notice", _deaf),
        theme="notices",
    ),
    plant(
        "deadline not kept",
        "the agent ends before the deadline",
        ISSUE,
        (Vigil, "look", around(Vigil.look, _no_deadline)),
        theme="wishes",
    ),
    plant(
        "final before the last commit",
        "last checkpoint, then head final",
        REFERENCE,
        (AttemptLife, "_last_commit", around(AttemptLife._last_commit, _final_first)),
    ),
    plant(
        "last upload passed over",
        "a success names its last checkpoint",
        FOUND,
        (AttemptLife, "_last_commit", around(AttemptLife._last_commit, _abandon_is_fence)),
        theme="notices",
    ),
    plant(
        "retry charged twice",
        "a restarted agent judges an attempt a second time",
        FOUND,
        (verdict, "_bug", _counts_itself),
    ),
    plant(
        "preemption is failure",
        "each cause has a budget of its own",
        REFERENCE,
        (attempt, "judge", around(verdict.judge, _left_is_failed)),
    ),
    plant(
        "why is forgotten",
        "the reason is on disk before the trainer is ended",
        FOUND,
        (Vigil, "__init__", around(Vigil.__init__, _forgets_why)),
        theme="agents",
    ),
    plant(
        "head written at once",
        "one write a second to one name",
        ISSUE,
        (AttemptLife, "_amend", around(AttemptLife._amend, _amend_at_once)),
    ),
    plant(
        "owner ignores the wish",
        "the owner honours a stop",
        ISSUE,
        (AttemptLife, "_obey_wishes", around(AttemptLife._obey_wishes, _wish_of_nobody)),
    ),
    plant(
        "head not read between commits",
        "every worker reads head every 15 s",
        ISSUE,
        (AttemptLife, "_read_head", _never_looks),
    ),
    plant(
        "ended attempt goes on",
        "the owner begins the next attempt after it ended its own",
        FOUND,
        (Fence, "_is_mine", around(Fence._is_mine, _ended_is_mine)),
    ),
    plant(
        "worker's end is a bug",
        "a rank's end ends the attempt by its own reason",
        FOUND,
        (AttemptLife, "_end_with", around(AttemptLife._end_with, _worker_failed)),
    ),
    plant(
        "stopped is succeeded",
        "a final state has its reason",
        ISSUE,
        (AttemptLife, "_finish", around(AttemptLife._finish, _succeeded_anyway)),
    ),
)
