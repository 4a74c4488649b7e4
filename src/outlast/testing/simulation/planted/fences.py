"""Planted in the fence: who may join, who may begin, what is on disk before it is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from outlast.agent import serve
from outlast.agent.attempt import AttemptLife
from outlast.errors import KeyMissing, PreconditionFailed
from outlast.folder.fence import Claim, Fence, Leave
from outlast.folder.folder import Folder, HeadAt
from outlast.folder.records import Head, Worker
from outlast.spec.record import encode
from outlast.testing.simulation.planted.plant import FOUND, GATHER, ISSUE, REFERENCE, around, plant


def _never_fenced(self: Fence, head: Head) -> bool:
    return False


def _fenced_loops(original: Any, self: Any, fence: Fence, claim: Claim) -> None:
    """A fenced machine goes back to the beginning, like a new one."""
    return


def _pass_as_new(original: Any, self: Fence, *, survivor: bool, head: HeadAt | None = None) -> Claim | Leave:
    found: Claim | Leave = original(self, survivor=False, head=head)
    return found


def _join_beside_swap(self: Fence, head: Head) -> bool:
    """The swap does not take the swapper's slot: only records do."""
    self._note(head.attempt, head.nonce)
    return self._record(head)


def _all_records(self: AttemptLife) -> bool:
    return all(self.folder.read_worker(self.number, rank) is not None for rank in range(self.place.workers))


def _create_deaf(self: Folder, key: str, record: Any) -> bool:
    """A 412 is believed; that the record may be our own is not looked at."""
    try:
        self.store.put(key, encode(record), if_generation=0)
    except PreconditionFailed:
        return False
    return True


def _create_over(self: Folder, key: str, record: Any) -> bool:
    self.store.put(key, encode(record))
    return True


def _was_never_replaced(self: Fence, head: Head, attempt: int) -> bool:
    return False


def _forgetful_init(original: Any, self: Fence, folder: Folder, place: Any, memory: Any, remember: Any) -> None:
    original(self, folder, place, memory, lambda memory: None)


def _begin_with_new_nonce(original: Any, self: Fence, at: HeadAt) -> Claim | None:
    self.memory = replace(self.memory, attempt=0, nonce="")
    begun: Claim | None = original(self, at)
    return begun


def _begin_with_claim(original: Any, self: Fence, at: HeadAt) -> Claim | Leave | None:
    """The older protocol: a create-only claim per attempt, before head. Its holder may die and wedge the next one."""
    key = f"{self.folder.keys.attempt(at.head.attempt + 1)}claim.json"
    claim = Worker(self.memory.machine, at.head.launch, self.place.rank, self.place.machine)
    if not self.folder.create(key, claim):
        return Leave.OFF
    begun: Claim | None = original(self, at)
    return begun


def _old_wishes_too(self: Folder, launch: int) -> bool:
    return any("-stop-" in entry.key for entry in self.store.list(self.keys.requests))


def _read_as_off(original: Any, self: Fence, head: HeadAt | None) -> HeadAt | Leave:
    """A machine that finds its launch over powers off alone, and its group makes another one."""
    found: HeadAt | Leave = original(self, head)
    return Leave.OFF if found is Leave.DONE else found


def _gather_deaf(original: Any, self: AttemptLife) -> None:
    """Only the owner of a running attempt honours a stop."""
    wished = self.folder.stop_wished
    self.folder.stop_wished = lambda launch: False  # type: ignore[method-assign]
    try:
        original(self)
    finally:
        self.folder.stop_wished = wished  # type: ignore[method-assign]


def _restore_from_older_head(original: Any, self: AttemptLife) -> bool:
    """The checkpoint comes from a head that was read before the swap."""
    if len(self.at.head.checkpoints) > 1:
        self.at = HeadAt(replace(self.at.head, checkpoints=self.at.head.checkpoints[:-1]), self.at.generation)
    restored: bool = original(self)
    return restored


def _record_for_anybody(self: Fence, head: Head) -> bool:
    """Whoever finds a record in its slot takes it for its own."""
    worker = Worker(self.memory.machine, head.launch, self.place.rank, self.place.machine)
    self.folder.create(self.folder.keys.worker(head.attempt, self.place.rank), worker)
    return True


def _begin_anonymously(original: Any, self: Fence, at: HeadAt) -> Claim | None:
    """The nonce is sent first and put on disk afterwards."""
    remember, self._remember = self._remember, lambda memory: None
    try:
        begun: Claim | None = original(self, at)
    finally:
        self._remember = remember
    if begun is not None:
        self._remember(self.memory)
    return begun


def _launch_unchecked(self: Fence, head: HeadAt | None) -> HeadAt | Leave:
    """Whose launch it is makes no difference."""
    try:
        at = head or self.folder.read_head()
    except KeyMissing:
        return Leave.DONE
    return Leave.DONE if at.head.state.final else at


def _look_unchecked(self: Any) -> HeadAt | None:
    try:
        at: HeadAt = self.folder.read_head()
    except KeyMissing:
        return None
    return at


def _fence_unchecked(original: Any, self: Any, head: Head) -> Fence:
    launch_id, self.launch_id = self.launch_id, head.launch_id
    fence: Fence = original(self, head)
    self.launch_id = launch_id
    return fence


ALL = (
    plant(
        "fenced machines begin again",
        "a fenced machine never swaps head to a new attempt",
        f"{GATHER}: fenced='loop'",
        (Fence, "_was_fenced", _never_fenced),
        (Fence, "pass_", around(Fence.pass_, _pass_as_new)),
        (serve._Service, "_fenced", around(serve._Service._fenced, _fenced_loops)),
    ),
    plant(
        "restarted agents begin again",
        "a restarted agent is bound by what its machine was part of",
        FOUND,
        (Fence, "_was_fenced", _never_fenced),
    ),
    plant(
        "swap takes no slot",
        "the swap to a new attempt takes the swapper's slot",
        f"{GATHER}: swapslot=False",
        (Fence, "_join", _join_beside_swap),
        (AttemptLife, "_all_joined", _all_records),
    ),
    plant(
        "own record not recognised",
        "a 412 is read back before it is believed",
        f"{GATHER}: oprec=False",
        (Folder, "create", _create_deaf),
    ),
    plant("record over record", "worker records are create-only", ISSUE, (Folder, "create", _create_over)),
    plant(
        "anybody's record",
        "a slot is taken if its record is another machine's",
        f"{GATHER}: slots",
        (Fence, "_record", _record_for_anybody),
    ),
    plant(
        "replaced machines join again",
        "a machine that was replaced at its rank powers off",
        f"{GATHER}: hist=False",
        (Fence, "was_replaced", _was_never_replaced),
        theme="zombies",
    ),
    plant(
        "nonce kept in memory",
        "a nonce is on disk before it is sent",
        ISSUE,
        (Fence, "__init__", around(Fence.__init__, _forgetful_init)),
    ),
    plant(
        "nonce sent before it is on disk",
        "a nonce is on disk before it is sent",
        ISSUE,
        (Fence, "_begin", around(Fence._begin, _begin_anonymously)),
    ),
    plant(
        "new nonce at every try",
        "a swap is tried again with the same op_id",
        FOUND,
        (Fence, "_begin", around(Fence._begin, _begin_with_new_nonce)),
        theme="silence",
    ),
    plant(
        "claim that wedges",
        "no create-only claim stands between a dead machine and its replacement",
        f"{ISSUE}; {REFERENCE} 1.4",
        (Fence, "_begin", around(Fence._begin, _begin_with_claim)),
    ),
    plant("old wish obeyed", "a wish is for one launch", ISSUE, (Folder, "stop_wished", _old_wishes_too)),
    plant(
        "late machine ends only itself",
        "who sees head final ends the group",
        ISSUE,
        (Fence, "_read", around(Fence._read, _read_as_off)),
    ),
    plant(
        "wish ignored while gathering",
        "while gathering any worker honours a stop",
        f"{GATHER}: waitwish=False",
        (AttemptLife, "_gather", around(AttemptLife._gather, _gather_deaf)),
    ),
    plant(
        "checkpoint of an older head",
        "the checkpoint comes from the head just written",
        REFERENCE,
        (AttemptLife, "_restore", around(AttemptLife._restore, _restore_from_older_head)),
    ),
    plant(
        "machine of another launch joins",
        "head is another launch's: leave",
        ISSUE,
        (Fence, "_read", _launch_unchecked),
        (serve._Service, "_look", _look_unchecked),
        (serve._Service, "_fence", around(serve._Service._fence, _fence_unchecked)),
    ),
)
