"""Who owns a job: the one door through which a machine becomes part of an attempt.

Only head decides. A machine's nonce is on its disk before it is sent anywhere, so that an agent that was killed and started
again finds out what it had begun. The rules were model-checked; each one that looks superfluous has a shortest trace against it.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable

from outlast.dataclass import dataclass, replace
from outlast.errors import KeyMissing
from outlast.folder import life
from outlast.folder.cost import Rent
from outlast.folder.folder import Folder, HeadAt, nonce
from outlast.folder.records import Head, State, Worker


@dataclass(frozen=True)
class Place:
    """Where a machine stands: its launch, its rank among the launch's workers, and what people call it."""

    launch_id: str
    rank: int
    workers: int
    machine: str
    offline_seconds_max: float
    """How long it goes on without its store; then it makes room for a machine that is better connected."""

    rent: Rent = life.NOT_RENTED


@dataclass(frozen=True)
class Memory:
    """What a machine must not forget, on its disk before it acts on it."""

    machine: str
    """This machine's own nonce."""

    attempt: int = 0
    nonce: str = ""
    """The attempt that it last tried to begin or to join, and that attempt's nonce."""

    part_of: tuple[int, str] = (0, "")
    """The last one that it is known to have been part of."""

    ending: str = ""
    """Why this agent ended that attempt's trainer, if it did: the exit code alone would look like the script's own fault."""

    def encode(self) -> bytes:
        return json.dumps(vars(self)).encode()

    @classmethod
    def decode(cls, note: bytes) -> Memory:
        fields = json.loads(note)
        attempt, attempt_nonce = fields.pop("part_of")
        return cls(**fields, part_of=(attempt, attempt_nonce))


class Leave(enum.Enum):
    DONE = "done"
    """The launch is over: whoever sees that ends it."""

    OFF = "off"
    """This machine has no place any more, the launch may have."""


@dataclass(frozen=True)
class Claim:
    """A place in an attempt."""

    attempt: int
    nonce: str
    at: HeadAt


class Fence:
    def __init__(self, folder: Folder, place: Place, memory: Memory, remember: Callable[[Memory], None]) -> None:
        self.folder = folder
        self.place = place
        self.memory = memory
        self._remember = remember

    def pass_(self, *, survivor: bool, head: HeadAt | None = None) -> Claim | Leave:
        """Joins the attempt that gathers, or begins the next one, or says how to leave. `head`: if it was just read.

        A survivor of a fenced attempt may join, unless it was replaced, but never begins one: its replacement would fight it for
        ever. A machine's memory makes it one too: an agent that was restarted, or that never heard that its swap was done.
        May raise StoreUnavailable at any point; calling it again goes on where the lost answer left off.
        """
        while True:
            at, head = self._read(head), None
            if isinstance(at, Leave):
                return at
            if self._is_mine(at.head):
                self.memory = replace(self.memory, part_of=(at.head.attempt, at.head.nonce))
                return Claim(at.head.attempt, at.head.nonce, at)
            if self.folder.stop_wished(at.head.launch):
                self._stop(at)
                continue
            bound = survivor or self._was_fenced(at.head)
            if bound and self.was_replaced(at.head, self.memory.part_of[0] or self.memory.attempt):
                return Leave.OFF
            if at.head.state is State.GATHERING and self._join(at.head):
                return Claim(at.head.attempt, at.head.nonce, at)
            if bound:
                return Leave.OFF
            begun = self._begin(at)
            if begun is not None:
                return begun

    def _read(self, head: HeadAt | None) -> HeadAt | Leave:
        try:
            at = head or self.folder.read_head()
        except KeyMissing:
            return Leave.DONE
        if at.head.launch_id != self.place.launch_id or at.head.state.final:
            return Leave.DONE
        return at

    def _stop(self, at: HeadAt) -> None:
        stopped = life.final(at.head, State.STOPPED, self.folder.store.now())
        self.folder.swap(at, stopped, f"{self.memory.machine}-stop-{at.generation}")

    def _is_mine(self, head: Head) -> bool:
        """An earlier life of this agent, on this very machine, is part of the attempt already.

        An attempt whose end its owner has recorded is nobody's any more: the owner begins the next one, the others wait for it.
        """
        if head.attempt == 0 or (self.memory.attempt, self.memory.nonce) != (head.attempt, head.nonce):
            return False
        if self.place.rank == 0 and head.attempts[str(head.attempt)].ended_at is not None:
            return False
        if head.by == self.place.rank:
            return True
        worker = self.folder.read_worker(head.attempt, self.place.rank)
        return worker is not None and worker.nonce == self.memory.machine

    def _was_fenced(self, head: Head) -> bool:
        """Head is past an attempt that this machine was, or may have been, part of. Its own, whose end it has recorded, is no fence."""

        def is_past(attempt: int, attempt_nonce: str) -> bool:
            return attempt_nonce != head.nonce if attempt == head.attempt else 0 < attempt < head.attempt

        return is_past(*self.memory.part_of) or is_past(self.memory.attempt, self.memory.nonce)

    def _join(self, head: Head) -> bool:
        """Takes this rank's slot in the gathering attempt, if it is free."""
        if head.by == self.place.rank:
            return False
        if self.memory.attempt > head.attempt:
            return False  # a swap of ours to the next attempt may be on its way, and must be recognised when it arrives
        self._note(head.attempt, head.nonce)
        joined = self._record(head)
        self._note(*((head.attempt, head.nonce) if joined else self.memory.part_of), joined=True)
        return joined

    def _record(self, head: Head) -> bool:
        """A 412 is read back before it is believed: the record may be our own, its answer lost."""
        worker = Worker(self.memory.machine, head.launch, self.place.rank, self.place.machine)
        return self.folder.create(self.folder.keys.worker(head.attempt, self.place.rank), worker)

    def _begin(self, at: HeadAt) -> Claim | None:
        """Swaps head to the next attempt, which takes this rank's slot in it. None: somebody was faster, look again."""
        # The same nonce until it is known that the swap was not done: one that arrives late must still be found to be ours.
        begun_before = self.memory.attempt == at.head.attempt + 1
        mine = self.memory.nonce if begun_before else nonce(self.folder.random)
        beat = self.folder.read_beat(at.head.attempt) if at.head.attempt else None
        head = life.next_attempt(
            at.head,
            nonce=mine,
            by=self.place.rank,
            alone=self.place.workers == 1,
            machine=self.place.machine,
            now=self.folder.store.now(),
            beat=beat,
            rent=self.place.rent,
        )
        self._note(head.attempt, mine)
        swapped = self.folder.swap(at, head, f"{mine}-begin")
        if swapped is None:
            self._note(*self.memory.part_of)  # it was not done and never will be
            return None
        if swapped.head.state.final:
            return None
        if (swapped.head.attempt, swapped.head.nonce) != (head.attempt, mine):
            return None
        self._note(head.attempt, mine, joined=True)
        if self.place.workers > 1:
            self._record(swapped.head)
        return Claim(head.attempt, mine, swapped)

    def _note(self, attempt: int, attempt_nonce: str, *, joined: bool = False) -> None:
        part_of = (attempt, attempt_nonce) if joined else self.memory.part_of
        self.memory = replace(self.memory, attempt=attempt, nonce=attempt_nonce, part_of=part_of, ending="")
        # That it has joined matters among several: alone, head past its attempt is past it, whether or not it had begun that one.
        if not joined or self.place.workers > 1:
            self._remember(self.memory)

    def remember_ending(self, why: str) -> None:
        self.memory = replace(self.memory, ending=why)
        self._remember(self.memory)

    def was_replaced(self, head: Head, attempt: int) -> bool:
        """Another machine has stood at this rank in an attempt after `attempt`."""
        if head.by == self.place.rank and head.attempt > attempt:
            return True
        for later in range(attempt + 1, head.attempt + 1):
            # Who begins an attempt has its slot from that swap on, whether or not its record was ever written.
            if head.attempts[str(later)].by == self.place.rank:
                return True
            worker = self.folder.read_worker(later, self.place.rank)
            if worker is not None and worker.nonce != self.memory.machine:
                return True
        return False
