"""Deadlines, slots and the queue of the local engine."""

from __future__ import annotations

import signal

import pytest

from outlast.engines.engine import Condition
from outlast.engines.local.life import DEADLINE_MARGIN_SECONDS
from outlast.errors import NoCapacity, UsageError
from outlast.testing.engine_place import Place, alive, ended, running, until
from tests.engines.local_parts import machine_of, standing_still, start_running, supervisor


def test_a_machine_past_its_deadline_is_ended(place: Place) -> None:
    engine = place.engine()
    launch = place.launch("wait", seconds=4.0 - DEADLINE_MARGIN_SECONDS)  # the margin will have passed soon
    engine.start(launch)
    until(lambda: place.events(launch, "boot"), "it began")
    until(lambda: ended(engine, launch), "it was ended")
    assert "deadline" in engine.state(launch).why
    assert not any(alive(pid) for _, pid in place.events(launch, "boot"))


def test_a_launch_whose_deadline_passes_while_it_waits_never_begins(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "1")
    engine, first = start_running(place)
    late = place.launch("wait", seconds=0.5 - DEADLINE_MARGIN_SECONDS)
    engine.start(late)
    until(lambda: ended(engine, late), "it was given up")
    assert place.events(late, "boot") == []
    engine.stop(first)


def test_those_that_come_together_are_started_in_the_order_of_their_starts(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "1")
    engine, first = start_running(place)
    launches = [place.launch("finish") for _ in range(12)]
    with standing_still(supervisor(place)):
        for launch in launches:
            engine.start(launch)
    place.let_go(first)
    until(lambda: all(ended(engine, launch) for launch in launches), "all ended")
    moments = [place.moments(launch)[0] for launch in launches]
    assert moments == sorted(moments)


def test_slots_are_given_in_the_order_of_coming(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that needs all is not overtaken by those that need little."""
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "2")
    engine, small = start_running(place)
    large = place.launch("wait", cpus=2)
    after = place.launch("finish")
    engine.start(large)
    engine.start(after)
    until(lambda: engine.state(after).condition is Condition.WAITING, "it waits")
    until(lambda: "2 CPUs: 1 of 2" in engine.state(large).why, "and it is said for what")
    assert not place.events(large, "boot") and not place.events(after, "boot")
    place.let_go(small)
    until(lambda: running(engine, large), "the large one has its turn")
    assert not place.events(after, "boot")
    place.let_go(large)
    until(lambda: ended(engine, after), "then the small one")


def test_each_launch_sees_gpus_of_its_own(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTLAST_LOCAL_GPUS", "0,2,5")
    from dataclasses import replace

    engine = place.engine()
    launches = []
    for gpus in (2, 1, 0):
        launch = place.launch("wait")
        launch = replace(launch, machine=replace(launch.machine, gpus=gpus))
        engine.start(launch)
        launches.append(launch)
    waits = replace(place.launch("wait"), machine=launches[1].machine)
    engine.start(waits)
    until(lambda: all(running(engine, launch) for launch in launches), "three run")
    given = [machine_of(place, launch).read_assignment().gpus for launch in launches]
    assert given == [("0", "2"), ("5",), ()]
    assert not running(engine, waits)
    process = supervisor(place)
    process.send(signal.SIGKILL)
    until(lambda: not process.alive(), "the supervisor is dead")
    engine.stop(launches[1])
    until(lambda: running(engine, waits), "what was freed is given to the next, by the next supervisor")
    assert machine_of(place, waits).read_assignment().gpus == ("5",)
    for launch in (*launches, waits):
        engine.stop(launch)


def test_more_gpus_than_there_are_is_refused_by_name(place: Place) -> None:
    from dataclasses import replace

    launch = place.launch("wait")
    launch = replace(launch, machine=replace(launch.machine, gpus=2))
    with pytest.raises(NoCapacity, match="2 GPUs asked for, this machine has none"):
        place.engine().start(launch)


@pytest.mark.parametrize("launch_id", ["", "../x", "a/b", "a b", "ä", ".", "x" * 101, "a\n"])
def test_an_id_that_is_no_file_name_is_refused(place: Place, launch_id: str) -> None:
    from dataclasses import replace

    launch = replace(place.launch("finish"), id=launch_id)
    for call in (place.engine().start, place.engine().state, place.engine().stop):
        with pytest.raises(UsageError):
            call(launch)
