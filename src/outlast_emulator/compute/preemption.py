"""Preemption of Spot machines and maintenance of hosts: the notice, soft-off, and what is left afterwards.

    preemption     notice (`instance/preempted` TRUE) -> soft-off, 30 s -> TERMINATED or deleted
    maintenance    of a machine that can migrate: a minute's notice, and it goes on; of one that cannot: an hour's with GPUs,
                   a minute's without, then soft-off, TERMINATED, and started again if it restarts automatically

What is under way stands in the instance's `state`, what is due in the database's tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import instances, scheduling_rules, templates_rules
from outlast_emulator.compute.instances import not_ready
from outlast_emulator.compute.resources import Instance

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

NOTICE_SECONDS = 60.0
"""Before a host's maintenance."""
GPU_NOTICE_SECONDS = 3600.0
MIGRATION_SECONDS = 10.0

PREEMPTED = "instance/preempted"
MAINTENANCE = "instance/maintenance-event"
MIGRATES, TERMINATES, NOTHING = "MIGRATE_ON_HOST_MAINTENANCE", "TERMINATE_ON_HOST_MAINTENANCE", "NONE"


class Preemption:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        compute.scheduler.on("preemption.off", self._off)
        compute.scheduler.on("maintenance.begin", self._begin_maintenance)
        compute.scheduler.on("maintenance.over", self._maintenance_over)
        compute.instances.on_gone.append(self._restart)

    # ------------------------------------------------------------------------------------------------------ preemption

    def preempt(self, instance: Instance, notice_seconds: float | None = None) -> None:
        """Ends a running instance as Google does; one that is not running is refused.

        `notice_seconds`: of Google's time, from the first word in the metadata to the end, of which the last 30 are soft-off;
        0: dead at once. None: what the instance's scheduling says, and 30 more.
        """
        compute = self._compute
        scheduling = instance.document.get("scheduling", {})
        soft_off = scheduling_rules.stop_seconds(scheduling)
        if notice_seconds is None:
            notice_seconds = scheduling_rules.notice_seconds(scheduling) + soft_off
        grace = min(notice_seconds, soft_off)
        with compute.database.write():
            found = self._running(instance)
            if found.state.get("preempting") and notice_seconds:
                return  # it is under way already
            found.state["preempting"] = _life(found)
            compute.resources.save(found)
            wait = notice_seconds - grace
            compute.scheduler.later(wait, "preemption.off", number=found.id, life=_life(found), grace=grace)
        if notice_seconds:
            self._tell(found, PREEMPTED, "TRUE")

    def _off(self, number: int, life: str, grace: float) -> None:
        compute = self._compute
        with compute.database.write():
            found = compute.resources.by_id(number)
            # Whoever stops and starts a machine ends its preemption.
            if found is None or found.status != "RUNNING" or "ending" in found.state or _life(found) != life:
                return
            compute.operations.done("compute.instances.preempted", found)
            action = scheduling_rules.termination_action(found.document.get("scheduling", {}))
            compute.instances.end(found, instances.PREEMPTED, delete=action == "DELETE", grace_seconds=grace)

    # ----------------------------------------------------------------------------------------------------- maintenance

    def maintain(self, instance: Instance, notice_seconds: float | None = None) -> None:
        """`simulateMaintenanceEvent`: a Spot machine is preempted; another is told, and moved or ended when its time is up."""
        if instances.is_spot(instance):
            self.preempt(instance, notice_seconds)
            return
        compute = self._compute
        scheduling = instance.document.get("scheduling", {})
        migrates = scheduling.get("onHostMaintenance", "MIGRATE") == "MIGRATE"
        if notice_seconds is None:
            long = not migrates and templates_rules.has_gpus(instance.document)
            notice_seconds = GPU_NOTICE_SECONDS if long else NOTICE_SECONDS
        with compute.database.write():
            found = self._running(instance)
            if found.state.get("maintaining"):
                return
            found.state["maintaining"] = _life(found)
            status = found.document.setdefault("resourceStatus", {})
            status["upcomingMaintenance"] = self._upcoming(notice_seconds)
            compute.resources.save(found)
            compute.scheduler.later(
                notice_seconds, "maintenance.begin", number=found.id, life=_life(found), migrates=migrates
            )
        self._tell(found, MAINTENANCE, MIGRATES if migrates else TERMINATES)

    def _upcoming(self, notice_seconds: float) -> dict[str, Any]:
        begins = self._compute.clock.now() + self._compute.clock.scaled(notice_seconds)
        return {
            "type": "UNSCHEDULED",
            "canReschedule": False,
            "maintenanceStatus": "PENDING",
            "windowStartTime": rfc3339(int(begins * 1e6)),
            "windowEndTime": rfc3339(int((begins + self._compute.clock.scaled(MIGRATION_SECONDS)) * 1e6)),
        }

    def _begin_maintenance(self, number: int, life: str, migrates: bool) -> None:
        compute = self._compute
        with compute.database.write():
            found = self._maintained(number, life)
            if found is None:
                return
            if migrates:
                compute.operations.done("compute.instances.migrateOnHostMaintenance", found)
                compute.scheduler.later(MIGRATION_SECONDS, "maintenance.over", number=number, life=life)
                return
            compute.operations.done("compute.instances.terminateOnHostMaintenance", found)
            found.state["maintaining"] = ""
            found.state["restarts"] = bool(found.document.get("scheduling", {}).get("automaticRestart", True))
            compute.resources.save(found)
            compute.instances.end(found, instances.MAINTENANCE)

    def _maintenance_over(self, number: int, life: str) -> None:
        compute = self._compute
        with compute.database.write():
            found = self._maintained(number, life)
            if found is None:
                return
            found.state["maintaining"] = ""
            found.document.get("resourceStatus", {}).pop("upcomingMaintenance", None)
            compute.resources.save(found)
        self._tell(found, MAINTENANCE, NOTHING)

    def _maintained(self, number: int, life: str) -> Instance | None:
        found = self._compute.resources.by_id(number)
        if found is None or found.status != "RUNNING" or "ending" in found.state:
            return None
        return found if found.state.get("maintaining") == life else None

    def recover(self) -> None:
        """At a start: machines that were to come back when the emulator was killed."""
        for instance in self._compute.instances.all():
            if instance.status == "TERMINATED":
                self._restart(instance, instances.MAINTENANCE)

    def _restart(self, instance: Instance, why: str) -> None:
        """A standard machine comes back by itself after its host was maintained."""
        compute = self._compute
        if why != instances.MAINTENANCE:
            return
        with compute.database.write():
            found = compute.resources.by_id(instance.id)
            if found is None or not found.state.pop("restarts", False):
                return
            compute.resources.save(found)
            compute.operations.done("compute.instances.automaticRestart", found)
            compute.instances.start(found)

    # ----------------------------------------------------------------------------------------------------------- parts

    def _running(self, instance: Instance) -> Instance:
        found = self._compute.resources.by_id(instance.id)
        if found is None or found.status != "RUNNING" or "ending" in found.state:
            raise not_ready(found or instance)
        return found

    def _tell(self, instance: Instance, path: str, value: str) -> None:
        guest = self._compute.instances.guest(instance)
        if guest is not None:
            guest.tell(path, value)


def _life(instance: Instance) -> str:
    """The same from a start to the next stop: what was begun for one life does not hit the next."""
    return f"{instance.state.get('boots', 0)} {instance.document.get('lastStartTimestamp', '')}"
