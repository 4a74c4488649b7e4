"""The compute engine: a managed group of Google's keeps a launch's machines alive, and they end it themselves.

Nothing of ours runs anywhere else. Every resource has a name that follows from the launch's id, so that two who start the same launch
make it once; whoever stops it leaves a template behind that says so, and nobody starts it afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from outlast.clock import Clock
from outlast.engines.compute import bodies, names, troubles
from outlast.engines.compute.boots import Boots, read_boots, read_failed
from outlast.engines.compute.heard import Heard, hear
from outlast.engines.compute.requests import or_none, request_id, told
from outlast.engines.compute.room import ROOM_UNKNOWN, room
from outlast.engines.compute.shell import ssh_command
from outlast.engines.compute.variants import variants
from outlast.engines.engine import Capabilities, Condition, Launch, LaunchState, Room
from outlast.engines.renting import check_rented, region_of, rented_of
from outlast.errors import NoCapacity, OutlastError, StoreUnavailable
from outlast.google.compute import ComputeClient
from outlast.google.compute_building import BuildingClient
from outlast.google.compute_project import ComputeProject
from outlast.google.connect import connect
from outlast.google.errors import ApiError
from outlast.google.storage import StorageClient
from outlast.google.transport import Transport
from outlast.spec.spec import Machine, Rented

PLATFORM = "linux-x86_64"
WORKERS_MAX = 1000
STOP_SECONDS_MAX = 900.0
"""A group of GPU machines takes minutes to go."""

LOOK_SECONDS = (0.2, 5.0)
PREEMPT_SECONDS_MAX = 600.0
TIME_SCALE = "OUTLAST_EMULATOR_TIME_SCALE"
"""An emulator that shortens notices says so; machines must not count on more."""

ON = frozenset({"RUNNING", "STOPPING"})
"""In these something of a machine runs."""

Document = dict[str, Any]


class ComputeEngine:
    name = "compute"
    capabilities = Capabilities(
        restarts_machines=True,
        gpus=True,
        workers_max=WORKERS_MAX,
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

    # Start.

    def start(self, launch: Launch) -> None:
        rented = rented_of(launch)
        self.check(launch.machine, launch.workers)
        bucket = names.bucket_of(launch.home)
        if not launch.agent:
            raise OutlastError(f"launch `{launch.id}` names no agent for its machines")
        client, region = self._client(rented), region_of(launch)
        with told(f"launch `{launch.id}` in `{region}`, home `{bucket.name}`"):
            if self._is_stopped(client, launch):
                return
            group = self._group(client, launch)
            if group is not None:
                self._refill(client, launch, group)
                return
            self._make(client, launch, rented)
            if self._is_stopped(client, launch):
                self._delete(client, launch)

    def _refill(self, client: ComputeClient, launch: Launch, group: Document) -> None:
        """Workers that are independent leave one by one; if the last one was sent away by somebody, nobody has ended the launch."""
        if not _is_empty(launch, group) or (launch.asked_at or self.clock.now()) >= launch.deadline_at:
            return
        try:
            client.resize_group(region_of(launch), names.group_name(launch.id), launch.workers, request_id())
        except ApiError as error:
            if error.status not in (400, 404, 409):  # it is being deleted, or gone
                raise

    def _make(self, client: ComputeClient, launch: Launch, rented: Rented) -> None:
        """The first way of asking that is not refused as wrong. A template of an earlier call, whoever made it, is used as it is."""
        region = region_of(launch)
        refused: ApiError | None = None
        for number, variant in enumerate(variants(spot=rented.spot)):
            metadata = bodies.metadata(
                launch,
                rented,
                storage=self.transport.endpoints.storage,
                group_url=client.group_url(region, names.group_name(launch.id)),
                notice_seconds=variant.notice_seconds,
                time_scale=self._time_scale(),
                environ=self._machines_environ(),
                program=self.program,
            )
            template = bodies.template(launch, rented, variant, number, metadata)
            path = f"projects/{rented.project}/regions/{region}/instanceTemplates/{template['name']}"
            asks = (
                lambda template=template: client.insert_template(region, template, request_id()),
                lambda path=path: client.insert_group(
                    region, bodies.group(launch, rented, path, moves=True), request_id()
                ),
                lambda path=path: client.insert_group(
                    region, bodies.group(launch, rented, path, moves=False), request_id()
                ),
            )
            try:
                self._insert(client, region, asks[0])
            except ApiError as error:
                refused = refused or _if_wrong(error)
                continue
            for ask in asks[1:]:
                try:
                    self._insert(client, region, ask)
                except ApiError as error:
                    refused = refused or _if_wrong(error)
                else:
                    return
        assert refused is not None
        raise refused

    def _insert(self, client: ComputeClient, region: str, ask: Callable[[], Document]) -> None:
        """Returns when it is there, by this call or another one."""
        try:
            operation = self._finished(client, ("regions", region), ask())
        except ApiError as error:
            if error.status == 409:
                return
            raise
        errors = troubles.of_operation(operation)
        if any(error.code == "RESOURCE_ALREADY_EXISTS" for error in errors):
            return
        if errors:
            kind = (
                NoCapacity
                if any(error.code in troubles.QUOTA | troubles.CAPACITY for error in errors)
                else OutlastError
            )
            raise kind(f"in `{region}`: {troubles.told(errors)}", state="nothing was started, nothing is being spent")

    def _finished(self, client: ComputeClient, scope: tuple[str, str], operation: Document) -> Document:
        until = self.clock.monotonic() + STOP_SECONDS_MAX
        while operation.get("status") != "DONE":
            if self.clock.monotonic() >= until:
                raise StoreUnavailable(f"operation `{operation.get('name')}` in `{scope[1]}` does not end")
            operation = client.wait_in(scope, str(operation["name"]))
        return operation

    def _machines_environ(self) -> dict[str, str]:
        """Where Google is, for its machines: they are on the emulator's side when we are."""
        endpoints = self.transport.endpoints
        return {"OUTLAST_EMULATOR": endpoints.storage} if endpoints.emulated else {}

    def _time_scale(self) -> float:
        return float(self.environ.get(TIME_SCALE) or 1.0) if self.transport.endpoints.emulated else 1.0

    # State.

    def state(self, launch: Launch) -> LaunchState:
        rented = rented_of(launch)
        client = self._client(rented)
        with told(f"launch `{launch.id}` in `{region_of(launch)}`"):
            group = self._group(client, launch)
            managed = self._members(client, launch) if group is not None else None
            if group is None or managed is None or (not managed and _is_empty(launch, group)):
                return self._state_without_group(launch)
            troubled = troubles.of_managed(one for one in managed if not _is_there(one))
            final = [one for one in troubled if one.final]
            if final and not (launch.independent and _some_may_come(managed)):
                return LaunchState(Condition.REFUSED, f"in `{region_of(launch)}`: {troubles.told(final)}")
            there = [rank for one in managed if _is_there(one) and (rank := _rank(one)) is not None]
            boots = self._boots(launch, there)
            heard = self._hear(rented, [one for one in managed if _is_there(one) and _rank(one) not in boots.newest])
        if heard.failed:
            return LaunchState(Condition.BOOT_FAILED, heard.failed)
        machines = {rank: f"{launch.id}-{rank}-{boots.newest[rank]}" for rank in there if boots.is_up(rank)}
        running = tuple(machine for machine in machines.values() if machine not in self._taken)
        if running and launch.independent:
            return LaunchState(Condition.RUNNING, _idle(boots, there) or troubles.told(troubled), machines=running)
        if len(running) == launch.workers:
            return LaunchState(Condition.RUNNING, machines=running)
        if there:
            return LaunchState(Condition.STARTING, heard.waits or troubles.told(troubled), machines=running)
        lacking = any(one.code in troubles.CAPACITY for one in troubled)
        return LaunchState(Condition.WAITING, troubles.told(troubled) or "for its machine", lacks_capacity=lacking)

    def _hear(self, rented: Rented, silent: list[Document]) -> Heard:
        """Of the first that runs and has not counted its boot in the home: what keeps it keeps the others."""
        if not silent:
            return Heard()
        return hear(BuildingClient(self.transport, rented.project), *_place(silent[0]))

    def _state_without_group(self, launch: Launch) -> LaunchState:
        bucket = names.bucket_of(launch.home)
        why = read_failed(StorageClient(self.transport, bucket.name), bucket, launch.boots)
        if why is None:
            return LaunchState(Condition.ABSENT)
        return LaunchState(Condition.BOOT_FAILED, why or "it left no word")

    def _boots(self, launch: Launch, ranks: list[int]) -> Boots:
        if not ranks:
            return Boots({}, frozenset(), failed=False)
        bucket = names.bucket_of(launch.home)
        return read_boots(StorageClient(self.transport, bucket.name), bucket, launch.boots)

    # Stop.

    def stop(self, launch: Launch) -> None:
        rented = rented_of(launch)
        client, region = self._client(rented), region_of(launch)
        with told(f"launch `{launch.id}` in `{region}`"):
            try:
                if not self._is_stopped(client, launch):
                    self._insert(
                        client,
                        region,
                        lambda: client.insert_template(region, bodies.stopped(launch, rented), request_id()),
                    )
            except ApiError as error:
                if error.status == 404 and self._group(client, launch) is None:
                    return  # there is no such project any more, or never was: nothing can be in it
                raise
            self._delete(client, launch)
            self._wait_until_gone(client, launch)
            self._delete_templates(client, launch, rented)

    def _delete(self, client: ComputeClient, launch: Launch) -> None:
        """Asked for; it takes its time. Never a group of somebody else's."""
        if self._group(client, launch) is None:
            return
        try:
            client.delete_group(region_of(launch), names.group_name(launch.id), request_id())
        except ApiError as error:
            if error.status not in (404, 409, 400):  # gone; or going: Google calls a group that is not ready so
                raise

    def _wait_until_gone(self, client: ComputeClient, launch: Launch) -> None:
        until = self.clock.monotonic() + STOP_SECONDS_MAX
        wait, wait_max = LOOK_SECONDS
        asked_again_at = self.clock.monotonic() + 30.0
        while self._group(client, launch) is not None:
            now = self.clock.monotonic()
            if now >= until:
                raise OutlastError(
                    f"group `{names.group_name(launch.id)}` in `{region_of(launch)}` is still there",
                    state="its machines may be paid for",
                    hint=f"`gcloud compute instance-groups managed delete {names.group_name(launch.id)} --region {region_of(launch)}`",
                )
            if now >= asked_again_at:
                self._delete(client, launch)
                asked_again_at = now + 30.0
            self.clock.sleep(wait)
            wait = min(wait_max, wait * 1.5)

    def _delete_templates(self, client: ComputeClient, launch: Launch, rented: Rented) -> None:
        """All but the one that says that it was stopped. They cost nothing: what fails here is left to `outlast audit`."""
        for number in range(len(variants(spot=rented.spot))):
            name = names.template_name(launch.id, number)
            try:
                template = client.get_template(region_of(launch), name)
                if names.is_of(template.get("properties", {}).get("labels", {}), launch):
                    client.delete_template(region_of(launch), name, request_id())
            except ApiError:
                return

    def tidy(self, launch: Launch, *, marker_too: bool) -> None:
        """Of a launch whose group is gone: the templates, which its machine may not delete. `marker_too`: no start can come any more."""
        rented = rented_of(launch)
        client = self._client(rented)
        with told(f"launch `{launch.id}` in `{region_of(launch)}`"):
            if self._group(client, launch) is not None:
                return
            self._delete_templates(client, launch, rented)
            if marker_too and self._is_stopped(client, launch):
                client.delete_template(region_of(launch), names.stopped_name(launch.id), request_id())

    # People.

    def enter(self, launch: Launch, command: tuple[str, ...], ports: tuple[int, ...]) -> list[str] | None:
        at = self.first_machine(launch)
        return ssh_command(rented_of(launch).project, *at, command, ports) if at is not None else None

    def first_machine(self, launch: Launch) -> tuple[str, str] | None:
        """Its zone and name; None: none runs."""
        with told(f"launch `{launch.id}` in `{region_of(launch)}`"):
            managed = self._managed(self._client(rented_of(launch)), launch) or []
        there = {rank: one for one in managed if _is_there(one) and (rank := _rank(one)) is not None}
        return _place(there[min(there)]) if there else None

    # Drills.

    def preempt(self, launch: Launch, *, notice_seconds: float) -> bool:
        """With notice as Google gives it; without, the machine is reset: all that runs on it is gone at once, and it boots again."""
        client = self._client(rented_of(launch))
        with told(f"launch `{launch.id}` in `{region_of(launch)}`"):
            there = [one for one in self._managed(client, launch) or [] if _is_there(one) and _rank(one) is not None]
            boots = self._boots(launch, [rank for one in there if (rank := _rank(one)) is not None])
            operations = []
            for one in there:
                zone, name = _place(one)
                take = client.preempt_instance if notice_seconds > 0 else client.reset_instance
                operations.append((zone, take(zone, name, request_id())))
                rank = _rank(one)
                if rank is not None:
                    self._taken.add(f"{launch.id}-{rank}-{boots.newest.get(rank, 0)}")
            for zone, operation in operations:
                self._finished(client, ("zones", zone), operation)
            if notice_seconds > 0:
                self._wait_until_taken(client, launch, [_id(one) for one in there])
        return bool(there)

    def _wait_until_taken(self, client: ComputeClient, launch: Launch, taken: list[str]) -> None:
        """The operation may be over when the notice is given."""
        until = self.clock.monotonic() + PREEMPT_SECONDS_MAX
        wait, wait_max = LOOK_SECONDS
        while self.clock.monotonic() < until:
            there = [_id(one) for one in self._managed(client, launch) or [] if one.get("instanceStatus") in ON]
            if not set(taken) & set(there):
                return
            self.clock.sleep(wait)
            wait = min(wait_max, wait * 1.5)

    # The parts of that.

    def _client(self, rented: Rented) -> ComputeClient:
        return ComputeClient(self.transport, rented.project)

    def _group(self, client: ComputeClient, launch: Launch) -> Document | None:
        """None also for a group of somebody else's with the same name."""
        group = or_none(lambda: client.get_group(region_of(launch), names.group_name(launch.id)))
        if group is None:
            return None
        labels = group.get("allInstancesConfig", {}).get("properties", {}).get("labels", {})
        return group if names.is_of(labels, launch) else None

    def _managed(self, client: ComputeClient, launch: Launch) -> list[Document] | None:
        return self._members(client, launch) if self._group(client, launch) is not None else None

    def _members(self, client: ComputeClient, launch: Launch) -> list[Document] | None:
        return or_none(lambda: list(client.list_managed(region_of(launch), names.group_name(launch.id))))

    def _is_stopped(self, client: ComputeClient, launch: Launch) -> bool:
        return or_none(lambda: client.get_template(region_of(launch), names.stopped_name(launch.id))) is not None


def _is_empty(launch: Launch, group: Document) -> bool:
    """Nobody is left in it, and nobody will be."""
    return launch.independent and not int(group.get("targetSize", 1))


def _some_may_come(managed: list[Document]) -> bool:
    """Not all were refused for good: those that are there do without the others."""
    return any(_is_there(one) or not any(it.final for it in troubles.of_managed([one])) for one in managed)


def _idle(boots: Boots, there: list[int]) -> str:
    idle = sum(1 for rank in there if boots.is_idle(rank))
    if not idle:
        return ""
    machines = f"{idle:,} of its machines have" if idle > 1 else "one of its machines has"
    return f"{machines} nothing to do, but may not leave: `outlast init` gives that right; until the end it is paid for"


def _if_wrong(error: ApiError) -> ApiError:
    """What another way of asking may mend; anything else is raised as it is."""
    if error.status != 400:
        raise error
    return error


def _is_there(managed: Document) -> bool:
    """A machine that Google calls running, and that its group is not replacing."""
    return managed.get("instanceStatus") == "RUNNING" and managed.get("currentAction") in (
        "NONE",
        "VERIFYING",
        "REFRESHING",
    )


def _rank(managed: Document) -> int | None:
    return names.rank_of(str(managed.get("instance", "")).rpartition("/")[2])


def _id(managed: Document) -> str:
    return str(managed.get("id", ""))


def _place(managed: Document) -> tuple[str, str]:
    parts = str(managed["instance"]).split("/")
    return parts[parts.index("zones") + 1], parts[-1]
