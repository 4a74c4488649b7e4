"""Preemption and host maintenance: the notice, soft-off, and what is left afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast_emulator.compute import instances
from outlast_emulator.compute.resources import Instance

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute


class Preemption:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def preempt(self, instance: Instance, notice_seconds: float | None = None) -> None:
        """Ends a Spot instance as Google does. `notice_seconds` None: what its scheduling says; 0: at once, without soft-off."""
        action = instance.document.get("scheduling", {}).get("instanceTerminationAction", "STOP")
        self._compute.operations.done("compute.instances.preempted", instance)
        grace = 0.0 if notice_seconds == 0 else None
        self._compute.instances.end(instance, instances.PREEMPTED, delete=action == "DELETE", grace_seconds=grace)

    def maintain(self, instance: Instance) -> None:
        """`simulateMaintenanceEvent`: a Spot machine is preempted; another is told and, if it cannot migrate, terminated."""
        if instances.is_spot(instance):
            self.preempt(instance)
