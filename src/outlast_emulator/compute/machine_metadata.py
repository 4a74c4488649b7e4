"""What a machine's metadata server says of it: the tree, made of the instance's document."""

from __future__ import annotations

from typing import Any

from outlast_emulator.compute import links
from outlast_emulator.compute.resources import Instance
from outlast_emulator.iam.state import PROJECT_NUMBER


def tree(instance: Instance, project_items: list[dict[str, str]]) -> dict[str, Any]:
    """Path -> value, for the two directories below `/computeMetadata/v1/`."""
    document = instance.document
    scheduling = document.get("scheduling", {})
    attributes = {one["key"]: one["value"] for one in document.get("metadata", {}).get("items", ())}
    boot: dict[str, Any] = next((one for one in document.get("disks", ()) if one.get("boot")), {})
    return {
        "instance": {
            "attributes": attributes,
            "cpu-platform": document.get("cpuPlatform", ""),
            "description": document.get("description", ""),
            "disks": [_disk(one) for one in document.get("disks", ())],
            "guest-attributes": {},
            "hostname": f"{instance.name}.{instance.zone}.c.{instance.project}.internal",
            "id": instance.id,
            "image": str(boot.get("image", "")),
            "licenses": [],
            "machine-type": f"projects/{PROJECT_NUMBER}/machineTypes/{links.last(document['machineType'])}",
            "maintenance-event": "NONE",
            "name": instance.name,
            "network-interfaces": [_interface(one) for one in document.get("networkInterfaces", ())],
            "preempted": "FALSE",
            "scheduling": {
                "automatic-restart": _word(scheduling.get("automaticRestart", True)),
                "on-host-maintenance": scheduling.get("onHostMaintenance", "MIGRATE"),
                "preemptible": _word(scheduling.get("preemptible", False)),
            },
            "service-accounts": _accounts(document.get("serviceAccounts", ())),
            "tags": list(document.get("tags", {}).get("items", ())),
            "virtual-clock": {"drift-token": "0"},
            "zone": f"projects/{PROJECT_NUMBER}/zones/{instance.zone}",
        },
        "project": {
            "attributes": {one["key"]: one["value"] for one in project_items},
            "numeric-project-id": PROJECT_NUMBER,
            "project-id": instance.project,
        },
    }


def _word(value: Any) -> str:
    return "TRUE" if value else "FALSE"


def _disk(attached: dict[str, Any]) -> dict[str, Any]:
    return {
        "device-name": attached["deviceName"],
        "index": attached["index"],
        "interface": attached.get("interface", "SCSI"),
        "mode": attached.get("mode", "READ_WRITE"),
        "type": "PERSISTENT-BALANCED" if attached.get("type") != "SCRATCH" else "LOCAL-SSD",
    }


def _interface(one: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "access-configs": [
            {"external-ip": config.get("natIP", ""), "type": config.get("type", "ONE_TO_ONE_NAT")}
            for config in one.get("accessConfigs", ())
        ],
        "dns-servers": ["169.254.169.254"],
        "ip": one.get("networkIP", ""),
        "mtu": 1460,
        "network": f"projects/{PROJECT_NUMBER}/networks/{links.last(one.get('network', 'default'))}",
    }
    if not found["access-configs"]:
        del found["access-configs"]
    return found


def _accounts(accounts: Any) -> dict[str, Any]:
    found = {}
    for one in accounts:
        shown = {"aliases": ["default"], "email": one["email"], "scopes": list(one.get("scopes", ()))}
        found["default"] = shown
        found[one["email"]] = shown
    return found
