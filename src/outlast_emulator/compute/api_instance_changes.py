"""What may be changed about an instance: labels, metadata, tags, scheduling, its account, its disks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from outlast_emulator.compute import acting, links, machine_types, rules, scheduling_rules
from outlast_emulator.compute.api_instances import found
from outlast_emulator.compute.builder import scheduled
from outlast_emulator.compute.resources import Instance, fingerprint
from outlast_emulator.compute.serving import Document, change, served
from outlast_emulator.errors import ApiError, invalid
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


def routes(emulator: Emulator) -> list[Route]:
    api = _Changes(emulator)
    return served(
        {
            "instances.setLabels": api.set_labels,
            "instances.setMetadata": api.set_metadata,
            "instances.setTags": api.set_tags,
            "instances.setScheduling": api.set_scheduling,
            "instances.setMachineType": api.set_machine_type,
            "instances.setServiceAccount": api.set_service_account,
            "instances.setDeletionProtection": api.set_deletion_protection,
            "instances.setDiskAutoDelete": api.set_disk_auto_delete,
            "instances.attachDisk": api.attach_disk,
            "instances.detachDisk": api.detach_disk,
        }
    )


class _Changes:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._compute = emulator.compute

    # ------------------------------------------------------------------------------------------------------------ fields

    def set_labels(self, request: Request) -> Response:
        body = request.json()
        labels = rules.check_labels(body.get("labels"), "labels")

        def act(instance: Instance) -> None:
            current = fingerprint(instance.document.get("labels", {}))
            rules.check_fingerprint(body.get("labelFingerprint"), current, "labels")
            _put(instance.document, "labels", labels)
            instance.document["labelFingerprint"] = fingerprint(labels)

        return self._changed(request, "setLabels", act)

    def set_metadata(self, request: Request) -> Response:
        body = request.json()
        items = rules.check_metadata(body, "metadata")

        def act(instance: Instance) -> None:
            current = instance.document["metadata"]
            rules.check_fingerprint(body.get("fingerprint"), current["fingerprint"], "metadata")
            _put(current, "items", items)
            current["fingerprint"] = fingerprint(items)
            guest = self._compute.instances.guest(instance)
            if guest is not None:
                guest.attributes({one["key"]: one["value"] for one in items})

        return self._changed(request, "setMetadata", act)

    def set_tags(self, request: Request) -> Response:
        body = request.json()
        items = [rules.check_name(one, "tags.items") for one in body.get("items") or ()]

        def act(instance: Instance) -> None:
            rules.check_fingerprint(body.get("fingerprint"), instance.document["tags"]["fingerprint"], "tags")
            instance.document["tags"] = {**({"items": items} if items else {}), "fingerprint": fingerprint(items)}

        return self._changed(request, "setTags", act)

    def set_scheduling(self, request: Request) -> Response:
        body = request.json()

        def act(instance: Instance) -> None:
            wanted = scheduled(body)
            before = instance.document["scheduling"]
            fixed = ("preemptible", "provisioningModel", "instanceTerminationAction")
            if instance.status != "TERMINATED" and any(wanted.get(one) != before.get(one) for one in fixed):
                raise invalid("Scheduling can only be changed in this way while the instance is stopped.")
            scheduling_rules.check(
                wanted,
                now=self._compute.clock.now(),
                switches=self._compute.switches,
                field="scheduling",
                has_gpus=bool(instance.document.get("guestAccelerators")),
                in_template=False,
            )
            instance.document["scheduling"] = wanted

        return self._changed(request, "setScheduling", act)

    def set_machine_type(self, request: Request) -> Response:
        named = str(request.json().get("machineType", ""))

        def act(instance: Instance) -> None:
            _check_stopped(instance)
            machine = machine_types.find(links.last(named))
            if machine is None or not machine_types.in_zone(machine, instance.zone):
                raise rules.refused("machineType", named, "The referenced machineType resource cannot be found.")
            place = f"projects/{instance.project}/{instance.scope}"
            instance.document["machineType"] = links.url(f"{place}/machineTypes/{machine.name}")

        return self._changed(request, "setMachineType", act)

    def set_service_account(self, request: Request) -> Response:
        body = request.json()
        accounts = [body] if body.get("email") else []
        acting.check(self._emulator, request, accounts)

        def act(instance: Instance) -> None:
            _check_stopped(instance)
            shown = [{"email": body["email"], "scopes": list(body.get("scopes") or [])}] if accounts else []
            _put(instance.document, "serviceAccounts", shown)

        return self._changed(request, "setServiceAccount", act)

    def set_deletion_protection(self, request: Request) -> Response:
        wanted = request.query("deletionProtection", "true").lower() != "false"

        def act(instance: Instance) -> None:
            instance.document["deletionProtection"] = wanted

        return self._changed(request, "updateDeletionProtection", act)

    # ------------------------------------------------------------------------------------------------------------- disks

    def set_disk_auto_delete(self, request: Request) -> Response:
        device, wanted = request.query("deviceName"), request.flag("autoDelete")

        def act(instance: Instance) -> None:
            _attached(instance, device)["autoDelete"] = wanted

        return self._changed(request, "setDiskAutoDelete", act)

    def attach_disk(self, request: Request) -> Response:
        body = request.json()

        def act(instance: Instance) -> None:
            compute = self._compute
            disk = compute.disks.source(body, instance.project, instance.zone)
            if disk is None:
                words = "The referenced disk resource cannot be found."
                raise rules.refused("resource.source", body.get("source", ""), words)
            if disk.document.get("users") and body.get("mode") != "READ_ONLY":
                user = disk.document["users"][0].removeprefix(links.ROOT)
                words = f"The disk resource '{disk.path}' is already being used by '{user}'"
                raise ApiError(400, "resourceInUseByAnotherResource", words)
            at = max(one["index"] for one in instance.document["disks"]) + 1 if instance.document["disks"] else 0
            instance.document["disks"].append(
                {
                    "kind": "compute#attachedDisk",
                    "index": at,
                    "boot": bool(body.get("boot", False)),
                    "autoDelete": bool(body.get("autoDelete", False)),
                    "mode": body.get("mode", "READ_WRITE"),
                    "interface": body.get("interface", "SCSI"),
                    "type": "PERSISTENT",
                    "deviceName": body.get("deviceName") or f"persistent-disk-{at}",
                    "source": disk.url,
                    "diskSizeGb": disk.document["sizeGb"],
                }
            )
            compute.disks.attach(disk, instance)

        return self._changed(request, "attachDisk", act)

    def detach_disk(self, request: Request) -> Response:
        device = request.query("deviceName")

        def act(instance: Instance) -> None:
            attached = _attached(instance, device)
            if attached.get("boot"):
                _check_stopped(instance)
            disk = self._compute.disks.source(attached, instance.project, instance.zone)
            instance.document["disks"].remove(attached)
            if disk is not None:
                self._compute.disks.detach(disk, instance)

        return self._changed(request, "detachDisk", act)

    def _changed(self, request: Request, kind: str, act: Callable[[Instance], None]) -> Response:
        """`act` changes the instance's document, or refuses; what it did is saved."""
        first = found(self._compute, request)

        def call() -> None:
            instance = found(self._compute, request)
            act(instance)
            instance.document["fingerprint"] = fingerprint({**instance.document, "fingerprint": ""})
            self._compute.resources.save(instance)

        return change(self._compute, request, kind, first, call)


def _put(document: Document, name: str, value: object) -> None:
    """Google leaves away what is empty."""
    if value:
        document[name] = value
    else:
        document.pop(name, None)


def _attached(instance: Instance, device: str) -> Document:
    for one in instance.document["disks"]:
        if one["deviceName"] == device:
            attached: Document = one
            return attached
    raise rules.refused("deviceName", device, "No attached disk found with device name.")


def _check_stopped(instance: Instance) -> None:
    if instance.status != "TERMINATED":
        raise invalid("Invalid resource usage: 'The instance must be stopped to perform this operation.'.")
