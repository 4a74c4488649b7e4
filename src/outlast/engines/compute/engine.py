"""The compute engine: a managed group of Google's keeps a launch's machines alive, and they end it themselves.

Nothing of ours runs anywhere else. Every resource has a name that follows from the launch's id, so that two who start the same launch
make it once; whoever stops it leaves a template behind that says so, and nobody starts it afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import cached_property

from outlast.clock import Clock
from outlast.engines.compute import names
from outlast.engines.compute.group import Group
from outlast.engines.compute.looking import complaint, look
from outlast.engines.compute.lost import Lost, lost_at_end
from outlast.engines.compute.making import make
from outlast.engines.compute.managed import place_of, there_by_rank
from outlast.engines.compute.requests import told
from outlast.engines.compute.room import ROOM_UNKNOWN, room
from outlast.engines.compute.shell import Proxy, ssh_command
from outlast.engines.compute.taking import take
from outlast.engines.engine import Capabilities, Launch, LaunchState, Room
from outlast.engines.renting import check_rented
from outlast.errors import NoCapacity, OutlastError
from outlast.google.compute_project import ComputeProject
from outlast.google.connect import connect
from outlast.google.errors import ApiError
from outlast.google.transport import Transport
from outlast.spec.spec import Machine

PLATFORM = "linux-x86_64"
WORKERS_MAX = 1000


class ComputeEngine:
    name = "compute"
    capabilities = Capabilities(
        gpus=True,
        same_machine=False,
        preempts=True,
        platform=PLATFORM,
        rents=True,
        shares=True,
    )

    def __init__(self, clock: Clock, environ: Mapping[str, str] = os.environ, *, program: str = "") -> None:
        """`program`: `module:function` that runs on its machines instead of the agent."""
        self.clock = clock
        self.program = program
        self.environ = environ
        self._taken: set[str] = set()
        """Machines that this process has taken away: Google may call them running for minutes."""

    @cached_property
    def transport(self) -> Transport:
        return connect(self.environ)

    def check(self, machine: Machine, workers: int) -> None:
        if workers > WORKERS_MAX:
            raise NoCapacity(f"{workers:,} machines are more than the {WORKERS_MAX:,} of one group")
        check_rented(machine)

    def room(self, machine: Machine) -> Room:
        """By quotas; whether there is capacity is not known before it is asked for."""
        if machine.rented is None:
            return Room(ROOM_UNKNOWN, "unless `--parallel` says more")
        rented = machine.rented
        project = ComputeProject(self.transport, rented.project)
        with told(f"quotas of `{rented.regions[0]}`"):
            try:
                return room(machine, project.region_quotas(rented.regions[0]) or (), project.quotas(), WORKERS_MAX)
            except ApiError as error:
                if error.status != 403:
                    raise
        return Room(ROOM_UNKNOWN, "nobody may look at the quotas; `--parallel` says more")

    # A launch.

    def start(self, launch: Launch) -> None:
        group = self._group(launch)
        self.check(launch.machine, launch.workers)
        bucket = names.bucket_of(launch.home)
        if not launch.agent:
            raise OutlastError(f"launch `{launch.id}` names no agent for its machines")
        with told(f"launch `{launch.id}` in `{group.region}`, home `{bucket.name}`"):
            if group.is_stopped():
                return
            found = group.get()
            if found is not None:
                group.refill(found)
                return
            make(group, self.transport.endpoints, self.environ, self.program)
            if group.is_stopped():
                group.delete()

    def state(self, launch: Launch) -> LaunchState:
        group = self._group(launch)
        with told(_doing(group)):
            return look(group, self.transport, self._taken)

    def stop(self, launch: Launch) -> None:
        group = self._group(launch)
        with told(_doing(group)):
            try:
                if not group.is_stopped():
                    group.leave_word()
            except ApiError as error:
                if error.status == 404 and group.get() is None:
                    return  # there is no such project any more, or never was: nothing can be in it
                raise
            group.delete()
            group.wait_until_gone()
            group.delete_templates()

    def tidy(self, launch: Launch, *, marker_too: bool) -> None:
        """Of a launch whose group is gone: the templates, which its machine may not delete. `marker_too`: no start can come any more."""
        group = self._group(launch)
        with told(_doing(group)):
            if group.get() is not None:
                return
            group.delete_templates()
            if marker_too and group.is_stopped():
                group.delete_word()

    def send_away(self, launch: Launch, idle: Collection[str]) -> list[str]:
        """Machines that are not needed any more and may not leave, as `LaunchState.idle` names them; those that were there."""
        group = self._group(launch)
        with told(f"sending away what launch `{launch.id}` in `{group.region}` does not need any more"):
            return group.send_away(idle)

    def complaint(self, launch: Launch) -> str:
        """What keeps its machines, which are up, from their work, as they say themselves; empty: nothing that they know."""
        group = self._group(launch)
        with told(_doing(group)):
            return complaint(group, self.transport)

    def lost(self, launch: Launch, there_until: float | None = None) -> Lost:
        """Machines of a launch that is over after which nobody came up. `there_until`: when its end found some of them still there."""
        return lost_at_end(self.transport, launch.home, launch.boots, there_until)

    # People.

    def enter(
        self, launch: Launch, command: tuple[str, ...], ports: tuple[int, ...], worker: int | None = None
    ) -> list[str] | None:
        at = self.first_machine(launch) if worker is None else self.machine(launch, worker // launch.slots)
        if at is None:
            return None
        proxy = Proxy.of(self.transport.endpoints, self.environ)
        return ssh_command(self._group(launch).rented.project, *at, command, ports, proxy, worker)

    def first_machine(self, launch: Launch) -> tuple[str, str] | None:
        """Its zone and name; None: none runs."""
        return self.machine(launch, None)

    def machine(self, launch: Launch, rank: int | None) -> tuple[str, str] | None:
        """The zone and the name of one; None: the first that runs."""
        group = self._group(launch)
        with told(_doing(group)):
            there = there_by_rank(group.managed())
        found = there.get(rank if rank is not None else min(there, default=0))
        return place_of(found) if found is not None else None

    # Drills.

    def preempt(self, launch: Launch, *, notice_seconds: float) -> bool:
        group = self._group(launch)
        with told(_doing(group)):
            return take(group, self.transport, self._taken, notice=notice_seconds > 0)

    def _group(self, launch: Launch) -> Group:
        return Group(self.transport, launch, self.clock)


def _doing(group: Group) -> str:
    return f"launch `{group.launch.id}` in `{group.region}`"
