"""Seeded disorder: whatever happens to a group's machines, it comes to rest with all of them, and leaves nothing when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

import pytest

from outlast_emulator.compute import instances
from outlast_emulator.compute.resources import Instance
from outlast_emulator.errors import ApiError
from tests.emulator_groups.conftest import PROJECT, World, spot
from tests.waiting import until

SEEDS = range(12)
EVENTS = 25
ZONES = ("us-central1-a", "us-central1-b", "us-central1-c")


class Schedule:
    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = Random(seed)
        self.size = self.random.randint(1, 4)
        world.clock.scale = 0.002
        world.switches.status_lag_seconds = self.random.choice((0.0, 210.0))
        world.switches.delete_seconds = self.random.choice((0.0, 2.0, 30.0))
        action = self.random.choice(("STOP", "DELETE"))
        notice = self.random.choice(({}, {"preemptionNoticeDuration": {"seconds": "120"}}))
        world.template(scheduling=spot(instanceTerminationAction=action, **notice))
        moves = self.random.choice((True, False))
        policy = {"forceUpdateOnRepair": "YES", "onRepair": {"allowChangingZone": "YES"}} if moves else {}
        world.group(size=self.size, instanceLifecyclePolicy=policy)

    def happen(self) -> None:
        kinds = (
            self.preempt,
            self.end,
            self.delete,
            self.exhaust,
            self.restore,
            self.recreate,
            self.resize,
            self.restart,
        )
        self.random.choices(kinds, weights=(6, 4, 3, 3, 3, 2, 2, 1))[0]()
        assert_one_of_each(self.world)

    def preempt(self) -> None:
        self._try(lambda one: self.world.compute.preemption.preempt(one, self.random.choice((None, 0, 30, 120))))

    def end(self) -> None:
        why = self.random.choice((instances.GUEST, instances.HOST_ERROR, instances.STOPPED))
        self._try(lambda one: self.world.compute.instances.end(one, why, grace_seconds=0))

    def delete(self) -> None:
        self._try(self.world.compute.instances.delete)

    def exhaust(self) -> None:
        self.world.compute.capacity.exhaust(zone=self.random.choice(ZONES), machines=self.random.randint(0, 2))

    def restore(self) -> None:
        self.world.compute.capacity.restore()

    def recreate(self) -> None:
        self._try(lambda one: self.world.compute.groups.recreate_instances(self.world.found(), [one.url]))

    def resize(self) -> None:
        self.size = self.random.randint(1, 4)
        self.world.compute.groups.resize(self.world.found(), self.size)

    def restart(self) -> None:
        self.world.reborn()

    def _try(self, act: Callable[[Instance], None]) -> None:
        """What is not there or not ready any more is no error of the schedule's."""
        found = self.world.instances()
        if not found:
            return
        try:
            act(self.random.choice(found))
        except ApiError as error:
            assert error.status in (400, 404), error


def assert_one_of_each(world: World) -> None:
    """Never two machines of one name, whatever their zones; never more members than there may be."""
    staying: list[Instance] = [one for one in world.instances() if "ending" not in one.state]
    names = [one.name for one in staying]
    assert len(names) == len(set(names)), names
    group = world.found()
    assert len({member.name for member in group.members}) == len(group.members)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_comes_to_rest_and_ends_without_a_trace(world: World, seed: int) -> None:
    schedule = Schedule(world, seed)
    for _ in range(EVENTS):
        schedule.happen()
        time.sleep(schedule.random.uniform(0, 0.06))  # the pace of the disorder: nothing waits for anything here
    world.compute.capacity.restore()
    rested = world.running(schedule.size)
    assert len(rested) == schedule.size == len(world.found().members)
    assert sorted(one.name for one in rested) == sorted(member.name for member in world.found().members)
    group = world.found()
    operation = world.compute.operations.begin("delete", group.resource)
    world.compute.groups.delete(group, operation)
    until(lambda: not world.compute.groups.all(PROJECT), "the group never ended")
    assert world.instances() == []
    assert world.compute.resources.list("disks", PROJECT) == []
    ended = world.compute.resources.by_id(operation.id)
    assert ended is not None and ended.status == "DONE"
    assert world.compute.usage.alive() == []
