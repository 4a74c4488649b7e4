"""Which instance templates Google accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outlast_emulator.compute import rules, scheduling_rules
from outlast_emulator.compute.rules import refused
from outlast_emulator.errors import ApiError, not_implemented
from outlast_emulator.switches import Switches

GPU_FAMILIES = ("a2-", "a3-", "a4-", "a4x-", "g2-", "g4-")
"""Machine types that have their GPUs built in."""


def has_gpus(properties: Mapping[str, Any]) -> bool:
    machine_type = str(properties.get("machineType") or "").rsplit("/", 1)[-1]
    return bool(properties.get("guestAccelerators")) or machine_type.startswith(GPU_FAMILIES)


def check(body: Mapping[str, Any], *, now: float, switches: Switches) -> None:
    """Raises what Google answers to a template that cannot be."""
    rules.check_name(body.get("name"))
    if body.get("sourceInstance"):
        raise not_implemented("instanceTemplates with sourceInstance")
    properties = body.get("properties")
    if not properties:
        raise refused("resource.properties", "", "Properties must be specified.")
    _check_machine(properties)
    _check_disks(properties.get("disks") or [])
    if not properties.get("networkInterfaces"):
        why = "At least one network interface is required."
        raise refused("resource.properties.networkInterfaces", "", why)
    rules.check_labels(properties.get("labels"), "resource.properties.labels")
    rules.check_metadata(properties.get("metadata"), "resource.properties.metadata")
    scheduling_rules.check(
        properties.get("scheduling") or {},
        now=now,
        switches=switches,
        field="resource.properties.scheduling",
        has_gpus=has_gpus(properties),
        in_template=True,
    )


def _check_machine(properties: Mapping[str, Any]) -> None:
    machine_type = str(properties.get("machineType") or "")
    if not machine_type:
        raise refused("resource.properties.machineType", "", "Machine type must be specified.")
    if "/" in machine_type:
        # Google's own page says so: only a name is accepted, and a URL is an internal error.
        raise ApiError(500, "internalError", "Internal error. Please try again or contact Google Support. (Code: '0')")
    for index, accelerator in enumerate(properties.get("guestAccelerators") or []):
        kind = str(accelerator.get("acceleratorType") or "")
        if not kind or "/" in kind:
            where = f"resource.properties.guestAccelerators[{index}].acceleratorType"
            raise refused(where, kind, "The accelerator type of an instance template must be a name, not a URL.")


def _check_disks(disks: Sequence[Mapping[str, Any]]) -> None:
    field = "resource.properties.disks"
    if not disks:
        raise refused(field, "", "No disks are specified.")
    if not disks[0].get("boot"):
        raise refused(f"{field}[0]", "", "Boot disk must be the first disk attached to the instance.")
    for index, disk in enumerate(disks):
        asked = disk.get("initializeParams") or {}
        kind = str(asked.get("diskType") or "")
        if "/" in kind:
            why = "The disk type of an instance template must be a name, not a URL."
            raise refused(f"{field}[{index}].initializeParams.diskType", kind, why)
        if index == 0 and not (disk.get("source") or asked.get("sourceImage") or asked.get("sourceSnapshot")):
            raise refused(f"{field}[0]", "", "Boot disk must have a source specified")
