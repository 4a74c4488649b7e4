"""What a user's jobs have met in a region, and the order in which its zones, and several regions, are tried because of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from outlast.dataclass import dataclass, replace
from outlast.errors import OutlastError
from outlast.folder.records import Head, LaunchRecord
from outlast.folder.zone_memory import read_memory, tell_end, tell_stockout, what_is_rented
from outlast.folder.zone_records import Met, RegionMemory
from outlast.spec.spec import Machine

if TYPE_CHECKING:
    from outlast.catalog.table import Catalog
    from outlast.jobs.job import Job
    from outlast.jobs.world import World

FRESH_SECONDS = 3600.0
"""So long after a stock-out a place is tried after all others; what was sold out is back within hours, or it is not."""

RECENT_SECONDS = 24 * 3600.0
"""So long it is tried after those that had capacity."""

LIVES_MIN = 2
"""Fewer machines than this say nothing about a zone."""


@dataclass(frozen=True)
class Ordered:
    machine: Machine
    note: str = ""


def memories(world: World, home: str | None, regions: Iterable[str]) -> tuple[dict[str, RegionMemory], float]:
    """Of each region, and the home's time; none, where the home cannot be read: nobody needs this to rent a machine."""
    try:
        store = world.home(home).store
        return {region: read_memory(store, region) for region in regions}, store.now()
    except OutlastError:
        return {}, 0.0


def ordered(machine: Machine, met: Mapping[str, RegionMemory], known: Catalog, now: float) -> Ordered:
    """Zones and regions that have failed lately are tried later; those of which nothing is known keep their order."""
    assert machine.rented is not None
    what = what_is_rented(machine)
    rented = machine.rented
    zones = sorted(rented.zones, key=lambda zone: _rank(zone, what, met, known, now))
    by_region = {region: [zone for zone in zones if zone.rpartition("-")[0] == region] for region in rented.regions}

    def region_rank(region: str) -> int:
        """As good as its best zone."""
        own = _met(region, what, met)
        ranks = [_out_rank(_met(zone, what, met), now) for zone in by_region[region]] or [0]
        return max(min(ranks), _out_rank(own, now))

    regions = tuple(sorted(rented.regions, key=region_rank))
    note = ""
    if regions != rented.regions:
        note = f"`{rented.regions[0]}` had no `{rented.machine_type}` lately: `{regions[0]}` is tried first"
    return Ordered(replace(machine, rented=replace(rented, regions=regions, zones=tuple(zones))), note)


def _rank(zone: str, what: str, met: Mapping[str, RegionMemory], known: Catalog, now: float) -> tuple[int, float]:
    """Stock-outs first; then the share of machines that were taken away in an hour, or as Google tells it."""
    own = _met(zone, what, met)
    told = known.history.get(zone, {}).get(what.partition(" ")[0])
    rate = float(told[0]) if told and told[0] is not None else 0.0
    if own is not None and own.machines >= LIVES_MIN and own.lived_seconds > 0:
        rate = own.taken / (own.lived_seconds / 3600)
    return _out_rank(own, now), round(rate, 2)


def _met(place: str, what: str, met: Mapping[str, RegionMemory]) -> Met | None:
    region = place if place in met else place.rpartition("-")[0]
    return met[region].met.get(f"{place} {what}") if region in met else None


def _out_rank(own: Met | None, now: float) -> int:
    if own is None or own.out_at is None:
        return 0
    seconds = now - own.out_at
    return 2 if seconds < FRESH_SECONDS else 1 if seconds < RECENT_SECONDS else 0


def remember_stockout(job: Job, record: LaunchRecord) -> None:
    """Of a launch that has waited long enough to move."""
    if record.machine.rented is None:
        return
    try:
        tell_stockout(job.folder.store, record, job.folder.store.now())
    except OutlastError:
        return  # it orders what is tried next, and nothing depends on it


def remember_end(job: Job, record: LaunchRecord, head: Head) -> None:
    """Of a launch that is over, unless its machine has told it."""
    if record.machine.rented is None:
        return
    store = job.folder.store
    try:
        tell_end(store, record, head, job.folder.keys.boots(record.launch), store.now())
    except OutlastError:
        return
