"""The simulated cloud: groups of machines that replace their dead, late starts, no capacity, boots that fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from outlast.dataclass import dataclass
from outlast.engines.engine import Capabilities, Condition, Launch, LaunchState, Room
from outlast.errors import OutlastError
from outlast.spec.spec import Machine
from outlast.testing.simulation.clock import EPOCH
from outlast.testing.simulation.history import Event
from outlast.testing.simulation.machine import SimulatedMachine

if TYPE_CHECKING:
    from outlast.testing.simulation.world import World

BOOTS_MAX = 3


@dataclass
class Group:
    """The machines of one launch. `machines[rank]` is the one that the engine takes for the rank's own."""

    launch: Launch
    machines: dict[int, SimulatedMachine | None] = field(default_factory=dict)
    failed_boots: dict[int, int] = field(default_factory=dict)
    ended: bool = False
    boot_failed: bool = False
    waiting: set[int] = field(default_factory=set)


class Cloud:
    """What is really there. `forgetful`: a stopped launch leaves no trace, so that a start on its way is carried out all the same."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.groups: dict[str, Group] = {}
        self.machines: list[SimulatedMachine] = []
        """Every one that ever was; also those that the engine has given up."""

        self.coming = 0
        """Calls that were sent and are not carried out yet."""

        self._numbers = 0

    def alive(self) -> list[SimulatedMachine]:
        return [machine for machine in self.machines if machine.alive]

    def busy(self) -> bool:
        """Something is alive, or will be."""
        return bool(self.coming) or any(not group.ended for group in self.groups.values()) or bool(self.alive())

    def start(self, launch: Launch, who: str) -> None:
        group = self.groups.get(launch.id)
        self._event("start", launch, detail=who)
        if group is not None and (not group.ended or not self.world.options.forgetful_engine):
            return
        if launch.deadline_at - EPOCH <= self.world.schedule.now:
            return
        group = self.groups[launch.id] = Group(launch)
        self._event("started", launch)
        for rank in range(launch.workers):
            self._fill(group, rank, first=True)
        self.world.schedule.at(launch.deadline_at - EPOCH, lambda: self._expire(group))

    def stop(self, launch: Launch) -> None:
        group = self.groups.get(launch.id)
        self._event("stop", launch)
        if group is None:
            if not self.world.options.forgetful_engine:
                self.groups[launch.id] = Group(launch, ended=True)
            return
        self._end(group, "stopped")

    def state(self, launch: Launch) -> LaunchState:
        group = self.groups.get(launch.id)
        if group is None or (group.ended and not group.boot_failed):
            return LaunchState(Condition.ABSENT)
        if group.boot_failed:
            return LaunchState(Condition.BOOT_FAILED, "its machines died before the agent was up")
        machines = tuple(
            machine.name for machine in group.machines.values() if machine is not None and machine.up_at is not None
        )
        if machines:
            return LaunchState(Condition.RUNNING, machines=machines)
        if group.waiting:
            return LaunchState(Condition.WAITING, "no capacity")
        return LaunchState(Condition.STARTING)

    # What machines tell.

    def left(self, machine: SimulatedMachine, *, done: bool) -> None:
        group = self.groups.get(machine.launch_id)
        if group is None:
            return
        if done:
            self._end(group, f"{machine.uid} left done")
        else:
            self.lost(machine)

    def lost(self, machine: SimulatedMachine) -> None:
        group = self.groups.get(machine.launch_id)
        if group is not None and not group.ended and group.machines.get(machine.rank) is machine:
            group.machines[machine.rank] = None
            self._fill(group, machine.rank, first=False)

    def replace(self, machine: SimulatedMachine) -> None:
        """The engine takes a machine that still lives for dead, and makes another one of the same name."""
        self.world.history.fault("duplicate machine", machine.uid)
        self.lost(machine)

    def delete_by_name(self, launch_id: str, rank: int, asker: str) -> None:
        """What nobody may do: the machine of that name may be the asker's successor."""
        group = self.groups.get(launch_id)
        machine = None if group is None else group.machines.get(rank)
        if machine is not None:
            machine.die(f"deleted by {asker}")

    # How a group lives.

    def _fill(self, group: Group, rank: int, *, first: bool) -> None:
        world = self.world
        group.waiting.discard(rank)
        if group.ended:
            return
        if world.capacity_missing(rank):
            group.waiting.add(rank)
            world.schedule.after(world.random.uniform(5.0, 30.0), lambda: self._fill(group, rank, first=first))
            return
        delay = world.random.uniform(2.0, 20.0) if not world.faults_on else world.random.uniform(1.0, 60.0)
        self._numbers += 1
        machine = SimulatedMachine(world, self, group.launch, rank, self._numbers)
        self.machines.append(machine)
        group.machines[rank] = machine
        self._event("boots", group.launch, rank, machine.uid)
        fails = world.boot_fails(group.launch.launch)
        world.schedule.after(delay, lambda: self._booted(group, machine, fails))

    def _booted(self, group: Group, machine: SimulatedMachine, fails: bool) -> None:
        if not machine.alive:
            return
        rank = machine.rank
        if not fails:
            group.failed_boots[rank] = 0
            machine.boot()
            return
        self.world.history.fault("boot failed", machine.uid)
        group.failed_boots[rank] = group.failed_boots.get(rank, 0) + 1
        if group.failed_boots[rank] >= BOOTS_MAX:
            group.boot_failed = True
            self._event("boots spent", group.launch, rank)
            self._end(group, "boots spent")
        machine.die("boot failed")

    def _end(self, group: Group, why: str) -> None:
        if group.ended:
            return
        group.ended = True
        self._event("group ended", group.launch, detail=why)
        for machine in group.machines.values():
            if machine is not None:
                machine.die(f"group ended: {why}")

    def _expire(self, group: Group) -> None:
        """The cloud's own timer, for a dead agent: it takes the given-up machines too."""
        self._end(group, "deadline")
        for machine in self.alive():
            if machine.launch_id == group.launch.id:
                machine.die("deadline")

    def _event(self, kind: str, launch: Launch, rank: int = -1, machine: str = "", detail: str = "") -> None:
        self.world.history.happened(Event(self.world.schedule.now, kind, launch.id, rank, machine, detail))


class SimulatedEngine:
    """The cloud as one command sees it: calls take time, fail, or are carried out minutes later."""

    name = "simulated"
    capabilities = Capabilities(gpus=False, same_machine=True, preempts=True)

    def __init__(self, world: World, who: str) -> None:
        self._world = world
        self._who = who

    def room(self, machine: Machine) -> Room:
        return Room(machine.cpus, "a simulation")

    def check(self, machine: Machine, workers: int) -> None:
        return

    def start(self, launch: Launch) -> None:
        world = self._world
        delay = world.random.uniform(0.1, world.options.engine_seconds)
        if world.happens("late start"):
            delay = world.random.uniform(30.0, 400.0)
            world.history.fault("late start", launch.id)
            self._later(delay, lambda: world.cloud.start(launch, "nobody any more"), waits=world.random.random() < 0.5)
            return
        self._later(delay, lambda: world.cloud.start(launch, self._who), waits=True)

    def state(self, launch: Launch) -> LaunchState:
        self._world.schedule.sleep(self._world.random.uniform(0.05, 0.5))
        self._may_fail("state")
        return self._world.cloud.state(launch)

    def stop(self, launch: Launch) -> None:
        self._later(self._world.random.uniform(0.1, 2.0), lambda: self._world.cloud.stop(launch), waits=True)

    def enter(
        self, launch: Launch, command: tuple[str, ...], ports: tuple[int, ...], worker: int | None = None
    ) -> list[str] | None:
        return None

    def preempt(self, launch: Launch, *, notice_seconds: float) -> bool:
        group = self._world.cloud.groups.get(launch.id)
        machines = [] if group is None else [one for one in group.machines.values() if one is not None and one.alive]
        for machine in machines:
            machine.give_notice(notice_seconds)
        self._world.schedule.sleep(notice_seconds + 0.1)
        return bool(machines)

    def _later(self, delay: float, effect: Callable[[], None], *, waits: bool) -> None:
        """Sent: it will be carried out, whatever becomes of the caller; the caller may never hear of it."""
        self._may_fail("call")
        cloud = self._world.cloud
        cloud.coming += 1

        def carry_out() -> None:
            cloud.coming -= 1
            effect()

        self._world.schedule.after(delay, carry_out)
        self._world.schedule.sleep(delay + 0.05 if waits else 0.2)
        self._may_fail("answer")

    def _may_fail(self, what: str) -> None:
        if self._world.happens("engine call failed"):
            self._world.history.fault("engine call failed", f"{self._who} {what}")
            raise OutlastError("the engine does not answer")
