"""What jobs have met in a zone is told once, kept small, and orders what is tried next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from outlast.catalog.table import Catalog, shipped
from outlast.errors import PreconditionFailed
from outlast.folder import layout, zone_memory
from outlast.folder.records import Attempt, Cause, Head, LaunchRecord, State
from outlast.folder.zone_memory import machine_lives, read_memory, tell_end, tell_stockout, what_is_rented
from outlast.jobs.zones import ordered
from outlast.spec.spec import Machine, Rented
from outlast.store.memory import MemoryStore

REGION = "us-central1"
BOOTS = "jobs/j/launches/000001/boots/"
NOW = 1_000_000.0


def machine(*regions: str, zones: tuple[str, ...] = (), **more: Any) -> Machine:
    rented = Rented(project="p", regions=regions or (REGION,), machine_type="n2-standard-8", zones=zones, **more)
    return Machine(8, 0, rented)


def record(launch_id: str = "aa", **more: Any) -> LaunchRecord:
    return LaunchRecord(1, launch_id, "compute", 1, machine(**more), 0.0, 100.0, "bundle", usd_per_hour=0.25)


def head(**attempts: Attempt) -> Head:
    numbered = {name.removeprefix("n"): one for name, one in attempts.items()}
    return Head("j", 1, "aa", State.SUCCEEDED, "bundle", attempts=numbered, ended_at=900.0)


def attempt(name: str, begins: float, ends: float | None, cause: Cause | None, launch: int = 1) -> Attempt:
    return Attempt(launch, begins, machine=name, ended_at=ends, cause=cause)


def test_attempts_on_one_machine_are_one_life_and_one_that_vanished_was_taken() -> None:
    lived = machine_lives(
        head(
            n1=attempt("aa-0-1", 0.0, 50.0, Cause.FAILED),
            n2=attempt("aa-0-1", 60.0, 100.0, Cause.PREEMPTED),
            n3=attempt("aa-0-2", 120.0, None, None),
            n4=attempt("aa-0-3", 300.0, 900.0, Cause.SUCCEEDED),
            n5=attempt("bb-0-1", 950.0, 990.0, Cause.SUCCEEDED, launch=2),
        ),
        1,
    )
    assert [(one.machine, one.seconds, one.taken) for one in lived] == [
        ("aa-0-1", 100.0, True),
        ("aa-0-2", 180.0, True),
        ("aa-0-3", 600.0, False),
    ]


def test_a_launch_is_told_once_with_the_zones_that_its_machines_named() -> None:
    store = MemoryStore()
    store.put(f"{BOOTS}0-1-up", b"us-central1-b", if_generation=0)
    store.put(f"{BOOTS}0-2-up", b"\xff", if_generation=0)
    ended = head(
        n1=attempt("aa-0-1", 0.0, 100.0, Cause.PREEMPTED),
        n2=attempt("aa-0-2", 120.0, 150.0, Cause.PREEMPTED),
        n3=attempt("aa-0-3", 160.0, 900.0, Cause.SUCCEEDED),
    )
    assert tell_end(store, record(), ended, BOOTS, NOW)
    assert not tell_end(store, record(), ended, BOOTS, NOW + 1)
    memory = read_memory(store, REGION)
    zone, region = (memory.met[f"{place} n2-standard-8 spot"] for place in ("us-central1-b", REGION))
    assert (zone.machines, zone.taken, zone.lived_seconds, zone.usd_per_hour) == (1, 1, 100.0, 0.25)
    assert (region.machines, region.taken, region.lived_seconds) == (2, 1, 770.0), "of unknown zones"
    assert memory.told == ("aa",)


def test_stock_outs_are_counted_by_launch_and_by_zone() -> None:
    store = MemoryStore()
    assert tell_stockout(store, record("aa", zones=("us-central1-a", "us-central1-b")), NOW)
    assert not tell_stockout(store, record("aa", zones=("us-central1-c",)), NOW + 5)
    assert tell_stockout(store, record("bb", zones=("us-central1-a", "europe-west4-a")), NOW + 9)
    assert tell_stockout(store, record("cc"), NOW + 10)
    met = read_memory(store, REGION).met
    counted = {one.place: (one.stockouts, one.out_at) for one in met.values()}
    assert counted == {
        "us-central1-a": (2, NOW + 9),
        "us-central1-b": (1, NOW),
        REGION: (1, NOW + 10),
    }


def test_the_record_stays_small() -> None:
    store = MemoryStore()
    for number in range(zone_memory.MET_KEPT + 20):
        one = record(f"{number:04d}")
        assert one.machine.rented is not None
        rented = replace(one.machine.rented, machine_type=f"n2-standard-{number}")
        tell_stockout(store, replace(one, machine=replace(one.machine, rented=rented)), NOW + number)
    memory = read_memory(store, REGION)
    assert len(memory.met) == zone_memory.MET_KEPT and len(memory.told) == zone_memory.TOLD_KEPT
    assert min(one.seen_at for one in memory.met.values()) == NOW + 20, "the newest are kept"
    assert len(store.get(layout.zones(REGION)).data) < 64_000


class Contested(MemoryStore):
    """Somebody else is faster, so many times."""

    def __init__(self, lost: int) -> None:
        super().__init__()
        self.lost = lost

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        if self.lost:
            self.lost -= 1
            raise PreconditionFailed(key)
        return super().put(key, data, if_generation=if_generation)


@pytest.mark.parametrize(
    ("lost", "told"), [(0, True), (zone_memory.TRIES_MAX - 1, True), (zone_memory.TRIES_MAX, False)]
)
def test_whoever_is_late_tries_again_and_then_leaves_it(lost: int, told: bool) -> None:
    store = Contested(lost)
    assert tell_stockout(store, record(), NOW) is told
    assert bool(read_memory(store, REGION).met) is told


def test_a_record_that_is_damaged_is_as_good_as_none_and_is_not_written_over() -> None:
    store = MemoryStore()
    store.put(layout.zones(REGION), b"{", if_generation=0)
    assert read_memory(store, REGION).met == {}
    assert not tell_stockout(store, record(), NOW)
    assert store.get(layout.zones(REGION)).data == b"{"


def met(*told: tuple[str, list[str], float]) -> dict[str, Any]:
    """(launch, zones, seconds ago) of stock-outs."""
    store = MemoryStore()
    for launch_id, zones, ago in told:
        region = zones[0].rpartition("-")[0]
        one = replace(record(launch_id), machine=machine(region, zones=tuple(zones)))
        tell_stockout(store, one, NOW - ago)
    return {region: read_memory(store, region) for region in (REGION, "us-east1")}


ZONES = tuple(f"us-central1-{letter}" for letter in "abcf")


def test_zones_without_capacity_are_tried_last_and_the_rest_keep_their_order() -> None:
    one = machine(zones=ZONES)
    told = met(("aa", ["us-central1-a"], 60.0), ("bb", ["us-central1-b"], 7200.0), ("cc", ["us-central1-c"], 2e5))
    found = ordered(one, told, shipped(), NOW).machine.rented
    assert found is not None
    assert [zone[-1] for zone in found.zones] == ["c", "f", "b", "a"], "a day later it is forgotten"
    assert ordered(one, {}, shipped(), NOW).machine == one


def test_another_machine_or_another_way_to_rent_it_is_another_matter() -> None:
    told = met(("aa", ["us-central1-a"], 60.0))
    on_demand = machine(zones=ZONES, spot=False)
    assert ordered(on_demand, told, shipped(), NOW).machine == on_demand
    larger = machine(zones=ZONES)
    assert larger.rented is not None
    larger = replace(larger, rented=replace(larger.rented, machine_type="n2-standard-16"))
    assert ordered(larger, told, shipped(), NOW).machine == larger
    attached = machine(accelerator="nvidia-tesla-t4")
    assert what_is_rented(replace(attached, gpus=2)) == "n2-standard-8+2xnvidia-tesla-t4 spot"


def test_zones_where_machines_live_longer_come_first() -> None:
    store = MemoryStore()
    for number, (letter, seconds) in enumerate((("a", 600.0), ("a", 600.0), ("b", 7200.0), ("b", 7200.0))):
        store.put(f"{BOOTS}0-{number}-up", f"us-central1-{letter}".encode(), if_generation=0)
        ended = head(
            n1=attempt(f"x-0-{number}", 0.0, seconds, Cause.PREEMPTED),
            n2=attempt("x-0-99", seconds, seconds + 1, Cause.SUCCEEDED),
        )
        tell_end(store, record(f"launch{number}"), ended, BOOTS, NOW)
    one = machine(zones=ZONES[:2])
    found = ordered(one, {REGION: read_memory(store, REGION)}, shipped(), NOW).machine.rented
    assert found is not None and [zone[-1] for zone in found.zones] == ["b", "a"]


def test_what_google_tells_of_a_zone_counts_where_nothing_was_met() -> None:
    document = {"us-central1-a": {"n2-standard-8": [0.4, 0.2, "2026-11-01"]}}
    known: Catalog = shipped()
    kept, known.history = known.history, {**known.history, **document}
    try:
        found = ordered(machine(zones=ZONES), {}, known, NOW).machine.rented
    finally:
        known.history = kept
    assert found is not None and [zone[-1] for zone in found.zones] == ["b", "c", "f", "a"]


def test_a_region_whose_every_zone_failed_is_tried_after_the_next_and_that_is_said() -> None:
    zones = (*ZONES[:2], "us-east1-b")
    one = machine(REGION, "us-east1", zones=zones)
    some = ordered(one, met(("aa", ["us-central1-a"], 60.0)), shipped(), NOW)
    assert some.machine.rented is not None and some.machine.rented.regions == (REGION, "us-east1") and not some.note
    every = ordered(one, met(("aa", ["us-central1-a", "us-central1-b"], 60.0)), shipped(), NOW)
    assert every.machine.rented is not None and every.machine.rented.regions == ("us-east1", REGION)
    assert "`us-central1` had no `n2-standard-8` lately: `us-east1` is tried first" in every.note
