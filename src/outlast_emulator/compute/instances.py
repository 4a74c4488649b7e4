"""The life of an instance, from its creation to its end, as plain methods: the API, groups and preemption all call these."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import links
from outlast_emulator.compute.failures import Failure
from outlast_emulator.compute.hosting import Guest
from outlast_emulator.compute.resources import Instance, Resource
from outlast_emulator.errors import ApiError
from outlast_emulator.machines.errors import MachineError

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

KIND = "instances"
SOFT_OFF_SECONDS = 30.0
"""Between soft-off and the end, for Spot machines; a standard machine has `STANDARD_SOFT_OFF_SECONDS`."""
STANDARD_SOFT_OFF_SECONDS = 120.0

PREEMPTED, STOPPED, DELETED, GUEST, EXPIRED, HOST_ERROR, MAINTENANCE = (
    "preempted",
    "stopped",
    "deleted",
    "guest",
    "expired",
    "host_error",
    "maintenance",
)
"""Why an instance ended: `guest` is one that powered itself off, `expired` one whose time limit was reached."""

UNASKED = (PREEMPTED, GUEST, HOST_ERROR)
"""Deaths that the API learns of late, where `status_lag_seconds` is set."""


class Instances:
    """Refusals are `ApiError`s; what only an operation would tell (no capacity, no quota) is a `Failure`.

    `on_running(instance)` and `on_gone(instance, why)` are lists of callbacks, called after the change is committed, from the
    scheduler's threads. `on_gone` comes once for each end: the instance is TERMINATED then, or removed.
    """

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        self._guests: dict[int, Guest] = {}
        self._closed = False
        self.on_running: list[Callable[[Instance], None]] = []
        self.on_gone: list[Callable[[Instance, str], None]] = []
        compute.scheduler.on("instances.boot", self._boot, slow=True)
        compute.scheduler.on("instances.off", self._off, slow=True)
        compute.scheduler.on("instances.kill", self._kill, slow=True)
        compute.scheduler.on("instances.ended", self._ended)

    # ------------------------------------------------------------------------------------------------------- finding

    def find(self, project: str, zone: str, name: str) -> Instance:
        """404 if there is none."""
        return self._compute.resources.get(KIND, project, links.zone_scope(zone), name)

    def named(self, name: str) -> Instance | None:
        """In whatever project and zone: for the control surface."""
        found = [one for one in self._compute.resources.list(KIND) if one.name == name]
        return found[0] if found else None

    def all(self, project: str = "", zone: str = "") -> list[Instance]:
        return self._compute.resources.list(KIND, project, links.zone_scope(zone) if zone else "")

    def fresh(self, instance: Instance) -> Instance | None:
        """As it is now; None if it is gone."""
        return self._compute.resources.by_id(instance.id)

    def guest(self, instance: Instance) -> Guest | None:
        """The machine that runs for it, if one does."""
        return self._guests.get(instance.id)

    def let_go(self, instance: Instance) -> None:
        """Whatever becomes of the instance, its machine is not ended any more: that is somebody else's now."""
        self._guests.pop(instance.id, None)

    # -------------------------------------------------------------------------------------------------------- living

    def create(
        self, project: str, zone: str, body: dict[str, Any], *, by: str = "", operation: Resource | None = None
    ) -> Instance:
        """PROVISIONING now, RUNNING after the switch `boot_seconds`; `operation` ends then.

        `body` is that of `instances.insert` (bare names of machine types, disk types and accelerators are taken too, as in
        templates). `by`: the URL of the group that makes it, which its metadata name as `created-by`. Raises ApiError
        (400, 404, 409) or `Failure` (stock-out, quota); nothing is left behind then.
        """
        compute = self._compute
        with compute.database.write():
            made = compute.builder.build(project, zone, body, by)
            made.state.update(by=by, boots=0, operation=operation.id if operation else 0)
            compute.resources.save(made)
            compute.scheduler.later(compute.switches.boot_seconds, "instances.boot", number=made.id)
        return made

    def start(self, instance: Instance, *, operation: Resource | None = None) -> None:
        """Of a TERMINATED one, with the disk that it had. What runs already is left alone."""
        compute = self._compute
        with compute.database.write():
            found = self._existing(instance)
            if found.status != "TERMINATED":
                self._end_operations([operation.id] if operation else [])
                return
            compute.capacity.check(found.project, found.zone, found.document)
            found.document["status"] = "STAGING"
            found.state["operation"] = operation.id if operation else 0
            compute.resources.save(found)
            compute.scheduler.later(compute.switches.boot_seconds, "instances.boot", number=found.id)

    def stop(self, instance: Instance, *, operation: Resource | None = None) -> None:
        """As a user asks for it; what is off already is left alone."""
        self.end(instance, STOPPED, operation=operation)

    def delete(self, instance: Instance, *, operation: Resource | None = None, by: str = "") -> None:
        """As a user or, with its URL in `by`, a group asks for it. Disks with `autoDelete` go too."""
        self.end(instance, DELETED, delete=True, operation=operation, by=by)

    def end(
        self,
        instance: Instance,
        why: str,
        *,
        delete: bool = False,
        grace_seconds: float | None = None,
        operation: Resource | None = None,
        by: str = "",
    ) -> None:
        """Soft-off with `grace_seconds` of Google's time (None: 30 for Spot, 120 else; 0: SIGKILL at once), then TERMINATED or removed.

        `on_gone(instance, why)` follows. An instance that is ending already keeps its first reason; a later `delete` is
        added to it, and a later `grace_seconds` of 0 kills it now. `by` is kept in `instance.state["ended_by"]`.
        """
        compute = self._compute
        if grace_seconds is None:
            grace_seconds = SOFT_OFF_SECONDS if is_spot(instance) else STANDARD_SOFT_OFF_SECONDS
        with compute.database.write():
            found = self._existing(instance)
            numbers = [operation.id] if operation else []
            ending = found.state.get("ending")
            if ending is not None:
                ending["operations"] += numbers
                ending["delete"] = ending["delete"] or delete
                if ending.get("off"):  # the API was about to notice late: whoever asks for the end makes it look
                    wait = compute.switches.delete_seconds if ending["delete"] else 0.0
                    compute.scheduler.later(wait, "instances.ended", number=found.id)
                elif grace_seconds == 0:
                    compute.scheduler.later(0, "instances.kill", number=found.id)
            elif found.status == "TERMINATED" and not delete:
                self._end_operations(numbers)
                return
            else:
                found.state["ending"] = {"why": why, "delete": delete, "operations": numbers, "grace": grace_seconds}
                compute.scheduler.later(0, "instances.off", number=found.id)
            if by:
                found.state["ended_by"] = by
            if why not in UNASKED or not compute.switches.status_lag_seconds:
                found.document["status"] = "STOPPING"
            compute.resources.save(found)

    def reset(self, instance: Instance, *, operation: Resource | None = None) -> None:
        """The machine is killed and boots again from its disk; nothing else changes."""
        compute = self._compute
        with compute.database.write():
            found = self._existing(instance)
            if found.status != "RUNNING" or "ending" in found.state:
                raise not_ready(found)
            guest = self._guests.pop(found.id, None)
        if guest is not None:
            guest.kill()
        with compute.database.write():
            again = compute.resources.by_id(instance.id)
            if again is None or "ending" in again.state:
                self._end_operations([operation.id] if operation else [])
                return
            again.state.update(operation=operation.id if operation else 0, rebooting=True)
            compute.resources.save(again)
            compute.scheduler.later(0, "instances.boot", number=again.id)

    def recover(self) -> None:
        """At a start: machines died with the emulator that ran them, which is a host error to their instances."""
        compute = self._compute
        for found in self.all():
            if found.status != "RUNNING" or "ending" in found.state or found.state.get("rebooting"):
                continue  # a task of it is still in the database
            if found.document.get("scheduling", {}).get("automaticRestart", True):
                with compute.database.write():
                    compute.operations.done("compute.instances.automaticRestart", found)
                    found.document["status"] = "STAGING"
                    compute.resources.save(found)
                    compute.scheduler.later(compute.switches.boot_seconds, "instances.boot", number=found.id)
            else:
                compute.operations.done("compute.instances.hostError", found)
                self.end(found, HOST_ERROR, grace_seconds=0)

    def close(self) -> None:
        """All machines end; their instances are found RUNNING at the next start."""
        self._closed = True
        guests, self._guests = dict(self._guests), {}
        for guest in guests.values():
            guest.kill()

    # --------------------------------------------------------------------------------------------------------- tasks

    def _boot(self, number: int) -> None:
        compute = self._compute
        with compute.database.write():
            found = compute.resources.by_id(number)
            rebooting = found is not None and found.state.pop("rebooting", False)
            if found is None or "ending" in found.state:
                return
            if not rebooting and found.status not in ("PROVISIONING", "STAGING"):
                return
            if not rebooting:
                found.document["status"] = "STAGING"
            found.state["boots"] = found.state.get("boots", 0) + 1
            compute.resources.save(found)
        try:
            guest = compute.contents.boot(found)
        except MachineError as error:
            self._not_booted(found, str(error))
            return
        with compute.database.write():
            found = compute.resources.by_id(number)
            if found is None or "ending" in found.state:
                self._end_operations([found.state.get("operation", 0)] if found else [])
            else:
                self._guests[number] = guest
                found.document["status"] = "RUNNING"
                found.document["lastStartTimestamp"] = self._stamp()
                compute.usage.begin_machine(found)
                self._end_operations([found.state.pop("operation", 0)])
                compute.resources.save(found)
        if found is None or "ending" in found.state:
            guest.kill()
            return
        for callback in self.on_running:
            callback(found)
        if not guest.alive():
            self.exited(number)

    def _not_booted(self, instance: Instance, why: str) -> None:
        """Its host failed: the operation says so, and a group makes another."""
        failure = Failure("INTERNAL_ERROR", f"Internal error: {why}", 503)
        with self._compute.database.write():
            found = self._compute.resources.by_id(instance.id)
            if found is None:
                return
            self._end_operations([found.state.pop("operation", 0)], failure)
            self._compute.resources.save(found)
            self._compute.operations.done("compute.instances.hostError", found)
            self.end(found, HOST_ERROR, grace_seconds=0)

    def exited(self, number: int) -> None:
        """A machine is off by itself: powered off inside, or dead. Called by whoever runs machines, at most once a boot."""
        compute = self._compute
        if self._closed:
            return
        with compute.database.write():
            found = compute.resources.by_id(number)
            guest = self._guests.get(number)
            if found is None or guest is None or guest.alive() or found.status != "RUNNING":
                return
            if "ending" in found.state:
                return
            if guest.ended() == "reboot":
                del self._guests[number]
                found.state["rebooting"] = True
                compute.resources.save(found)
                compute.scheduler.later(0, "instances.boot", number=number)
                return
            compute.operations.done("compute.instances.guestTerminate", found)
            self.end(found, GUEST, grace_seconds=0)

    def _off(self, number: int) -> None:
        compute = self._compute
        found = compute.resources.by_id(number)
        ending = found.state.get("ending") if found is not None else None
        if found is None or ending is None:
            return
        guest = self._guests.get(number)
        if guest is not None:
            if ending["grace"] > 0 and not found.document.get("scheduling", {}).get("skipGuestOsShutdown"):
                guest.soft_off(compute.clock.scaled(ending["grace"]))
            guest.kill()
            self._guests.pop(number, None)
        with compute.database.write():
            found = compute.resources.by_id(number)
            if found is None or "ending" not in found.state:
                return
            ending = found.state["ending"]
            ending["off"] = True
            compute.resources.save(found)
            compute.usage.end_machine(found, preempted=ending["why"] == PREEMPTED)
            lag = compute.switches.status_lag_seconds if ending["why"] in UNASKED else 0.0
            if ending["delete"]:
                lag += compute.switches.delete_seconds
            compute.scheduler.later(lag, "instances.ended", number=number)

    def _kill(self, number: int) -> None:
        guest = self._guests.get(number)
        if guest is not None:
            guest.kill()

    def _ended(self, number: int) -> None:
        compute = self._compute
        with compute.database.write():
            found = compute.resources.by_id(number)
            if found is None or "ending" not in found.state:
                return
            ending = found.state.pop("ending")
            found.state["why"] = ending["why"]
            found.document["status"] = "TERMINATED"
            found.document["lastStopTimestamp"] = self._stamp()
            found.document.pop("resourceStatus", None)
            if ending["delete"]:
                compute.disks.let_go(found)
                compute.resources.remove(found)
            else:
                compute.resources.save(found)
            self._end_operations([*ending["operations"], found.state.pop("operation", 0)])
        for callback in self.on_gone:
            callback(found, ending["why"])

    def _end_operations(self, numbers: list[int], failure: Failure | None = None) -> None:
        for number in numbers:
            operation = self._compute.resources.by_id(number) if number else None
            if operation is not None:
                self._compute.operations.end(operation, failure)

    def _existing(self, instance: Instance) -> Instance:
        found = self._compute.resources.by_id(instance.id)
        return found or self.find(instance.project, instance.zone, instance.name)

    def _stamp(self) -> str:
        return rfc3339(int(self._compute.clock.now() * 1e6))


def is_spot(instance: Instance) -> bool:
    scheduling = instance.document.get("scheduling", {})
    return bool(scheduling.get("preemptible")) or scheduling.get("provisioningModel") == "SPOT"


def not_ready(instance: Instance) -> ApiError:
    return ApiError(400, "resourceNotReady", f"The resource '{instance.path}' is not ready")
