"""Makes an instance's document from what a client or a template asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import links
from outlast_emulator.compute.resources import Instance

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute


class Builder:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def build(self, project: str, zone: str, body: dict[str, Any], by: str) -> Instance:
        """A PROVISIONING instance with its disks; refuses what Google refuses."""
        document = {**body, "kind": "compute#instance", "status": "PROVISIONING"}
        self._compute.capacity.check(project, zone, document)
        return self._compute.resources.add("instances", project, links.zone_scope(zone), body["name"], document)
