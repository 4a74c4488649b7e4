"""What a sweep has cost: every worker on a rented machine keeps a bill of its own in the home, as long as it lives.

A bill is paid before it is used: no machine lives longer than the newest that it has written says. Machines of one place in a group
follow one another, so that the life of each ends when that of the next begins, at the latest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from outlast.dataclass import dataclass, replace
from outlast.errors import KeyMissing
from outlast.folder.folder import Folder
from outlast.folder.layout import JobKeys, SweepKeys
from outlast.folder.sweep_records import Bill
from outlast.pattern import pattern

UNBILLED_SECONDS_MAX = 1800.0
"""A machine whose boot was counted and that never wrote a bill has lived so long at most."""

_BILL = pattern(r"(\d{1,9})-(\d{1,9})\.(json|spare)")
_IDLE = pattern(r"(\d{1,6}-\d{1,9})-spare")


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

    def write_spare(self, machine: str) -> None:
        self.folder.store.put(self.keys.spare(machine), b"")

    def gone(self, launch_id: str) -> frozenset[int]:
        """Workers of that launch that have left, and in whose places nobody comes: by one list, and the newest machine of each."""
        newest: dict[int, tuple[int, bool]] = {}
        before = f"{self.keys.bills}{launch_id}-"
        for entry in self.folder.store.list(before):
            if found := _BILL.fullmatch(entry.key[len(before) :]):
                machine = int(found[2]), found[3] == "spare"
                newest[int(found[1])] = max(machine, newest.get(int(found[1]), machine))
        return frozenset(worker for worker, (_, spare) in newest.items() if spare)

    def of_launch(self, launch_id: str) -> list[Bill]:
        """Of all its workers and all their machines."""
        return list(self._read(f"{self.keys.bills}{launch_id}-"))

    def of_other_launches(self, launch_id: str) -> list[Bill]:
        return list(self._read(self.keys.bills, without=f"{self.keys.bills}{launch_id}-"))

    def spent_usd(self, now: float) -> float:
        """By all launches. `now`: when the sweep has ended, if it has."""
        bills = list(self._read(self.keys.bills))
        newest = max((one.launch for one in bills), default=0)
        idle = self.idle(newest) if newest else frozenset()
        return spent_usd([going_on(one, idle, now) if one.launch == newest else one for one in bills], now)

    def idle(self, launch: int) -> frozenset[str]:
        """Machines that were not needed any more and could not leave, as their startup script says: they are paid for all the same.

        It says why they could not. A container that is spare says nothing, and ends.
        """
        before = JobKeys(self.folder.job).boots(launch)
        names = (entry.key[len(before) :] for entry in self.folder.store.list(before) if entry.bytes)
        return frozenset(found[1] for name in names if (found := _IDLE.fullmatch(name)))

    def _read(self, prefix: str, without: str | None = None) -> Iterator[Bill]:
        for entry in self.folder.store.list(prefix):
            if entry.key.endswith(".json") and (without is None or not entry.key.startswith(without)):
                yield self.folder.read(Bill, entry.key)


def going_on(bill: Bill, idle: frozenset[str], until: float) -> Bill:
    """The bill of a machine that could not leave ends when somebody looks."""
    return replace(bill, until=max(bill.until, until)) if bill.machine in idle else bill


@dataclass(frozen=True)
class Life:
    """One machine's, by the bills of those who share it."""

    number: int
    """Counts the machines of its place."""

    began_at: float
    until: float
    usd_per_hour: float
    unbilled_seconds: float = 0.0


def lives(bills: Iterable[Bill]) -> dict[tuple[int, int], list[Life]]:
    """(Launch, rank) -> its machines, one after another."""
    shared: dict[tuple[int, int], dict[int, list[Bill]]] = {}
    for bill in bills:
        rank, _, number = bill.machine.partition("-")
        shared.setdefault((bill.launch, int(rank)), {}).setdefault(int(number), []).append(bill)
    return {place: [_life(number, found[number]) for number in sorted(found)] for place, found in shared.items()}


def _life(number: int, bills: list[Bill]) -> Life:
    """A machine that several share is paid for until the last of them has left."""
    began_at, until = min(one.began_at for one in bills), max(one.until for one in bills)
    unbilled = max(one.unbilled_seconds for one in bills)
    return Life(number, began_at, until, sum(one.usd_per_hour for one in bills), unbilled)


def seconds_of(chain: list[Life], until: float) -> list[float]:
    """For how long each was paid for at most, until then, with what nobody knows of those before it."""
    ends = [life.began_at for life in chain[1:]] + [until] * bool(chain)
    return [
        max(0.0, min(life.until, end, until) - life.began_at) + life.unbilled_seconds
        for life, end in zip(chain, ends, strict=True)
    ]


def unbilled_seconds(chain: list[Life], number: int, began_at: float, launched_at: float) -> float:
    """Of machines whose boots were counted between the last one with a bill and this one."""
    last = max((life for life in chain if life.number < number), key=lambda life: life.number, default=None)
    missing = number - 1 - (last.number if last is not None else 0)
    since = last.until if last is not None else launched_at
    return min(missing * UNBILLED_SECONDS_MAX, max(0.0, began_at - since))


def spent_usd(bills: Iterable[Bill], now: float) -> float:
    return sum(
        seconds * life.usd_per_hour / 3600
        for chain in lives(bills).values()
        for life, seconds in zip(chain, seconds_of(chain, now), strict=True)
    )
