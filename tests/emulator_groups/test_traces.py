"""Availability traces: the synthetic ones, and how one is replayed."""

from __future__ import annotations

import itertools
from dataclasses import fields
from pathlib import Path

import pytest

from outlast_emulator.compute import traces_synthetic
from outlast_emulator.compute.traces_synthetic import SHIPPED, changed, made
from outlast_emulator.switches import Switches
from tests.emulator_groups.conftest import World
from tests.waiting import until

ZONES = ("us-central1-a", "us-central1-b", "us-central1-c")


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_a_shipped_trace_is_the_same_for_ever_and_begins_with_room_everywhere(name: str) -> None:
    events = made(SHIPPED[name], ZONES, 7)
    assert events == made(SHIPPED[name], ZONES, 7)
    assert events != made(SHIPPED[name], ZONES, 8)
    assert {event.zone for event in events if event.at_seconds == 0.0 and event.machines} == set(ZONES)
    assert [event.at_seconds for event in events] == sorted(event.at_seconds for event in events)


def test_the_times_with_and_without_room_have_the_means_that_were_asked_for() -> None:
    parameters = changed("rough", {"seconds": 3_000_000, "up_seconds": 300, "down_seconds": 100})
    events = made(parameters, ZONES[:1], 1)
    ups = [after.at_seconds - one.at_seconds for one, after in itertools.pairwise(events) if one.machines]
    downs = [after.at_seconds - one.at_seconds for one, after in itertools.pairwise(events) if not one.machines]
    assert sum(ups) / len(ups) == pytest.approx(300, rel=0.1)
    assert sum(downs) / len(downs) == pytest.approx(100, rel=0.1)


def test_a_bathtub_has_many_early_ends() -> None:
    parameters = changed("bathtub", {"seconds": 30_000_000})
    events = made(parameters, ZONES[:1], 1)
    ups = [after.at_seconds - one.at_seconds for one, after in itertools.pairwise(events) if one.machines]
    assert sum(one < 1200 for one in ups) / len(ups) == pytest.approx(0.42, abs=0.07)


def test_a_storm_takes_all_zones_at_once() -> None:
    events = made(SHIPPED["storms"], ZONES, 3)
    moments = [event.at_seconds for event in events if not event.machines]
    assert any(moments.count(moment) == len(ZONES) for moment in moments)


def test_tides_take_one_zone_after_the_other() -> None:
    events = made(SHIPPED["tides"], ZONES, 3)
    first = [next(event.at_seconds for event in events if event.zone == zone and not event.machines) for zone in ZONES]
    assert first == sorted(first) and len(set(first)) == len(ZONES)


def test_the_guide_names_every_trace_that_ships_and_every_switch_of_groups() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "emulator.md").read_text()
    names = [*SHIPPED, *(one.name for one in fields(Switches) if one.name.startswith(("group_", "notice_", "zone_")))]
    assert [name for name in names if f"`{name}`" not in guide] == []


def test_a_trace_or_parameter_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="there are bathtub, busy, calm"):
        changed("other", {})
    with pytest.raises(ValueError, match=r"no `up`; there are .*up_seconds"):
        changed("busy", {"up": 1})
    with pytest.raises(ValueError, match="`up_seconds` takes a number"):
        changed("busy", {"up_seconds": "long"})


def test_a_zone_that_loses_its_room_preempts_and_the_group_moves(world: World) -> None:
    world.template()
    world.group()
    (first,) = world.running()
    events = [{"at_seconds": 0, "zone": first.zone, "machines": 0}]
    world.compute.traces.play({"events": events, "seconds": 1_000_000})
    second = world.successor(first)
    assert second.zone != first.zone
    assert world.compute.capacity.rules()[0]["machines"] == 0
    world.compute.traces.stop()
    assert world.compute.capacity.rules() == []
    assert world.compute.traces.shown()["playing"] is None


def test_a_zone_with_less_room_keeps_its_oldest_machines(world: World) -> None:
    world.template()
    world.group(size=3)
    oldest = world.running(3)[0]
    events = [{"at_seconds": 0, "zone": oldest.zone, "machines": 1}]
    world.compute.traces.play({"events": events, "seconds": 1_000_000})
    until(lambda: sum(one.zone == oldest.zone for one in world.instances()) == 1)
    assert world.compute.instances.fresh(oldest) is not None


def test_a_trace_goes_on_where_it_was_after_a_restart_and_ends(world: World) -> None:
    events = [
        {"at_seconds": 0, "zone": "us-central1-a", "machines": 0},
        {"at_seconds": 200, "zone": "us-central1-a", "machines": 5},
    ]
    world.compute.traces.play({"events": events, "name": "mine"})
    until(lambda: world.compute.traces.shown()["playing"]["played"] == 1)
    world.reborn()
    until(lambda: world.compute.traces.shown()["playing"] is None)
    assert world.compute.capacity.rules() == []


def test_a_repeated_trace_begins_again(world: World) -> None:
    shown = world.compute.traces.play(
        {"name": "rough", "seconds": 20, "up_seconds": 2, "down_seconds": 2, "repeat": True, "zones": ["us-central1-a"]}
    )
    assert shown["playing"]["parameters"]["up_seconds"] == 2
    first = world.compute.traces._playing()["began_at"]
    until(lambda: world.compute.traces._playing()["began_at"] > first)
    assert traces_synthetic.SHIPPED["rough"].up_seconds == 300.0
