"""What a job has cost: the time of its machines at the price that each was rented for. Pure functions of head."""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.folder.records import Attempt, Head, LaunchRecord

BOOT_SECONDS = 45.0
"""From the first second of a rented machine that is paid for to the beginning of its attempt."""


@dataclass(frozen=True)
class Rent:
    """What an hour of all machines of a launch costs together, and how much the job may."""

    usd_per_hour: float = 0.0
    usd_per_hour_on_demand: float = 0.0
    max_cost_usd: float | None = None
    after_usd: float = 0.0
    """What the machines cost after the end, while they linger."""

    before_usd: float = 0.0
    """What machines have cost that were to be in the place of this one and never came up."""


def rent_of(launch: LaunchRecord) -> Rent:
    rented = launch.machine.rented
    if rented is None:
        return Rent()
    return Rent(
        usd_per_hour=rented.usd_per_hour * launch.workers,
        usd_per_hour_on_demand=rented.usd_per_hour_on_demand * launch.workers,
        max_cost_usd=launch.max_cost_usd,
        after_usd=rented.usd_per_hour * launch.workers * rented.linger_seconds / 3600,
    )


def lost_usd(launch: LaunchRecord, machines: int, seconds: float) -> float:
    """So many machines that never came up, and have lived so long together after their boot."""
    rented = launch.machine.rented
    return 0.0 if rented is None else (seconds + machines * BOOT_SECONDS) * rented.usd_per_hour / 3600


def waited_usd(head: Head, number: int, rent: Rent, survivors: int, workers: int) -> float:
    """So many machines of the attempt before have waited until this one could begin."""
    before, this = head.attempts.get(str(number - 1)), head.attempts[str(number)]
    if before is None or before.launch != this.launch or before.ended_at is None:
        return 0.0
    return max(0.0, this.started_at - before.ended_at) * survivors / workers * rent.usd_per_hour / 3600


def spent_usd(head: Head, now: float) -> float:
    """By all attempts, those of earlier launches too, and by machines beside them."""
    paid = sum(seconds * one.usd_per_hour for one, seconds in _paid(head, now)) / 3600
    return paid + sum(head.beside_usd.values())


def on_demand_usd(head: Head, now: float) -> float:
    """The same time on machines that nobody takes away."""
    return sum(seconds * one.usd_per_hour_on_demand for one, seconds in _paid(head, now)) / 3600


def seconds_left(head: Head, rent: Rent, now: float) -> float | None:
    """How long the machines may still be paid for; None: no sum limits that."""
    if rent.max_cost_usd is None or not rent.usd_per_hour:
        return None
    return (rent.max_cost_usd - rent.after_usd - spent_usd(head, now)) / rent.usd_per_hour * 3600


def work_seconds(head: Head | None, rent: Rent, now: float, early_seconds: float, early_share: float) -> float | None:
    """How long a machine that is rented now could work, until it is told to leave; None: no sum limits that."""
    if rent.max_cost_usd is None or not rent.usd_per_hour:
        return None
    left = (rent.max_cost_usd - rent.after_usd - (spent_usd(head, now) if head else 0.0)) / rent.usd_per_hour * 3600
    early = min(early_seconds, early_share * rent.max_cost_usd / rent.usd_per_hour * 3600)
    return left - early - BOOT_SECONDS


def too_dear(head: Head, rent: Rent, now: float) -> str:
    """Why the job may not go on; empty: it may."""
    left = seconds_left(head, rent, now)
    return "" if left is None or left > 0 else reached(rent)


def reached(rent: Rent) -> str:
    usd = rent.max_cost_usd or 0.0
    return f"its limit of ${usd:,.2f} is reached" if usd >= 0.01 else f"its limit of ${usd:.3g} is reached"


def _paid(head: Head, now: float) -> list[tuple[Attempt, float]]:
    """Each attempt, and for how long its machines were paid for. What was not rented has no price."""
    paid = []
    machine = ""
    for number in sorted(head.attempts, key=int):
        one = head.attempts[number]
        booted = BOOT_SECONDS if one.machine != machine else 0.0
        machine = one.machine
        ended_at = one.ended_at if one.ended_at is not None else now
        paid.append((one, max(0.0, ended_at - one.started_at) + booted))
    return paid
