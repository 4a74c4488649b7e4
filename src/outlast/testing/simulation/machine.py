"""A simulated machine: a disk, an init that restarts its agent, and all the ways in which it can go away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.engines.engine import Launch
from outlast.errors import StoreError
from outlast.testing.simulation.child import SimulatedChild
from outlast.testing.simulation.clock import EPOCH, SimulatedClock
from outlast.testing.simulation.history import Event
from outlast.testing.simulation.schedule import Actor
from outlast.testing.simulation.store import Cut

if TYPE_CHECKING:
    from outlast.testing.simulation.engine import Cloud
    from outlast.testing.simulation.world import World

AGENT_CRASHES_MAX = 20
"""An agent that ends so often by an error of the store is restarted no more; the check on liveness will tell."""


class SimulatedMachine:
    """`name` is the same for every machine that ever stands at this rank of the launch; `uid` is this one's alone."""

    def __init__(self, world: World, cloud: Cloud, launch: Launch, rank: int, number: int) -> None:
        self.world = world
        self.cloud = cloud
        self.launch = launch
        self.launch_id = launch.id
        self.rank = rank
        self.name = f"{launch.id}-{rank}"
        self.uid = f"{self.name}#{number}"
        self.alive = True
        self.up_at: float | None = None
        self.suspended = False
        self.quiet_until = 0.0
        """Until then nobody can expect anything of it: it was suspended, cut off, or its agent was stopped or dead."""

        self.cut = Cut()
        skew = world.options.skew_seconds
        self.clock = SimulatedClock(
            world.schedule, skew_seconds=world.random.uniform(-skew, skew), boot_seconds=world.schedule.now
        )
        self.child = SimulatedChild(self)
        self._leave_by: float | None = None
        self._agent: Actor | None = None
        self._agents = 0
        self._crashes = 0

    # Its life.

    def boot(self) -> None:
        self.up_at = self.world.schedule.now
        self._event("up")
        self._start_agent()

    def _start_agent(self) -> None:
        if not self.alive:
            return
        self._agents += 1
        name = self.uid if self._agents == 1 else f"{self.uid}/{self._agents}"
        self._agent = self.world.schedule.spawn(name, lambda: self.world.serve(self, name), self._agent_ended)
        if self.suspended:
            self.world.schedule.pause(self._agent)

    def _agent_ended(self, actor: Actor) -> None:
        if not self.alive:
            return
        if actor.error is None:
            self.leave(done=bool(actor.result))
            return
        if not isinstance(actor.error, StoreError):
            self.world.history.violated(f"the agent on {self.uid} crashed: {actor.error!r}")
        self._crashes += 1
        if self._crashes < AGENT_CRASHES_MAX:
            self.world.schedule.after(self.world.random.uniform(0.5, 3.0), self._start_agent)

    def leave(self, *, done: bool) -> None:
        self._event("left", detail="done" if done else "again")
        self._gone()
        self.cloud.left(self, done=done)

    def die(self, why: str) -> None:
        """At once, with its disk."""
        if self.alive:
            self._event("died", detail=why)
            self._gone()
            self.cloud.lost(self)

    def _gone(self) -> None:
        self.alive = False
        if self._agent is not None:
            self.world.schedule.kill(self._agent)
        self.child.refresh()

    # What may befall it.

    def kill_agent(self) -> None:
        """init notices, and starts another one that finds the disk as it was."""
        if self._agent is not None and self._agent.alive:
            self.world.schedule.kill(self._agent)
            self._event("agent killed")
            restart = self.world.random.uniform(0.2, 5.0)
            self._be_quiet(restart)
            self.world.schedule.after(restart, self._start_agent)

    def stop_agent(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT later; the trainer goes on."""
        agent = self._agent
        if agent is not None and agent.alive:
            self.world.schedule.pause(agent)
            self._be_quiet(seconds)
            self.world.schedule.after(seconds, lambda: None if self.suspended else self.world.schedule.unpause(agent))

    def suspend(self, seconds: float, *, clock_stops: bool) -> None:
        if self.suspended:
            return
        self.suspended = True
        self._event("suspended", detail=f"for {seconds:.0f} s")
        self._be_quiet(seconds)
        if self._agent is not None:
            self.world.schedule.pause(self._agent)
        self.child.refresh()
        began = self.world.schedule.now

        def wake() -> None:
            if self.alive and self.suspended:
                self.suspended = False
                self._event("wakes")
                if clock_stops:
                    self.clock.suspended_seconds += self.world.schedule.now - began
                if self._agent is not None:
                    self.world.schedule.unpause(self._agent)
                self.child.refresh()

        self.world.schedule.after(seconds, wake)

    def cut_off(self, seconds: float) -> None:
        self.cut.on = True
        self._event("cut off", detail=f"for {seconds:.0f} s")
        self._be_quiet(seconds)

        def mend() -> None:
            self.cut.on = False

        self.world.schedule.after(seconds, mend)

    def give_notice(self, seconds: float) -> None:
        if self._leave_by is None:
            self._leave_by = self.world.schedule.now + seconds
            self._event("notice", seconds=seconds)
            self.child.woken()
            self.world.schedule.after(seconds, lambda: self.die("preempted"))

    def notice_seconds(self) -> float | None:
        return None if self._leave_by is None else self._leave_by - self.world.schedule.now

    def _be_quiet(self, seconds: float) -> None:
        self.quiet_until = max(self.quiet_until, self.world.schedule.now + seconds)

    @property
    def deadline_at(self) -> float:
        """By the world's own time."""
        return self.launch.deadline_at - EPOCH

    def _event(self, kind: str, *, detail: str = "", seconds: float = 0.0) -> None:
        self.world.history.happened(
            Event(self.world.schedule.now, kind, self.launch_id, self.rank, self.uid, detail, seconds=seconds)
        )
