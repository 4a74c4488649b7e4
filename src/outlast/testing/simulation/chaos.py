"""Faults that come at a moment: which, when and to whom is the seed's choice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from outlast.testing.simulation.history import Event, Write
from outlast.testing.simulation.machine import SimulatedMachine
from outlast.testing.simulation.options import BLOWS, WEATHER

if TYPE_CHECKING:
    from outlast.testing.simulation.world import World

AGENT_STOPPED_SECONDS_MAX = 600.0
SUSPENDED_SECONDS_MAX = 900.0
OUTAGE_SECONDS_MAX = 400.0

AIMED = ("preempted", "agent", "machine")


class Chaos:
    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.chaos_random
        self.blows = [kind for kind in BLOWS if kind in world.options.chances]
        self.damaged: set[str] = set()
        """Keys of parts that were damaged behind everybody's back, at most one checkpoint's in a schedule."""

    def begin(self) -> None:
        world = self.world
        if world.options.skew_seconds >= 300.0:
            world.history.fault("clock skew")
        world.schedule.after(world.options.storm_at, self._storm)
        if self.blows:
            self._plan()
        if world.options.aim:
            world.history.listeners.append(self._aim_at_writer)
            world.history.watchers.append(self._aim_at_trainer)
        world.schedule.after(world.options.fault_seconds, self._end)

    def _storm(self) -> None:
        world = self.world
        if world.faults_on:
            (
                world.weather.error_chance,
                world.weather.lost_chance,
                world.weather.late_chance,
                world.weather.slow_chance,
            ) = (world.options.chances.get(kind, 0.0) for kind in WEATHER)

    def _plan(self) -> None:
        self.world.schedule.after(self.random.expovariate(1.0 / self.world.options.blow_seconds), self._strike)

    def _strike(self) -> None:
        if not self.world.faults_on:
            return
        kind = self.random.choice(self.blows)
        if self._blow(kind):
            self.world.history.fault(kind)
        self._plan()

    def _aim_at_writer(self, write: Write) -> None:
        if write.by.startswith("laptop"):
            self._aim(write.by, ("laptop",))
        elif write.key == self.world.keys.head:
            self._aim(write.by.split("/", 1)[0], AIMED)

    def _aim_at_trainer(self, event: Event) -> None:
        if event.kind in ("exit", "told"):
            self._aim(event.machine, AIMED)

    def _aim(self, who: str, prefixes: tuple[str, ...]) -> None:
        """Strikes the one who has just done something that matters."""
        aimed = [kind for kind in self.blows if kind.startswith(prefixes)]
        if aimed and self.world.faults_on and self.random.random() < self.world.options.aim:
            kind, seconds = self.random.choice(aimed), self.random.uniform(0.0, self.random.choice((0.3, 1.5)))
            self.world.schedule.after(seconds, lambda: self._hit(kind, who))

    def _hit(self, kind: str, who: str) -> None:
        if not self.world.faults_on:
            return
        if kind.startswith("laptop"):
            struck = self.world.users.strike(kind, self.random, who)
        else:
            machines = [machine for machine in self.world.cloud.alive() if machine.uid == who]
            struck = bool(machines) and self._strike_machine(kind, machines[0])
        if struck:
            self.world.history.fault(kind)

    def _blow(self, kind: str) -> bool:
        """False: there was nothing to strike."""
        if kind.startswith("store"):
            return self._strike_store(kind)
        if kind.startswith("laptop"):
            return self.world.users.strike(kind, self.random)
        if kind == "damaged part":
            return self._damage()
        machines = [machine for machine in self.world.cloud.alive() if machine.up_at is not None]
        if not machines:
            return False
        return self._strike_machine(kind, self.random.choice(machines))

    def _strike_store(self, kind: str) -> bool:
        weather, seconds = self.world.weather, self.random.uniform(5.0, OUTAGE_SECONDS_MAX)
        field = "down" if kind == "store outage" else "full"
        setattr(weather, field, True)
        self.world.quiet_until = max(self.world.quiet_until, self.world.schedule.now + seconds)
        self.world.schedule.after(seconds, lambda: setattr(weather, field, False))
        return True

    def _strike_machine(self, kind: str, machine: SimulatedMachine) -> bool:
        if kind.startswith("preempted"):
            seconds = float(kind.split()[1])
            if seconds:
                machine.give_notice(seconds)
            else:
                machine.die("preempted")
        elif kind == "agent killed":
            machine.kill_agent()
        elif kind == "agent stopped":
            machine.stop_agent(self._until_end(5.0, AGENT_STOPPED_SECONDS_MAX))
            self._perhaps_replace(machine)
        elif kind == "machine suspended":
            machine.suspend(self._until_end(5.0, SUSPENDED_SECONDS_MAX), clock_stops=self.random.random() < 0.5)
            self._perhaps_replace(machine)
        else:
            machine.cut_off(self._until_end(10.0, SUSPENDED_SECONDS_MAX))
            self._perhaps_replace(machine)
        return True

    def _until_end(self, low: float, high: float) -> float:
        """No fault lasts beyond the end of the faults."""
        return min(self.random.uniform(low, high), self.world.faults_end_at - self.world.schedule.now)

    def _perhaps_replace(self, machine: SimulatedMachine) -> None:
        if self.random.random() < self.world.options.replaced:
            seconds = self.random.uniform(5.0, 60.0)
            self.world.schedule.after(seconds, lambda: self.world.cloud.replace(machine) if machine.alive else None)

    def _damage(self) -> bool:
        """One part of the newest checkpoint in head, if an older one does not share it."""
        head = self.world.bucket.peek(self.world.keys.head)
        if head is None or self.damaged:
            return False
        kept = json.loads(head)["checkpoints"]
        if len(kept) < 2:
            return False
        names = [self._parts(one["name"]) for one in kept]
        own = sorted(names[-1] - set().union(*names[:-1]))
        if not own:
            return False
        key = self.random.choice(own)
        self.world.bucket.damage(key)
        self.damaged.add(key)
        return True

    def _parts(self, name: str) -> set[str]:
        manifest = self.world.bucket.peek(self.world.keys.manifest(name))
        return (
            set()
            if manifest is None
            else {part["key"] for file in json.loads(manifest)["files"] for part in file["parts"]}
        )

    def _end(self) -> None:
        """From here on everything works: what is left must end well, and soon."""
        self.world.end_faults()
