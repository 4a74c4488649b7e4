"""What jobs have met where they rented: stock-outs, how long machines lived, prices. One small record for each region of a home.

It orders what is tried next and decides nothing: whoever cannot read or write it goes on without. A launch is told of once, at its end
(and once when it finds no capacity), whoever tells first: one write, not one for each attempt.
"""

from __future__ import annotations

from collections.abc import Callable

from outlast.dataclass import dataclass, replace
from outlast.errors import Damaged, KeyMissing, NewerFormat, PreconditionFailed
from outlast.folder import layout
from outlast.folder.records import Cause, Head, LaunchRecord
from outlast.folder.zone_records import Met, RegionMemory
from outlast.spec.record import decode, encode
from outlast.spec.spec import Machine
from outlast.store.store import Store

TRIES_MAX = 3
"""A sweep's machines may end at the same moment: who is late a third time leaves it."""

LIVES_TOLD_MAX = 50
"""Of one launch: each is looked up once."""

TOLD_KEPT = 64
MET_KEPT = 200
"""The newest of each, so that the record stays small."""


@dataclass(frozen=True)
class Life:
    """One machine's, from its first attempt to its end."""

    machine: str
    seconds: float
    taken: bool
    """Its provider, and not its job, ended it."""


def what_is_rented(machine: Machine) -> str:
    """`g2-standard-8 spot`, `n1-standard-8+2xnvidia-tesla-t4 on-demand`: what capacity is asked for."""
    rented = machine.rented
    assert rented is not None
    gpus = f"+{machine.gpus}x{rented.accelerator}" if rented.accelerator and not rented.accelerator_built_in else ""
    return f"{rented.machine_type}{gpus} {'spot' if rented.spot else 'on-demand'}"


def read_memory(store: Store, region: str) -> RegionMemory:
    """Empty, where there is none, or none that can be read."""
    return _read(store, region)[0]


def _read(store: Store, region: str) -> tuple[RegionMemory, int]:
    try:
        stored = store.get(layout.zones(region))
    except KeyMissing:
        return RegionMemory(region), 0
    try:
        memory = decode(RegionMemory, stored.data, layout.zones(region))
    except (Damaged, NewerFormat):
        return RegionMemory(region), -1
    return memory, stored.generation


def tell_stockout(store: Store, record: LaunchRecord, at: float) -> bool:
    """That a launch finds no capacity, in none of the zones that it asks for. False: that was told, or nobody listens."""
    assert record.machine.rented is not None
    region, what = record.machine.rented.regions[0], what_is_rented(record.machine)
    places = sorted({zone for zone in record.machine.rented.zones if zone.rpartition("-")[0] == region}) or [region]

    def change(memory: RegionMemory) -> RegionMemory:
        for place in places:
            met = memory.met.get(f"{place} {what}", Met(place, what))
            met = replace(met, stockouts=met.stockouts + 1, out_at=at, seen_at=at, usd_per_hour=record.usd_per_hour)
            memory = _with(memory, met)
        return memory

    return _tell(store, region, f"{record.id}-out", change)


def tell_end(store: Store, record: LaunchRecord, head: Head, boots: str, at: float) -> bool:
    """How long the machines of a launch lived. `boots`: the beginning of the keys under which they counted their boots."""
    assert record.machine.rented is not None
    region, what = record.machine.rented.regions[0], what_is_rented(record.machine)
    lives = machine_lives(head, record.launch)[-LIVES_TOLD_MAX:]
    if not lives:
        return False

    def change(memory: RegionMemory) -> RegionMemory:
        for life in lives:
            place = _zone_of(store, boots, life.machine, region)
            met = memory.met.get(f"{place} {what}", Met(place, what))
            met = replace(
                met,
                machines=met.machines + 1,
                taken=met.taken + life.taken,
                lived_seconds=round(met.lived_seconds + life.seconds, 3),
                seen_at=at,
                usd_per_hour=record.usd_per_hour,
            )
            memory = _with(memory, met)
        return memory

    return _tell(store, region, record.id, change)


def _zone_of(store: Store, boots: str, machine: str, region: str) -> str:
    """As the machine itself said when it came up; its region, where it said nothing."""
    _, rank, boot = machine.rsplit("-", 2) if machine.count("-") >= 2 else ("", "", "")
    try:
        zone = store.get(f"{boots}{rank}-{boot}-up").data.decode()
    except (KeyMissing, UnicodeDecodeError):
        return region
    return zone if zone.rpartition("-")[0] == region else region


def machine_lives(head: Head, launch: int) -> list[Life]:
    """Attempts on one machine are one life. Of a machine that vanished the next one's beginning is the end that is known."""
    attempts = [one for _, one in sorted(head.attempts.items(), key=lambda item: int(item[0])) if one.launch == launch]
    by_machine: dict[str, list[int]] = {}
    for number, one in enumerate(attempts):
        if one.machine:
            by_machine.setdefault(one.machine, []).append(number)
    lives = []
    for machine, numbers in by_machine.items():
        last = attempts[numbers[-1]]
        after = attempts[numbers[-1] + 1] if numbers[-1] + 1 < len(attempts) else None
        ended_at = last.ended_at or (after.started_at if after else head.ended_at)
        if ended_at is not None:
            taken = after is not None and last.cause in (None, Cause.PREEMPTED, Cause.KILLED)
            lives.append(Life(machine, max(0.0, ended_at - attempts[numbers[0]].started_at), taken))
    return lives


def _with(memory: RegionMemory, met: Met) -> RegionMemory:
    kept = {**memory.met, f"{met.place} {met.what}": met}
    newest = sorted(kept.items(), key=lambda item: -item[1].seen_at)[:MET_KEPT]
    return replace(memory, met=dict(sorted(newest)))


def _tell(store: Store, region: str, mark: str, change: Callable[[RegionMemory], RegionMemory]) -> bool:
    for _ in range(TRIES_MAX):
        memory, generation = _read(store, region)
        if mark in memory.told or generation < 0:
            return False
        changed = replace(change(memory), told=(*memory.told, mark)[-TOLD_KEPT:])
        try:
            store.put(layout.zones(region), encode(changed), if_generation=generation)
        except PreconditionFailed:
            continue
        return True
    return False
