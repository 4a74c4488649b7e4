"""What a sweep has cost: every worker on a rented machine keeps a bill of its own in the home, as long as it lives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from outlast.errors import KeyMissing
from outlast.folder.folder import Folder
from outlast.folder.layout import SweepKeys
from outlast.folder.sweep_records import Bill


class Bills:
    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.keys = SweepKeys(folder.job)

    def write(self, machine: str, bill: Bill) -> None:
        self.folder.rewrite(self.keys.bill(machine), bill)

    def read(self, machine: str) -> Bill | None:
        try:
            return self.folder.read(Bill, self.keys.bill(machine))
        except KeyMissing:
            return None

    def of_launch(self, launch_id: str, worker: int | None = None) -> list[Bill]:
        """Of all its workers, or of those machines that one of them has had."""
        who = f"{launch_id}-" if worker is None else f"{launch_id}-{worker}-"
        return list(self._read(f"{self.keys.bills}{who}"))

    def of_other_launches(self, launch_id: str) -> list[Bill]:
        return list(self._read(self.keys.bills, without=f"{self.keys.bills}{launch_id}-"))

    def spent_usd(self, now: float) -> float:
        """By all launches."""
        return spent_usd(self._read(self.keys.bills), now)

    def _read(self, prefix: str, without: str | None = None) -> Iterator[Bill]:
        for entry in self.folder.store.list(prefix):
            if without is None or not entry.key.startswith(without):
                yield self.folder.read(Bill, entry.key)


def spent_usd(bills: Iterable[Bill], now: float) -> float:
    """A machine that several share is paid for until the last of them has left."""
    shared: dict[tuple[int, str], list[Bill]] = {}
    for bill in bills:
        shared.setdefault((bill.launch, bill.machine), []).append(bill)
    return sum(_machine_usd(one, now) for one in shared.values())


def _machine_usd(bills: list[Bill], now: float) -> float:
    seconds = min(now, max(one.until for one in bills)) - min(one.began_at for one in bills)
    return max(0.0, seconds) * sum(one.usd_per_hour for one in bills) / 3600
