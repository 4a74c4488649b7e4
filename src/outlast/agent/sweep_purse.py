"""What a worker of a sweep may spend: its share, so that the limit of the whole holds although nobody watches it."""

from __future__ import annotations

from collections.abc import Iterable

from outlast.folder import cost
from outlast.folder.records import LaunchRecord
from outlast.folder.sweep_records import Row

WORK_SECONDS_MIN = 60.0
"""Who has money for less does not begin a cell."""

LEAVE_SECONDS = 60.0
LEAVE_SHARE = 0.1
"""What is held back of a worker's share, for the time between its last cell and its machine's end: so long, or that much of it."""


class Purse:
    def __init__(self, launch: LaunchRecord, workers: int, worker: int) -> None:
        self.launch = launch
        self.workers = workers
        self.worker = worker
        self.earlier_usd = 0.0
        """Spent by earlier launches."""

        self._by_worker: dict[int, float] = {}

    def count(self, rows: Iterable[Row], earlier_usd: float = 0.0) -> None:
        """Anew, by all rows that there are. `earlier_usd`: of turns before this one."""
        self.earlier_usd, self._by_worker = earlier_usd, {}
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        for who, usd in row.usd_by_worker.items():
            launch, _, worker = who.partition("-")
            if int(launch) == self.launch.launch:
                self._by_worker[int(worker)] = self._by_worker.get(int(worker), 0.0) + usd
            else:
                self.earlier_usd += usd

    @property
    def mine_usd(self) -> float:
        return self._by_worker.get(self.worker, 0.0)

    @property
    def left_usd(self) -> float:
        return self._left(self.worker)

    def empty(self) -> bool:
        return self.launch.max_cost_usd is not None and self.left_usd < self._usd_min

    def others_have_some(self) -> bool:
        return any(self._left(worker) >= self._usd_min for worker in range(self.workers) if worker != self.worker)

    def _left(self, worker: int) -> float:
        share = ((self.launch.max_cost_usd or 0.0) - self.earlier_usd) / self.workers
        held_back = min(self.usd_of(LEAVE_SECONDS), LEAVE_SHARE * max(0.0, share))
        return share - held_back - self._by_worker.get(worker, 0.0)

    def usd_of(self, seconds: float) -> float:
        """One worker's part of what the machines cost."""
        return self.launch.usd_per_hour * self.launch.workers / self.workers * seconds / 3600

    @property
    def _usd_min(self) -> float:
        return self.usd_of(WORK_SECONDS_MIN + cost.BOOT_SECONDS)


def share_usd_min(usd_per_hour: float) -> float:
    """The smallest share with which a worker begins a cell at all, if its part of a machine costs so much."""
    return usd_per_hour * (WORK_SECONDS_MIN + cost.BOOT_SECONDS) / 3600 / (1 - LEAVE_SHARE)
