"""Makes an instance from what a client or a template asked for: checks all of it, fills in what was left away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import links, machine_types, places, rules, scheduling_rules
from outlast_emulator.compute.accelerators import ACCELERATORS
from outlast_emulator.compute.instance_disks import InstanceDisks, attached, is_arm
from outlast_emulator.compute.resources import Instance, fingerprint
from outlast_emulator.errors import ApiError, invalid

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

Document = dict[str, Any]

KEPT = (
    "description",
    "canIpForward",
    "minCpuPlatform",
    "deletionProtection",
    "shieldedInstanceConfig",
    "reservationAffinity",
    "confidentialInstanceConfig",
    "advancedMachineFeatures",
    "hostname",
    "resourcePolicies",
    "keyRevocationActionType",
    "networkPerformanceConfig",
    "displayDevice",
)
"""Fields that are answered as they were sent."""


class Builder:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        self._disks = InstanceDisks(compute)

    def build(self, project: str, zone: str, body: Document, by: str) -> Instance:
        """A PROVISIONING instance with its disks. Refused as by Google, before anything is made."""
        compute = self._compute
        places.check_zone(zone)
        name = rules.check_name(body.get("name"))
        scope = links.zone_scope(zone)
        if compute.resources.peek("instances", project, scope, name) is not None:
            raise ApiError(
                409, "alreadyExists", f"The resource 'projects/{project}/{scope}/instances/{name}' already exists"
            )
        machine = self._machine_type(body.get("machineType"), project, zone)
        document = self._document(project, zone, body, machine, by)
        planned = self._disks.planned(project, zone, name, body, machine)
        compute.capacity.check(project, zone, document)
        # Disks are made last: an interface may still be refused, and nothing is left behind then.
        document["networkInterfaces"] = [
            compute.networks.interface(one, project, zone, at) for at, one in enumerate(body["networkInterfaces"])
        ]
        document["disks"] = [
            attached(at, asked, self._disks.made(project, zone, disk, image), machine)
            for at, (asked, disk, image) in enumerate(planned)
        ]
        made = compute.resources.add("instances", project, scope, name, document)
        made.state["created_at"] = compute.clock.now()
        for one in document["disks"]:
            disk = compute.disks.source(one, project, zone)
            if disk is not None:
                compute.disks.attach(disk, made)
        return made

    def _document(
        self, project: str, zone: str, body: Document, machine: machine_types.MachineType, by: str
    ) -> Document:
        compute = self._compute
        if not body.get("networkInterfaces"):
            raise rules.refused("resource.networkInterfaces", "", "At least one network interface is required.")
        labels = rules.check_labels(body.get("labels"))
        items = rules.check_metadata(body.get("metadata"))
        if by:
            items = [
                *(one for one in items if one["key"] != "created-by"),
                {"key": "created-by", "value": links.numbered(by)},
            ]
        tags = list((body.get("tags") or {}).get("items") or [])
        for at, tag in enumerate(tags):
            rules.check_name(tag, f"resource.tags.items[{at}]")
        accelerators = self._accelerators(body.get("guestAccelerators"), project, zone, machine)
        has_gpus = bool(accelerators or machine.accelerator)
        scheduling = scheduled(body.get("scheduling") or {})
        scheduling_rules.check(
            scheduling,
            now=compute.clock.now(),
            switches=compute.switches,
            field="resource.scheduling",
            has_gpus=has_gpus,
            in_template=False,
        )
        document: Document = {
            "kind": "compute#instance",
            "creationTimestamp": rfc3339(int(compute.clock.now() * 1e6)),
            "status": "PROVISIONING",
            "zone": links.url(f"projects/{project}/zones/{zone}"),
            "machineType": links.url(f"projects/{project}/zones/{zone}/machineTypes/{machine.name}"),
            "cpuPlatform": "Ampere Altra" if is_arm(machine) else "Intel Cascade Lake",
            "tags": {"items": tags, "fingerprint": fingerprint(tags)} if tags else {"fingerprint": fingerprint(tags)},
            "metadata": {"kind": "compute#metadata", "fingerprint": fingerprint(items)},
            "labelFingerprint": fingerprint(labels),
            "scheduling": scheduling,
            "serviceAccounts": self._accounts(body.get("serviceAccounts")),
            "startRestricted": False,
            "deletionProtection": False,
            "canIpForward": False,
            "fingerprint": fingerprint([project, zone, body.get("name")]),
            "lastStartTimestamp": rfc3339(int(compute.clock.now() * 1e6)),
            "shieldedInstanceConfig": {
                "enableSecureBoot": False,
                "enableVtpm": True,
                "enableIntegrityMonitoring": True,
            },
            "shieldedInstanceIntegrityPolicy": {"updateAutoLearnPolicy": True},
        }
        if items:
            document["metadata"]["items"] = items
        if labels:
            document["labels"] = labels
        if accelerators:
            document["guestAccelerators"] = accelerators
        if not document["serviceAccounts"]:
            del document["serviceAccounts"]
        document.update({name: body[name] for name in KEPT if body.get(name) is not None})
        return document

    def _machine_type(self, named: str | None, project: str, zone: str) -> machine_types.MachineType:
        if not named:
            raise rules.refused("resource.machineType", "", "Machine type must be specified.")
        link = links.parse(named, "machineTypes", project, links.zone_scope(zone))
        found = machine_types.find(link.name) if link is not None and link.scope == links.zone_scope(zone) else None
        if found is None or not machine_types.in_zone(found, zone):
            wanted = links.last(named)
            raise rules.refused(
                "resource.machineType", named, f"Machine type with name '{wanted}' does not exist in zone '{zone}'."
            )
        return found

    def _accelerators(
        self, asked: list[Document] | None, project: str, zone: str, machine: machine_types.MachineType
    ) -> list[Document]:
        found = []
        if machine.accelerator and not asked:
            asked = [{"acceleratorType": machine.accelerator, "acceleratorCount": machine.accelerators}]
        for one in asked or ():
            named, count = one.get("acceleratorType", ""), int(one.get("acceleratorCount", 0))
            link = links.parse(named, "acceleratorTypes", project, links.zone_scope(zone))
            name = link.name if link is not None else ""
            if not machine_types.accelerator_in_zone(name, zone):
                words = "The referenced acceleratorType resource cannot be found."
                raise rules.refused("resource.guestAccelerators[0].acceleratorType", named, words)
            if machine.accelerator and (name, count) != (machine.accelerator, machine.accelerators):
                raise invalid(
                    f"[{machine.name}, {count} {name}] features are not compatible for creating instance. The machine type "
                    f"{machine.name} requires {machine.accelerators} {machine.accelerator}."
                )
            if not machine.accelerator and machine.family != "n1":
                raise invalid(f"[{machine.name}, {name}] features are not compatible for creating instance.")
            if not 1 <= count <= ACCELERATORS[name].cards_max or count & (count - 1):
                raise rules.refused(
                    "resource.guestAccelerators[0].acceleratorCount",
                    count,
                    f"The number of {name} accelerators must be a power of two up to {ACCELERATORS[name].cards_max}.",
                )
            kind = links.url(f"projects/{project}/zones/{zone}/acceleratorTypes/{name}")
            found.append({"acceleratorType": kind, "acceleratorCount": count})
        return found

    def _accounts(self, asked: list[Document] | None) -> list[Document]:
        accounts = list(asked or ())
        if len(accounts) > 1:
            raise invalid(
                "Invalid value for field 'resource.serviceAccounts': ''. At most one service account is allowed."
            )
        found = []
        for one in accounts:
            email = one.get("email") or "default"
            email = self._compute.default_account if email == "default" else email
            found.append({"email": email, "scopes": list(one.get("scopes") or [])})
        return found


def scheduled(asked: Document) -> Document:
    """`scheduling` with what Google fills in."""
    found = dict(asked)
    spot = scheduling_rules.is_preemptible(found)
    found.setdefault("provisioningModel", "SPOT" if spot and "provisioningModel" in asked else "STANDARD")
    if spot:
        found["provisioningModel"] = asked.get("provisioningModel") or "SPOT"
    found.setdefault("preemptible", spot)
    found.setdefault("onHostMaintenance", "TERMINATE" if spot else "MIGRATE")
    found.setdefault("automaticRestart", not spot)
    return found
