"""Time limits of machines: `terminationTime`, which is absolute, and `maxRunDuration`, which counts from each start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import instances, scheduling_rules
from outlast_emulator.compute.resources import Instance

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

TASK = "deadlines.reached"


class Deadlines:
    """Set when a machine begins to run, shown as `resourceStatus.scheduling.terminationTimestamp`, gone when it stops."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        compute.scheduler.on(TASK, self._reached)
        compute.instances.on_running.append(self._set)

    def _set(self, instance: Instance) -> None:
        compute = self._compute
        scheduling = instance.document.get("scheduling", {})
        at = scheduling_rules.deadline_at(scheduling, compute.clock.now(), compute.clock.scale)
        if at is None:
            return
        with compute.database.write():
            found = compute.resources.by_id(instance.id)
            if found is None or found.status != "RUNNING":
                return
            stamp = rfc3339(int(at * 1e6))
            found.document.setdefault("resourceStatus", {}).setdefault("scheduling", {})["terminationTimestamp"] = stamp
            compute.resources.save(found)
            compute.scheduler.at(at, TASK, number=found.id, stamp=stamp)

    def _reached(self, number: int, stamp: str) -> None:
        """The group, if there is one, learns of it in the same transaction: it must not take this for a death."""
        compute = self._compute
        with compute.database.write():
            found = compute.resources.by_id(number)
            if found is None or found.status != "RUNNING" or "ending" in found.state:
                return
            if found.document.get("resourceStatus", {}).get("scheduling", {}).get("terminationTimestamp") != stamp:
                return  # it was stopped and started since
            action = scheduling_rules.termination_action(found.document.get("scheduling", {}))
            compute.operations.done("delete" if action == "DELETE" else "stop", found)
            compute.groups.expire(found)
            compute.instances.end(found, instances.EXPIRED, delete=action == "DELETE")
