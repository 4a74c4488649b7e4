"""What a worker of a sweep may spend: its share, so that the limit of the whole holds although nobody watches it.

What counts is the life of its machines, from their first second to their last, whatever they did in it: the worker keeps a bill in the
home, some time ahead, and whoever comes in its place goes on from there. It is paid before it is used: a worker that cannot renew its
bill leaves before that ends.
"""

from __future__ import annotations

from outlast.agent.bench import Bench
from outlast.agent.standing import AWAY, Offline
from outlast.agent.station import Station
from outlast.agent.sweep_terms import (
    AHEAD_SECONDS,
    AHEAD_SECONDS_MAX,
    AHEAD_SHARE,
    END_SECONDS,
    FURNISH_SECONDS,
    GONE_SECONDS,
    IDLE_LOOK_SECONDS,
    LAST_SECONDS,
    LEAVE_SECONDS,
    RENEW_SECONDS,
    RETRY_SECONDS,
    SHORT_SECONDS,
    SHORT_TIMES_MAX,
    WORK_SECONDS_MIN,
    paid_no_more,
)
from outlast.dataclass import replace
from outlast.folder import cost
from outlast.folder.bills import Bills, going_on, lives, seconds_of, spent_usd, unbilled_seconds
from outlast.folder.records import Head
from outlast.folder.sweep_records import Bill


class Purse:
    def __init__(self, station: Station, bench: Bench) -> None:
        self.station = station
        self.bench = bench
        self.usd_per_hour = station.launch.usd_per_hour / station.asked.per_machine
        """0: nothing is paid for, and nothing written."""

        self.limited = station.launch.max_cost_usd is not None and self.usd_per_hour > 0
        self._bills = Bills(station.folder)
        self._bill: Bill | None = None
        self._reckoned = False
        self._written_at = self._asked_at = 0.0
        self._earlier_usd = 0.0
        """Spent by other launches."""

        self._before_usd = 0.0
        """Spent in this worker's place, by machines before this one."""

        self._held_back_usd = self._usd_of(LEAVE_SECONDS)

        self._debt_usd = 0.0
        """This worker's part of what machines that cannot leave have cost beyond their own shares."""

        self.trapped = False
        """Machines of this launch may not leave their group: who left would cost as much as who stays, and see nothing."""

        self.kept = False
        """This machine is one of them: it was not needed any more, and its group has not let it go."""

        self._idle_at = 0.0

    # The bill.

    def open(self) -> None:
        """Before anything is done on this machine; again after any StoreUnavailable. The bill first, then what others have spent."""
        if not self.usd_per_hour:
            return
        station = self.station
        if self._bill is None:
            rank, number = station.worker // station.asked.per_machine, int(station.machine.rpartition("-")[2])
            known = self._bills.read(station.machine)  # of an earlier life of this agent
            lived_seconds = station.clock.monotonic() - station.born_at
            began_at = station.store.now() - lived_seconds - cost.BOOT_SECONDS
            bill = Bill(
                station.launch.launch, station.worker, f"{rank}-{number}", self.usd_per_hour, began_at, began_at
            )
            self._write(known or bill, AHEAD_SECONDS)
        if not self._reckoned:
            self._reckon()
            self._reckoned = True

    def _reckon(self) -> None:
        """What was spent before this machine, in its place and by other launches."""
        assert self._bill is not None
        station, bill = self.station, self._bill
        rank, number = map(int, bill.machine.split("-"))
        if self.limited or number > 1:
            found = lives(self._bills.of_launch(station.launch.id))
            before = [life for life in found.get((bill.launch, rank), []) if life.number < number]
            unbilled = unbilled_seconds(before, number, bill.began_at, station.launch.launched_at)
            self._bill = replace(bill, unbilled_seconds=max(unbilled, bill.unbilled_seconds))
            before_seconds = sum(seconds_of(before, bill.began_at)) + self._bill.unbilled_seconds
            self._before_usd = self._usd_of(before_seconds)
            if before_seconds > 0:
                short_times = SHORT_SECONDS * (number - 1) / before_seconds
                self._held_back_usd = self._usd_of(LEAVE_SECONDS) * min(SHORT_TIMES_MAX, max(1.0, short_times))
        if self.limited:
            self._earlier_usd = spent_usd(self._bills.of_other_launches(station.launch.id), station.store.now())
            self._renew(self._ahead_seconds)
        self.look_for_idle()

    def renew_if_due(self) -> None:
        """Not before it is known what was spent: the share may be gone, and what is renewed then is somebody else's."""
        now = self.station.clock.monotonic()
        if not self._reckoned or now - self._written_at < RENEW_SECONDS or now - self._asked_at < RETRY_SECONDS:
            return
        self._renew(self._ahead_seconds)
        if self.limited and now - self._idle_at >= IDLE_LOOK_SECONDS:
            self.look_for_idle()

    def keep(self) -> None:
        """Called now and then by whoever waits. Offline: this machine must be gone before what is paid for is over."""
        try:
            self.renew_if_due()
        except AWAY:
            pass
        if self.overdue():
            raise Offline

    def reserve(self) -> None:
        """Before what may take long, and renews nothing meanwhile."""
        if self.limited:
            self._renew(FURNISH_SECONDS)

    def close(self, *, spare: bool = False) -> None:
        """The worker leaves."""
        try:
            if self._bill is not None:
                if spare:
                    self._bills.write_spare(self.station.machine)
                self._write(self._bill, GONE_SECONDS)
        except AWAY:
            pass  # then it is as it was, which is too much rather than too little

    def overdue(self) -> bool:
        """What is paid for is nearly over, and could not be renewed."""
        if not self.limited or (self._reckoned and self._written_at >= self._asked_at):
            return False
        return paid_no_more(self.bench.paid_until(), self.station.born_at, self.station.clock)

    def _renew(self, ahead_seconds: float) -> None:
        if self._bill is not None:
            self._write(self._bill, ahead_seconds)

    def _write(self, bill: Bill, ahead_seconds: float) -> None:
        """Never further ahead than the worker's share is for; who is at its end has time to leave."""
        clock = self.station.clock
        wait = self._written_at + self.station.store.rewrite_seconds - clock.monotonic() if self._bill else 0.0
        if wait > 0:
            clock.sleep(wait)
        now = self.station.store.now()
        if self.limited and ahead_seconds > LAST_SECONDS:
            ends_at = bill.began_at + (self._usable_usd - self._before_usd) / self.usd_per_hour * 3600
            ahead_seconds = min(ahead_seconds, max(LAST_SECONDS, ends_at - now))
        self._asked_at = clock.monotonic()
        bill = replace(bill, until=now + ahead_seconds)
        self._bills.write(self.station.machine, bill)
        self._bill = bill
        if self.limited:
            self.bench.note_paid(self._asked_at + ahead_seconds)
        self._written_at = clock.monotonic()

    @property
    def _ahead_seconds(self) -> float:
        share_seconds = self._share_usd / self.usd_per_hour * 3600 if self.limited else 0.0
        return min(AHEAD_SECONDS_MAX, max(AHEAD_SECONDS, AHEAD_SHARE * share_seconds))

    # What is left.

    @property
    def left_usd(self) -> float:
        assert self._bill is not None
        own = max(0.0, self.station.store.now() - self._bill.began_at) * self.usd_per_hour / 3600
        return self._usable_usd - self._before_usd - own - self._debt_usd

    def limit_usd(self, head: Head) -> float:
        """What a cell may have cost when it ends, by all its attempts: as if all that is left were for it."""
        spent_usd = cost.spent_usd(head, self.station.store.now())
        if self.left_usd <= 0:
            return spent_usd
        last = head.attempts.get(str(head.attempt))
        # It would count a boot for its first attempt on this machine, which this worker's bill has already.
        boot_seconds = 0.0 if last is not None and last.machine == self.station.machine else cost.BOOT_SECONDS
        return spent_usd + self._usd_of(boot_seconds) + self.left_usd

    def empty(self) -> bool:
        return self.limited and self.left_usd < self._usd_min

    # The others.

    def gone(self) -> frozenset[int]:
        """Workers that have left, and in whose places nobody comes."""
        return self._bills.gone(self.station.launch.id)

    def leave_to_others(self) -> bool:
        """Whether somebody else has money for what is left; then this one is known to be leaving.

        Known first, and asked then: of two that come to their ends at once, one at least finds that the other leaves.
        """
        self._bills.write_spare(self.station.machine)
        gone, now = self.gone(), self.station.store.now()
        found = lives(self._bills.of_launch(self.station.launch.id))
        per_machine = self.station.asked.per_machine
        usable_usd = self._share_usd - self._usd_of(LEAVE_SECONDS)
        for worker in range(self.station.workers):
            chain = found.get((self.station.launch.launch, worker // per_machine), [])
            spent_usd = self._usd_of(sum(seconds_of(chain, now)))
            if worker not in gone and usable_usd - spent_usd - self._debt_usd >= self._usd_min:
                return True
        return False

    def all_spent(self) -> bool:
        """By all machines together, with those that cannot leave: there is nothing left for anybody."""
        if not self.trapped:
            return False
        ahead_at = self.station.store.now() + END_SECONDS
        idle = self._bills.idle(self.station.launch.launch)
        bills = [going_on(bill, idle, ahead_at) for bill in self._bills.of_launch(self.station.launch.id)]
        limit_usd = (self.station.launch.max_cost_usd or 0.0) - self._earlier_usd
        return spent_usd(bills, ahead_at) >= limit_usd - self._usd_of(LEAVE_SECONDS) * self.station.workers

    def look_for_idle(self) -> None:
        """Machines that could not leave go on with their own shares; what they cost beyond, those who work have less."""
        self._idle_at = self.station.clock.monotonic()
        idle = self._bills.idle(self.station.launch.launch)
        self.kept = self._bill is not None and self._bill.machine in idle
        self.trapped = self.limited and bool(idle)
        if not self.trapped:
            self._debt_usd = 0.0
            return
        ahead_at = self.station.store.now() + IDLE_LOOK_SECONDS + RENEW_SECONDS
        bills = [going_on(bill, idle, ahead_at) for bill in self._bills.of_launch(self.station.launch.id)]
        chains = [chain for (_, rank), chain in lives(bills).items() if f"{rank}-{chain[-1].number}" in idle]
        machine_usd = self._share_usd * self.station.asked.per_machine
        rate_usd = self.station.launch.usd_per_hour / 3600
        over_usd = sum(max(0.0, sum(seconds_of(chain, ahead_at)) * rate_usd - machine_usd) for chain in chains)
        working = self.station.launch.workers - len(chains)
        self._debt_usd = over_usd / max(1, working) / self.station.asked.per_machine

    @property
    def _share_usd(self) -> float:
        return ((self.station.launch.max_cost_usd or 0.0) - self._earlier_usd) / self.station.workers

    @property
    def _usable_usd(self) -> float:
        """A worker's share, without what is held back."""
        return self._share_usd - self._held_back_usd

    @property
    def _usd_min(self) -> float:
        return self._usd_of(WORK_SECONDS_MIN)

    def _usd_of(self, seconds: float) -> float:
        return self.usd_per_hour * seconds / 3600
