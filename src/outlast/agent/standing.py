"""What an attempt stands on: the head that it owns, a store that may be away, and the time it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from outlast.agent.child import Child, Reason
from outlast.agent.vigil import (
    DEADLINE_EARLY_SECONDS,
    DEADLINE_EARLY_SHARE,
    DEADLINE_GRACE_SHARE,
    DEADLINE_LAST_SHARE,
    STOP_GRACE_SECONDS,
    Vigil,
)
from outlast.clock import Clock
from outlast.dataclass import replace
from outlast.errors import Denied, KeyMissing, StoreFull, StoreUnavailable
from outlast.folder import cost, life
from outlast.folder.fence import Claim, Fence
from outlast.folder.folder import Fenced, Folder
from outlast.folder.records import Head, LaunchRecord
from outlast.spec.spec import Spec

OFFLINE_SECONDS_MAX = 30 * 60.0
"""So long a rented machine goes on without its store; then it powers off, and a better connected one takes over."""

BACKOFF_SECONDS = (1.0, 30.0)

AWAY = (StoreUnavailable, StoreFull, Denied)
"""What may pass: the store is away, full, or refuses us for now."""

T = TypeVar("T")


ENDING_OPS = ("stop", "final")
"""What clears the nonce when it is done."""


class Offline(Exception):
    """The store was away for longer than a machine may wait."""


class Standing:
    def __init__(
        self, folder: Folder, fence: Fence, claim: Claim, spec: Spec, launch: LaunchRecord, child: Child, clock: Clock
    ) -> None:
        self.folder = folder
        self.place = fence.place
        self.at = claim.at
        self.number = claim.attempt
        self.nonce = claim.nonce
        self.spec = spec
        self.launch = launch
        self.child = child
        self.clock = clock
        now = clock.monotonic()
        self.vigil = Vigil(
            child,
            now=now,
            stall_seconds=spec.stall_seconds,
            ending=fence.memory.ending,
            remember=fence.remember_ending,
        )
        self._look_at_deadline()
        self._written_at = now
        self._writes_before = folder.store.billed_writes
        self._back_at = now
        self._away_since: float | None = None

    def _now(self) -> float:
        return self.folder.store.now()

    def _look_at_deadline(self) -> None:
        """By the store's time, which may have been learnt anew since; sooner, if the money is spent before.

        Both clocks are asked here: a moment from before a slow request would bring the deadline forward by its length.
        """
        now = self.clock.monotonic()
        length = self.launch.deadline_at - self.launch.launched_at
        ends_at = now + self.launch.deadline_at - self._now()
        self.vigil.deadline_reason = Reason.DEADLINE
        paid_seconds = cost.seconds_left(self.at.head, self.place.rent, self._now())
        if paid_seconds is not None and now + paid_seconds < ends_at:
            ends_at = now + paid_seconds
            length = (self.place.rent.max_cost_usd or 0.0) / self.place.rent.usd_per_hour * 3600
            self.vigil.deadline_reason = Reason.COST
        early = min(DEADLINE_EARLY_SECONDS, DEADLINE_EARLY_SHARE * length)
        self.vigil.deadline_grace_seconds = min(STOP_GRACE_SECONDS, DEADLINE_GRACE_SHARE * early)
        self._deadline = ends_at - early
        self._upload_by = ends_at - DEADLINE_LAST_SHARE * early

    def _read_head(self) -> None:
        try:
            at = self.folder.read_head()
        except KeyMissing:
            raise Fenced from None
        if at.head.nonce != self.nonce or at.head.state.final:
            raise Fenced
        self.at = at

    def _amend(self, change: Callable[[Head], Head], op: str) -> None:
        wait = self._written_at + self.folder.store.rewrite_seconds - self.clock.monotonic()
        if wait > 0:
            self.clock.sleep(wait)
        try:
            self.at = self.folder.amend(
                self.at, self.nonce, lambda head: self._counted(change(head)), f"{self.nonce}-{op}"
            )
        finally:
            self._written_at = self.clock.monotonic()
        if self.at.head.nonce != self.nonce and op not in ENDING_OPS:
            raise Fenced  # it was done, we never heard of it, and somebody else has taken over since

    def _store_writes(self) -> int:
        """Of this attempt, as far as this process knows."""
        return self.folder.store.billed_writes - self._writes_before

    def _counted(self, head: Head) -> Head:
        attempt = head.attempts.get(str(self.number))
        writes = self._store_writes()
        if attempt is None or attempt.store_writes >= writes:
            return head
        return life.ended(head, self.number, replace(attempt, store_writes=writes))

    def _patiently(self, action: Callable[[], T]) -> T:
        """Until it is done, or the store was away for too long."""
        while True:
            try:
                done = action()
            except AWAY:
                self._away(self.clock.monotonic())
                self.clock.sleep(max(0.0, self._back_at - self.clock.monotonic()))
                self.vigil.look(self.clock.monotonic(), self._deadline)
            else:
                self._away_since = None
                return done

    def _away(self, now: float) -> None:
        if self._away_since is None:
            self._away_since = now
        since = now - self._away_since
        if since > self.place.offline_seconds_max:
            raise Offline
        low, high = BACKOFF_SECONDS
        self._back_at = now + self.folder.random.uniform(0.1, min(high, max(low, since)))
