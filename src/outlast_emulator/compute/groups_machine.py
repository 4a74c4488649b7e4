"""What a managed group asks for when it makes a machine: from which template, where it can be had at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from outlast_emulator.compute import links, machine_types
from outlast_emulator.compute.groups_plan import Member


def body(properties: Mapping[str, Any], member: Member, config: Mapping[str, Any]) -> dict[str, Any]:
    """The body of `instances.insert`. `properties`: the template's; `config`: the group's `allInstancesConfig.properties`."""
    found: dict[str, Any] = deepcopy(dict(properties))
    found |= {"name": member.name, "machineType": member.machine_type}
    if config.get("labels"):
        found["labels"] = {**found.get("labels", {}), **config["labels"]}
    items = {item["key"]: item.get("value", "") for item in (found.get("metadata") or {}).get("items", [])}
    items |= config.get("metadata") or {}
    items["instance-template"] = member.template
    found["metadata"] = {"items": [{"key": key, "value": value} for key, value in items.items()]}
    return found


def offered(properties: Mapping[str, Any], places: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Those (zone, machine type) that exist at all; where none does, all of them, so that the errors say it."""
    accelerators = properties.get("guestAccelerators") or []
    names = [links.last(str(one.get("acceleratorType", ""))) for one in accelerators]
    found = []
    for zone, machine_type in places:
        known = machine_types.find(machine_type)
        here = known is not None and machine_types.in_zone(known, zone)
        if here and all(machine_types.accelerator_in_zone(name, zone) for name in names):
            found.append((zone, machine_type))
    return found or places
