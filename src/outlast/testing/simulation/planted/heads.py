"""Planted in head's own rules: preconditions, lost answers, budgets, ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from outlast.errors import KeyMissing, PreconditionFailed
from outlast.folder import folder, life
from outlast.folder.folder import Fenced, Folder, HeadAt
from outlast.folder.records import OPS_KEPT, Checkpoint, Head, State
from outlast.spec.record import encode
from outlast.testing.simulation.planted.plant import FOUND, GATHER, ISSUE, LIFE, MISC, around, plant


def _swap_unconditionally(self: Folder, at: HeadAt, head: Head, op: str) -> HeadAt | None:
    if op in at.head.ops:
        return at
    written = replace(head, ops=(*at.head.ops, op)[-OPS_KEPT:])
    return HeadAt(written, self.store.put(self.keys.head, encode(written)))


def _swap_deaf(self: Folder, at: HeadAt, head: Head, op: str) -> HeadAt | None:
    """A 412 is believed: that it may be the echo of our own success is not looked at."""
    if op in at.head.ops:
        return at
    written = replace(head, ops=(*at.head.ops, op)[-OPS_KEPT:])
    try:
        return HeadAt(written, self.store.put(self.keys.head, encode(written), if_generation=at.generation))
    except PreconditionFailed:
        return None


def _swap_without_ops(self: Folder, at: HeadAt, head: Head, op: str) -> HeadAt | None:
    """Head remembers no operation, as if the window of op ids were too short."""
    try:
        return HeadAt(head, self.store.put(self.keys.head, encode(head), if_generation=at.generation))
    except PreconditionFailed:
        return None


def _amend_unfenced(self: Folder, at: HeadAt, owner: str, change: Any, op: str) -> HeadAt:
    """Merges and tries again until it is in, whoever owns head by now."""
    while True:
        if op in at.head.ops:
            return at
        if at.head.state.final:
            raise Fenced
        swapped = self.swap(at, change(at.head), op)
        if swapped is not None:
            return swapped
        at = self.read_head()


def _amend_into_final(self: Folder, at: HeadAt, owner: str, change: Any, op: str) -> HeadAt:
    while True:
        if op in at.head.ops:
            return at
        if at.head.nonce != owner:
            raise Fenced
        swapped = self.swap(at, change(at.head), op)
        if swapped is not None:
            return swapped
        try:
            at = self.read_head()
        except KeyMissing:
            raise Fenced from None


def _final_with_nonce(original: Any, head: Head, *args: Any, **kwargs: Any) -> Head:
    after: Head = original(head, *args, **kwargs)
    return replace(after, nonce=head.nonce, by=head.by)


def _committed_twice(original: Any, head: Head, *args: Any, **kwargs: Any) -> Head:
    """Not idempotent: what is there already is added once more."""
    after: Head = original(head, *args, **kwargs)
    new = after.checkpoints[-1]
    doubled: tuple[Checkpoint, ...] = (*(one for one in head.checkpoints if one.name == new.name), *after.checkpoints)
    return replace(after, checkpoints=doubled)


def _next_attempt_charged(original: Any, head: Head, **kwargs: Any) -> Head:
    """An attempt that never ran is counted as one without progress."""
    after: Head = original(head, **kwargs)
    previous = head.attempts.get(str(head.attempt))
    if previous is not None and previous.running_at is None and after.attempt > head.attempt:
        return replace(after, barren=head.barren + 1)
    return after


def _next_attempt_impatient(original: Any, head: Head, **kwargs: Any) -> Head:
    after: Head = original(head, **kwargs)
    if after.barren >= 2 and not after.state.final:
        return life.final(head, State.FAILED, kwargs["now"], reason="2 attempts in a row made no progress")
    return after


ALL = (
    plant(
        "head without condition",
        "every write of head is compare-and-swap",
        ISSUE,
        (Folder, "swap", _swap_unconditionally),
    ),
    plant("commit without fence", "a 412 with another nonce means fenced", ISSUE, (Folder, "amend", _amend_unfenced)),
    plant(
        "lost answer ignored", "a 412 of head is read back: op_id ours means done", ISSUE, (Folder, "swap", _swap_deaf)
    ),
    plant(
        "final head merged into",
        "every final swap clears the nonce, a final head is never merged into",
        f"{LIFE}: clear=False",
        (life, "final", around(life.final, _final_with_nonce)),
        (Folder, "amend", _amend_into_final),
    ),
    plant(
        "merge not idempotent",
        "merging is idempotent: checkpoints by name, never a sum",
        f"{MISC}: op_id window LITERAL",
        (life, "committed", around(life.committed, _committed_twice)),
        (Folder, "swap", _swap_without_ops),
    ),
    plant(
        "gathering is charged",
        "only attempts that reached running are counted as without progress",
        f"{GATHER}: npcount='all'",
        (life, "next_attempt", around(life.next_attempt, _next_attempt_charged)),
    ),
    plant(
        "given up too soon",
        "five attempts in a row without progress, ten before the first checkpoint",
        f"{GATHER}: spurious failure",
        (life, "next_attempt", around(life.next_attempt, _next_attempt_impatient)),
    ),
    plant("two checkpoints kept", "head keeps three or more", ISSUE, (life, "KEPT_CHECKPOINTS", 2)),
    plant("no op remembered", "head keeps the last op_ids", FOUND, (folder, "OPS_KEPT", -100)),
)
