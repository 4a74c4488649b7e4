"""Disks: made with an instance or alone, kept or dropped with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import links, machine_types, rules
from outlast_emulator.compute.resources import Instance, Resource, fingerprint
from outlast_emulator.errors import ApiError

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

KIND = "disks"
SIZE_GB_MAX = 65536


class Disks:
    """A disk's contents are kept by whoever runs machines, under the disk's number."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def create(self, project: str, zone: str, body: dict[str, Any], *, field: str = "resource") -> Resource:
        """`body` is that of `disks.insert`. What is wrong with it is refused with the name of `field`."""
        compute = self._compute
        source = self._copied(project, zone, body, field)
        if source is not None:
            body = {"type": source.document["type"], "sizeGb": source.document["sizeGb"], **body}
        document, image = self.planned(project, zone, body, field=field)
        with compute.database.write():
            made = compute.resources.add(KIND, project, links.zone_scope(zone), document["name"], document)
            made.state["image"] = image.id if image is not None else 0
            if source is not None:  # what it holds is kept as an image under its own number, once it is copied
                made.document.update(sourceDisk=source.url, sourceDiskId=str(source.id))
                made.state.update(image=made.id, copied=source.id)
            compute.resources.save(made)
            compute.usage.begin_disk(made)
        return made

    def planned(
        self, project: str, zone: str, body: dict[str, Any], *, field: str = "resource"
    ) -> tuple[dict[str, Any], Resource | None]:
        """The document of a disk that is not made yet, and the image that it is made of; all checks are done."""
        compute = self._compute
        name = rules.check_name(body.get("name"), f"{field}.name")
        if compute.resources.peek(KIND, project, links.zone_scope(zone), name) is not None:
            raise ApiError(
                409, "alreadyExists", f"The resource 'projects/{project}/zones/{zone}/disks/{name}' already exists"
            )
        kind = disk_type(body.get("type"), project, zone, f"{field}.type")
        image = None
        if body.get("sourceImage"):
            image = compute.images.usable(body["sourceImage"], project, f"{field}.sourceImage")
        size = disk_size(body.get("sizeGb"), image, kind, f"{field}.sizeGb")
        labels = rules.check_labels(body.get("labels"), f"{field}.labels")
        document: dict[str, Any] = {
            "kind": "compute#disk",
            "name": name,
            "creationTimestamp": rfc3339(int(compute.clock.now() * 1e6)),
            "sizeGb": str(size),
            "zone": links.url(f"projects/{project}/zones/{zone}"),
            "status": "READY",
            "type": links.url(f"projects/{project}/zones/{zone}/diskTypes/{kind}"),
            "labelFingerprint": fingerprint(labels),
            "physicalBlockSizeBytes": "4096",
        }
        if labels:
            document["labels"] = labels
        for kept in ("description", "guestOsFeatures", "architecture"):
            if body.get(kept):
                document[kept] = body[kept]
        if image is not None:
            document["sourceImage"] = image.url
            document["sourceImageId"] = str(image.id)
            for inherited in ("guestOsFeatures", "licenses", "architecture"):
                if image.document.get(inherited) and inherited not in document:
                    document[inherited] = image.document[inherited]
        return document, image

    def _copied(self, project: str, zone: str, body: dict[str, Any], field: str) -> Resource | None:
        """The disk that a new one is a copy of."""
        if not body.get("sourceDisk"):
            return None
        if body.get("sourceImage"):
            raise rules.refused(f"{field}.sourceDisk", body["sourceDisk"], "Only one source can be specified.")
        link = links.parse(body["sourceDisk"], KIND, project, links.zone_scope(zone))
        found = self._compute.resources.at(link) if link is not None else None
        if found is None or found.scope != links.zone_scope(zone):
            words = "The referenced disk resource cannot be found."
            raise rules.refused(f"{field}.sourceDisk", body["sourceDisk"], words)
        if body.get("sizeGb") and int(body["sizeGb"]) < int(found.document["sizeGb"]):
            words = "Requested disk size cannot be smaller than the source disk size."
            raise rules.refused(f"{field}.sizeGb", body["sizeGb"], words)
        return found

    def attach(self, disk: Resource, instance: Instance) -> None:
        with self._compute.database.write():
            users = disk.document.setdefault("users", [])
            if instance.url not in users:
                users.append(instance.url)
            disk.document["lastAttachTimestamp"] = rfc3339(int(self._compute.clock.now() * 1e6))
            self._compute.resources.save(disk)

    def detach(self, disk: Resource, instance: Instance) -> None:
        with self._compute.database.write():
            users = [one for one in disk.document.get("users", []) if one != instance.url]
            disk.document.pop("users", None)
            if users:
                disk.document["users"] = users
            disk.document["lastDetachTimestamp"] = rfc3339(int(self._compute.clock.now() * 1e6))
            self._compute.resources.save(disk)

    def let_go(self, instance: Instance) -> None:
        """Of an instance that is being deleted: `autoDelete` ones are removed, the others have one user less."""
        for attached in instance.document.get("disks", ()):
            disk = self.source(attached, instance.project, instance.zone)
            if disk is None:
                continue
            if attached.get("autoDelete"):
                self.remove(disk)
            else:
                self.detach(disk, instance)

    def source(self, attached: dict[str, Any], project: str, zone: str) -> Resource | None:
        """The disk that an element of an instance's `disks` names."""
        link = links.parse(attached.get("source", ""), KIND, project, links.zone_scope(zone))
        return self._compute.resources.at(link) if link is not None else None

    def boot_disk(self, instance: Instance) -> Resource | None:
        for attached in instance.document.get("disks", ()):
            if attached.get("boot"):
                return self.source(attached, instance.project, instance.zone)
        return None

    def delete(self, disk: Resource) -> None:
        """400 while an instance uses it."""
        users = disk.document.get("users", [])
        if users:
            user = users[0].removeprefix(links.ROOT)
            raise ApiError(
                400,
                "resourceInUseByAnotherResource",
                f"The disk resource '{disk.path}' is already being used by '{user}'",
            )
        self.remove(disk)

    def remove(self, disk: Resource) -> None:
        compute = self._compute
        with compute.database.write():
            compute.resources.remove(disk)
            compute.usage.end(disk)
            compute.scheduler.later(0, "disks.drop", number=disk.id)
            if disk.state.get("copied"):
                compute.scheduler.later(0, "images.drop", number=disk.id)


def disk_type(named: str | None, project: str, zone: str, field: str) -> str:
    if not named:
        return "pd-standard"
    link = links.parse(named, "diskTypes", project, links.zone_scope(zone))
    if link is None or link.name not in machine_types.DISK_TYPES or link.scope != links.zone_scope(zone):
        raise rules.refused(field, named, "The referenced diskType resource cannot be found.")
    return link.name


def disk_size(asked: Any, image: Resource | None, kind: str, field: str) -> int:
    """In GB: what was asked for, else the image's, else the type's."""
    least = int(image.document.get("diskSizeGb", 10)) if image is not None else 1
    if not asked:
        return least if image is not None else machine_types.DISK_TYPES[kind][1]
    size = int(asked)
    if size < least:
        raise rules.refused(field, size, f"Requested disk size cannot be smaller than the image size ({least} GB)")
    if size > SIZE_GB_MAX:
        raise rules.refused(field, size, f"Disk size must be between 10 GB and {SIZE_GB_MAX} GB, inclusive.")
    return size
