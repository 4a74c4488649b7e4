"""When a trainer must leave: a notice, a wish, the deadline, a sum that is spent, or silence for too long."""

from __future__ import annotations

from collections.abc import Callable

from outlast.agent.child import Child, Notice, Reason
from outlast.spec.spec import STALL_GAPS_MAX, STALL_SECONDS_MIN

STOP_GRACE_SECONDS = 60.0
"""How long a trainer has to save and leave when its user stops the job."""

UPLOAD_RESERVE_SECONDS = 8.0
UPLOAD_RESERVE_SHARE = 0.4
"""What is held back of a notice for the last upload: so long, but never more than that share of it."""

DEADLINE_EARLY_SECONDS = 180.0
DEADLINE_EARLY_SHARE = 0.1
"""The agent ends so long before the launch's deadline, that the cloud's own timer is only for a dead agent."""

DEADLINE_GRACE_SHARE = 0.4
"""Of that time the trainer has so much at most; the rest is for its last upload and for head."""

DEADLINE_LAST_SHARE = 0.2
"""And so much is for head alone: what is not uploaded by then stays behind."""

STALLED = "stalled"


class Vigil:
    """Tells the trainer to leave, once per reason, and ends it when its time is over. All times are the machine's monotonic ones."""

    def __init__(
        self,
        child: Child,
        *,
        now: float,
        stall_seconds: float | None,
        ending: str = "",
        remember: Callable[[str], None] = lambda why: None,
    ) -> None:
        """`ending`: what an earlier life of this agent gave to `remember`, before it told or ended the trainer."""
        self.child = child
        self._ending = ending
        self._remember = remember
        self.stall_seconds = stall_seconds
        self.told: Reason | None = None
        self.leave_by: float | None = None
        self.taken_at: float | None = None
        """When the machine itself is gone, if it was told."""

        self.deadline_grace_seconds = STOP_GRACE_SECONDS
        self.deadline_reason = Reason.DEADLINE
        """Which limit comes first: that of time, or that of money."""

        self.over = False
        """The trainer has ended: whatever comes now is no reason for that, and nobody is left who could be told."""

        self.stalled = False
        self._seen: tuple[int | None, int] | None = None
        self._changed_at = now
        self._gap_max = 0.0

    def tell(self, reason: Reason, now: float, seconds: float) -> None:
        if self.over:
            return
        if self.told is None:
            self._remember(reason.value)
            self.told = reason
        if self.leave_by is None or now + seconds < self.leave_by:
            self.leave_by = now + seconds
            self.child.tell(Notice(self.told, seconds))

    def look(self, now: float, deadline: float) -> None:
        """`deadline`: when the trainer must have been told, at the latest."""
        notice = self.child.notice()
        if notice is not None and self.taken_at is None:
            self.taken_at = now + notice
            self.tell(Reason.PREEMPTED, now, notice - min(UPLOAD_RESERVE_SECONDS, notice * UPLOAD_RESERVE_SHARE))
        if now >= deadline and self.told is None:
            self.tell(self.deadline_reason, now, self.deadline_grace_seconds)
        if self.leave_by is not None and now >= self.leave_by:
            self.child.end()
        if self.told is None and not self.over and self._silent(now):
            self._remember(STALLED)
            self.stalled = True
            self.child.end()

    @property
    def why_told(self) -> Reason | None:
        """Why the trainer was asked to leave, by this life of the agent or an earlier one."""
        return self.told or next((reason for reason in Reason if reason.value == self._ending), None)

    @property
    def ended_as_stalled(self) -> bool:
        return self.stalled or self._ending == STALLED

    def seconds_left(self, now: float) -> float | None:
        """Until the machine is taken away; None: nobody said so."""
        return None if self.taken_at is None else self.taken_at - now

    def _silent(self, now: float) -> bool:
        seen = (self.child.step(), self.child.stream_bytes("log"))
        if self._seen is None or seen != self._seen:
            if self._seen is not None:
                self._gap_max = max(self._gap_max, now - self._changed_at)
            self._seen, self._changed_at = seen, now
            return False
        silence = now - self._changed_at
        if self.stall_seconds is not None:
            return 0 < self.stall_seconds < silence
        # Measured: a script that never says anything cannot be told from one that hangs.
        if seen == (None, 0):
            return False
        return silence > max(STALL_SECONDS_MIN, STALL_GAPS_MAX * self._gap_max)
