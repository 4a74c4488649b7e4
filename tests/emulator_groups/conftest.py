"""Compute Engine's model without HTTP and without real machines, its time scaled a hundredfold; and the shortest bodies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast_emulator.clock import Clock
from outlast_emulator.compute.groups_state import Group
from outlast_emulator.compute.model import Compute
from outlast_emulator.compute.resources import Instance
from outlast_emulator.switches import Switches
from tests.waiting import until

PROJECT = "emulated"
REGION = "us-central1"
SCOPE = f"regions/{REGION}"
IMAGE = "projects/debian-cloud/global/images/family/debian-12"


def spot(**more: Any) -> dict[str, Any]:
    return {
        "provisioningModel": "SPOT",
        "preemptible": True,
        "automaticRestart": False,
        "onHostMaintenance": "TERMINATE",
        **more,
    }


def template_body(name: str = "t", **properties: Any) -> dict[str, Any]:
    return {
        "name": name,
        "properties": {
            "machineType": "n2-standard-8",
            "disks": [{"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": IMAGE}}],
            "networkInterfaces": [{"network": "global/networks/default"}],
            "scheduling": spot(),
            **properties,
        },
    }


def group_body(name: str = "g", size: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "baseInstanceName": f"{name}-#[0]",
        "targetSize": size,
        "versions": [{"instanceTemplate": f"projects/{PROJECT}/{SCOPE}/instanceTemplates/t"}],
        "distributionPolicy": {
            "targetShape": "ANY",
            "zones": [{"zone": f"zones/{REGION}-{letter}"} for letter in "abc"],
        },
        "instanceLifecyclePolicy": {"forceUpdateOnRepair": "YES", "onRepair": {"allowChangingZone": "YES"}},
        **more,
    }


class World:
    """A running model, and what tests ask of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = Clock(0.01)
        self.switches = Switches(machines=False)
        self.compute = Compute(root, self.clock, self.switches)
        self.compute.start()

    def reborn(self) -> None:
        """The emulator ends and starts again with the same data."""
        self.compute.close()
        self.compute = Compute(self.root, self.clock, self.switches)
        self.compute.start()

    def template(self, name: str = "t", scope: str = SCOPE, **properties: Any) -> None:
        self.compute.templates.create(PROJECT, scope, template_body(name, **properties))

    def group(self, name: str = "g", size: int = 1, **more: Any) -> Group:
        return self.compute.groups.create(PROJECT, SCOPE, group_body(name, size, **more))

    def found(self, name: str = "g") -> Group:
        return self.compute.groups.get(PROJECT, SCOPE, name)

    def instances(self) -> list[Instance]:
        return self.compute.instances.all(PROJECT)

    def running(self, count: int = 1) -> list[Instance]:
        """Waits until so many machines run, and the group rests."""

        def look() -> list[Instance]:
            found = [one for one in self.instances() if one.status == "RUNNING" and "ending" not in one.state]
            resting = all(
                member.action == "NONE" and not member.broken_at
                for group in self.compute.groups.all(PROJECT)
                for member in group.members
            )
            return found if len(found) == count and resting else []

        return until(look, f"{[(one.name, one.status) for one in self.instances()]}")

    def successor(self, of: Instance) -> Instance:
        """The machine that has the name of one that is gone."""

        def look() -> Instance | None:
            found = [one for one in self.instances() if one.name == of.name and one.id != of.id]
            return found[0] if found and found[0].status == "RUNNING" else None

        made = until(look, f"`{of.name}` was not made again")
        assert made is not None
        return made


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "compute")
    try:
        yield made
    finally:
        made.compute.close()
