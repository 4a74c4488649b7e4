"""The disks of an instance that is made: those that are there, and those that are made with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import disks, links, machine_types, rules
from outlast_emulator.compute.resources import Resource
from outlast_emulator.errors import ApiError, invalid

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

Document = dict[str, Any]


class InstanceDisks:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def planned(
        self, project: str, zone: str, name: str, body: Document, machine: machine_types.MachineType
    ) -> list[tuple[Document, Document | Resource, Resource | None]]:
        """What was asked for each, and the disk: one that is there, or the document of a new one with its image."""
        asked = list(body.get("disks") or ())
        if not asked:
            raise rules.refused("resource.disks", "", "No disks are specified.")
        if not asked[0].get("boot"):
            raise rules.refused(
                "resource.disks[0].boot", "false", "Boot disk must be the first disk attached to the instance."
            )
        found: list[tuple[Document, Document | Resource, Resource | None]] = []
        for at, one in enumerate(asked):
            field = f"resource.disks[{at}]"
            if one.get("source"):
                found.append((one, self._existing(one["source"], project, zone, field), None))
                continue
            if one.get("type") == "SCRATCH":
                found.append((one, {}, None))
                continue
            wanted = dict(one.get("initializeParams") or {})
            if at == 0 and not wanted.get("sourceImage"):
                raise rules.refused(
                    f"{field}.initializeParams.sourceImage", "", "A boot disk must have a source image."
                )
            kind = wanted.get("diskType") or (
                "hyperdisk-balanced" if machine.family in machine_types.HYPERDISK_ONLY else ""
            )
            self._check_compatible(machine, links.last(kind or "pd-standard"))
            own_name = wanted.get("diskName") or (name if at == 0 else f"{name}-{one.get('deviceName') or at}")
            new = {
                "name": own_name,
                "sizeGb": wanted.get("diskSizeGb") or one.get("diskSizeGb"),
                "type": kind or None,
                "sourceImage": wanted.get("sourceImage"),
                "labels": wanted.get("labels"),
                "description": wanted.get("description"),
            }
            document, image = self._compute.disks.planned(project, zone, new, field=f"{field}.initializeParams")
            if image is not None and at == 0:
                self._check_architecture(machine, image)
            found.append((one, document, image))
        return found

    def _existing(self, source: str, project: str, zone: str, field: str) -> Resource:
        link = links.parse(source, "disks", project, links.zone_scope(zone))
        disk = self._compute.resources.at(link) if link is not None else None
        if disk is None or disk.zone != zone:
            raise rules.refused(f"{field}.source", source, "The referenced disk resource cannot be found.")
        if disk.document.get("users"):
            user = disk.document["users"][0].removeprefix(links.ROOT)
            words = f"The disk resource '{disk.path}' is already being used by '{user}'"
            raise ApiError(400, "resourceInUseByAnotherResource", words)
        return disk

    def _check_compatible(self, machine: machine_types.MachineType, kind: str) -> None:
        if machine.family in machine_types.HYPERDISK_ONLY and kind.startswith("pd-"):
            raise invalid(
                f"[{kind}] features and [instance_type: {machine.name}] are not compatible for creating instance."
            )

    def _check_architecture(self, machine: machine_types.MachineType, image: Resource) -> None:
        wanted = "ARM64" if is_arm(machine) else "X86_64"
        if image.document.get("architecture", wanted) != wanted:
            raise invalid(
                f"The requested machine type {machine.name} has architecture {wanted}, but the image '{image.path}' has "
                f"architecture {image.document['architecture']}."
            )

    def made(self, project: str, zone: str, disk: Document | Resource, image: Resource | None) -> Resource | None:
        if isinstance(disk, Resource):
            return disk
        if not disk:
            return None
        compute = self._compute
        made = compute.resources.add(disks.KIND, project, links.zone_scope(zone), disk["name"], disk)
        made.state["image"] = image.id if image is not None else 0
        compute.resources.save(made)
        compute.usage.begin_disk(made)
        return made


def attached(at: int, asked: Document, disk: Resource | None, machine: machine_types.MachineType) -> Document:
    found: Document = {
        "kind": "compute#attachedDisk",
        "index": at,
        "boot": at == 0,
        "autoDelete": bool(asked.get("autoDelete", False)),
        "mode": asked.get("mode", "READ_WRITE"),
        "interface": asked.get("interface") or ("NVME" if machine.family in machine_types.HYPERDISK_ONLY else "SCSI"),
        "type": asked.get("type", "PERSISTENT"),
        "deviceName": asked.get("deviceName") or f"persistent-disk-{at}",
    }
    if disk is not None:
        found["source"] = disk.url
        found["diskSizeGb"] = disk.document["sizeGb"]
        for inherited in ("guestOsFeatures", "licenses", "architecture"):
            if disk.document.get(inherited):
                found[inherited] = disk.document[inherited]
    return found


def is_arm(machine: machine_types.MachineType) -> bool:
    return machine_types.FAMILIES.get(machine.family, machine_types.FAMILIES["n1"]).arm
