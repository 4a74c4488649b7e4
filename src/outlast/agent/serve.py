"""The agent's life on one machine: attempt after attempt, until there is nothing left to do here."""

from __future__ import annotations

import math
from random import Random

from outlast.agent.attempt import After, AttemptLife
from outlast.agent.child import Child
from outlast.agent.standing import AWAY, OFFLINE_SECONDS_MAX
from outlast.clock import Clock
from outlast.dataclass import replace
from outlast.errors import Damaged, Denied, KeyMissing, NewerFormat
from outlast.folder.cost import rent_of
from outlast.folder.fence import Claim, Fence, Leave, Memory, Place
from outlast.folder.folder import Folder, HeadAt, nonce
from outlast.folder.publish import publish
from outlast.folder.records import Head, LaunchRecord
from outlast.spec.spec import Spec


def serve(
    *,
    folder: Folder,
    launch_id: str,
    rank: int,
    machine: str,
    child: Child,
    clock: Clock,
    random: Random,
    spec: Spec | None = None,
    launch: LaunchRecord | None = None,
    denied_seconds_max: float = math.inf,
    offline_seconds_max: float = OFFLINE_SECONDS_MAX,
    before_usd: float = 0.0,
) -> bool:
    """True: the launch is over and whoever started this machine may end it (`leave done`); False: only this machine is (`leave again`).

    `spec`, `launch`: if they were just read. `denied_seconds_max`: a store that has refused so long to let this machine begin an
    attempt will not let the next one either, and `Denied` is raised. `offline_seconds_max`: how long it goes on without its store,
    before it leaves for another one. `before_usd`: what machines have cost that never came up in the place of this one.
    """
    service = _Service(folder, launch_id, rank, machine, child, clock, random, spec, launch)
    service.denied_seconds_max, service.offline_seconds_max = denied_seconds_max, offline_seconds_max
    service.before_usd = before_usd
    return service.run()


class _Service:
    def __init__(
        self,
        folder: Folder,
        launch_id: str,
        rank: int,
        machine: str,
        child: Child,
        clock: Clock,
        random: Random,
        spec: Spec | None,
        launch: LaunchRecord | None,
    ) -> None:
        self.folder = folder
        self.launch_id = launch_id
        self.rank = rank
        self.machine = machine
        self.child = child
        self.clock = clock
        self.random = random
        self.fence: Fence | None = None
        self.spec = spec
        self.launch = launch
        self.survivor_of: int | None = None
        self.denied_seconds_max = math.inf
        self.offline_seconds_max = OFFLINE_SECONDS_MAX
        self.before_usd = 0.0
        self.claimed = False

    def run(self) -> bool:
        away_since: float | None = None
        while True:
            try:
                done = self._attempt()
            except AWAY as error:
                now = self.clock.monotonic()
                away_since = now if away_since is None else away_since
                hopeless = isinstance(error, Denied) and not self.claimed
                if hopeless and now - away_since > self.denied_seconds_max:
                    raise
                if now - away_since > self.offline_seconds_max:
                    return False
                self.clock.sleep(self.random.uniform(0.5, 10.0))
                continue
            except (NewerFormat, Damaged, KeyMissing):
                # Nothing may be written over what cannot be read; the next command says what is wrong with it. And what head
                # named a moment ago is gone only with the whole job.
                self.child.end()
                return True
            if done is not None:
                return done
            away_since = None

    def _attempt(self) -> bool | None:
        """One pass through the fence and one attempt; None: look again. May be called again after any StoreUnavailable."""
        at = None
        if self.fence is None:
            at = self._look()
            if at is None:
                return True
            self.fence = self._fence(at.head)
        fence = self.fence
        claim = fence.pass_(survivor=self.survivor_of is not None, head=at)
        if not isinstance(claim, Claim):
            return self._leave(claim)
        if self.spec is None or self.launch is None:
            self.spec = self.folder.read_spec()
            self.launch = self.folder.read_launch(claim.at.head.launch)
        self.claimed = True
        life = AttemptLife(self.folder, fence, claim, self.spec, self.launch, self.child, self.clock)
        after = life.live()
        if after is After.OFF:
            return False
        if after is After.FENCED:
            return self._fenced(fence, claim)
        if after is After.DONE and life.at.head.state.final:
            return self._leave(Leave.DONE, life.at.head)
        self.survivor_of = None
        self.clock.sleep(self.folder.store.rewrite_seconds)
        return None

    def _look(self) -> HeadAt | None:
        """None: the job is gone, or belongs to another launch."""
        try:
            at = self.folder.read_head()
        except KeyMissing:
            return None
        return at if at.head.launch_id == self.launch_id else None

    def _fence(self, head: Head) -> Fence:
        launch = self.launch
        if launch is None or launch.launch != head.launch:
            launch = self.launch = self.folder.read_launch(head.launch)
        note = self.child.recall()
        memory = Memory.decode(note) if note else Memory(nonce(self.random))
        rent = replace(rent_of(launch), before_usd=self.before_usd)
        place = Place(self.launch_id, self.rank, launch.workers, self.machine, self.offline_seconds_max, rent)
        return Fence(self.folder, place, memory, lambda memory: self.child.remember(memory.encode()))

    def _fenced(self, fence: Fence, claim: Claim) -> bool | None:
        """Replaced machines power off; survivors may join the attempt that gathers."""
        try:
            head = self.folder.read_head().head
        except KeyMissing:
            return True
        if head.launch_id == self.launch_id and not head.state.final and fence.was_replaced(head, claim.attempt):
            return False
        self.survivor_of = claim.attempt
        return None

    def _leave(self, leave: Leave, head: Head | None = None) -> bool:
        """`head`: the final one, if it is this machine's own."""
        self.child.end()
        if leave is Leave.DONE:
            publish(self.folder, self.launch_id, self.spec, head)
            return True
        return False
