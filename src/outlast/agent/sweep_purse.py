"""What a worker of a sweep may spend: its share, so that the limit of the whole holds although nobody watches it.

What counts is the life of its machines, from their first second to their last, whatever they did in it: the worker keeps a bill in the
home, some time ahead, and whoever comes in its place goes on from there.
"""

from __future__ import annotations

from dataclasses import replace

from outlast.agent.standing import AWAY
from outlast.agent.station import Station
from outlast.folder import cost
from outlast.folder.bills import Bills, spent_usd
from outlast.folder.records import Head
from outlast.folder.sweep_records import Bill

WORK_SECONDS_MIN = 60.0
"""Who has money for less does not begin a cell."""

START_SECONDS = 10.0
"""From a machine's boot to its first cell, at least."""

LEAVE_SECONDS = 60.0
LEAVE_SHARE = 0.1
"""What is held back of a worker's share, for the time between its last cell and its machine's end: so long, or that much of it."""

RENEW_SECONDS = 30.0
AHEAD_SECONDS = 45.0
"""How often a bill is renewed, and how far ahead of its time it is."""

FIRST_AHEAD_SECONDS = 120.0
"""At first further: who makes an environment or fetches a dataset renews nothing meanwhile."""

GONE_SECONDS = 15.0
"""From a worker's last word to the end of its machine."""


class Purse:
    def __init__(self, station: Station) -> None:
        self.station = station
        self.usd_per_hour = station.launch.usd_per_hour / station.asked.per_machine
        """0: nothing is paid for, and nothing written."""

        self.limited = station.launch.max_cost_usd is not None and self.usd_per_hour > 0
        self._bills = Bills(station.folder)
        self._bill: Bill | None = None
        self._written_at = self._born_at = station.clock.monotonic()
        self._earlier_usd = 0.0
        """Spent by other launches."""

        self._before_usd = 0.0
        """Spent in this worker's place, by machines before this one."""

    def open(self) -> None:
        """Before anything is done on this machine; again after any StoreUnavailable."""
        if not self.usd_per_hour or self._bill is not None:
            return
        station, now = self.station, self.station.store.now()
        known = self._bills.read(station.machine)  # of an earlier life of this agent
        lived_seconds = station.clock.monotonic() - self._born_at
        bill = Bill(
            launch=station.launch.launch,
            worker=station.worker,
            machine=f"{station.worker // station.asked.per_machine}-{station.machine.rpartition('-')[2]}",
            usd_per_hour=self.usd_per_hour,
            began_at=known.began_at if known is not None else now - lived_seconds - cost.BOOT_SECONDS,
            until=now + FIRST_AHEAD_SECONDS,
        )
        self._write(bill)
        if self.limited:
            before = [
                one
                for one in self._bills.of_launch(station.launch.id, station.worker)
                if (one.machine, one.began_at) != (bill.machine, bill.began_at)
            ]
            self._before_usd = sum(map(_usd, before))
            self._earlier_usd = spent_usd(self._bills.of_other_launches(station.launch.id), now)
        self._bill = bill

    def renew_if_due(self) -> None:
        if self.station.clock.monotonic() - self._written_at >= RENEW_SECONDS:
            self._renew(AHEAD_SECONDS)

    def close(self) -> None:
        """The worker leaves."""
        try:
            self._renew(GONE_SECONDS)
        except AWAY:
            pass  # then it is as it was, which is too much rather than too little

    def _renew(self, ahead_seconds: float) -> None:
        if self._bill is not None:
            self._bill = replace(self._bill, until=self.station.store.now() + ahead_seconds)
            self._write(self._bill)

    def _write(self, bill: Bill) -> None:
        clock = self.station.clock
        wait = self._written_at + self.station.store.rewrite_seconds - clock.monotonic() if self._bill else 0.0
        if wait > 0:
            clock.sleep(wait)
        self._bills.write(self.station.machine, bill)
        self._written_at = clock.monotonic()

    # What is left.

    @property
    def left_usd(self) -> float:
        assert self._bill is not None
        own = max(0.0, self.station.store.now() - self._bill.began_at) * self.usd_per_hour / 3600
        return self._usable_usd - self._before_usd - own

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

    def overdrawn(self) -> bool:
        """This machine alone has cost more than the worker's share, as far as is known without the home."""
        lived_seconds = self.station.clock.monotonic() - self._born_at + cost.BOOT_SECONDS
        return self.limited and self._usd_of(lived_seconds) > self._usable_usd

    def others_have_some(self) -> bool:
        """By their bills. Its own is renewed before: of two that come to their ends at once, one sees the other's."""
        self._renew(AHEAD_SECONDS)
        spent: dict[int, float] = dict.fromkeys(range(self.station.workers), 0.0)
        for bill in self._bills.of_launch(self.station.launch.id):
            spent[bill.worker] += _usd(bill)
        return any(
            self._usable_usd - usd >= self._usd_min for worker, usd in spent.items() if worker != self.station.worker
        )

    @property
    def _usable_usd(self) -> float:
        """A worker's share, without what is held back."""
        share = ((self.station.launch.max_cost_usd or 0.0) - self._earlier_usd) / self.station.workers
        return share - min(self._usd_of(LEAVE_SECONDS), LEAVE_SHARE * max(0.0, share))

    @property
    def _usd_min(self) -> float:
        return self._usd_of(WORK_SECONDS_MIN)

    def _usd_of(self, seconds: float) -> float:
        return self.usd_per_hour * seconds / 3600


def _usd(bill: Bill) -> float:
    return max(0.0, bill.until - bill.began_at) * bill.usd_per_hour / 3600


def share_usd_min(usd_per_hour: float) -> float:
    """The smallest share with which a worker begins a cell at all, if its part of a machine costs so much."""
    return usd_per_hour * (cost.BOOT_SECONDS + START_SECONDS + WORK_SECONDS_MIN) / 3600 / (1 - LEAVE_SHARE)
