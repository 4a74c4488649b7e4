"""What Google's roles permit in Compute Engine; only the permissions that the emulator can ask for."""

from __future__ import annotations

from outlast_emulator.iam.compute_methods import DEMANDS

ACT_AS = "iam.serviceAccounts.actAs"

OF_BODIES = frozenset(
    f"compute.{one}"
    for one in (
        "disks.setLabels",
        "disks.use",
        "disks.useReadOnly",
        "images.get",
        "images.getFromFamily",
        "images.list",
        "images.useReadOnly",
        "instanceTemplates.useReadOnly",
        "instances.setLabels",
        "instances.setMetadata",
        "instances.setServiceAccount",
        "instances.setTags",
        "networks.use",
        "networks.useExternalIp",
        "subnetworks.use",
        "subnetworks.useExternalIp",
    )
)
"""Asked for by operations, because a body asks for something more."""

ALL = OF_BODIES | {permission for permissions in DEMANDS.values() for permission in permissions}
_READING = frozenset(
    one
    for one in ALL
    if one.rsplit(".", 1)[1] in ("get", "list", "getFromFamily", "getSerialPortOutput", "useReadOnly")
) - {"compute.disks.useReadOnly"}
_PROJECT = frozenset(("resourcemanager.projects.get",))


def _of(*collections: str) -> frozenset[str]:
    return frozenset(one for one in ALL if one.split(".")[1] in collections)


_PLACES = frozenset(
    one
    for one in _READING
    if one.split(".")[1] in ("zones", "regions", "machineTypes", "acceleratorTypes", "diskTypes", "projects")
)
_OPERATIONS = frozenset(
    one for one in _READING if one.split(".")[1] in ("zoneOperations", "regionOperations", "globalOperations")
)
_NETWORK_USE = frozenset(
    f"compute.{one}"
    for one in (
        "networks.get",
        "networks.list",
        "networks.use",
        "networks.useExternalIp",
        "subnetworks.get",
        "subnetworks.list",
        "subnetworks.use",
        "subnetworks.useExternalIp",
    )
)
_MACHINES = _of(
    "instances", "instanceTemplates", "instanceGroups", "instanceGroupManagers", "autoscalers", "disks", "images"
)

INSTANCE_ADMIN = "roles/compute.instanceAdmin.v1"
GROUPS = _of("instanceGroupManagers", "autoscalers")
"""Whether an instance admin has these is not settled: switch `instance_admin_manages_groups`."""

PERMITTED: dict[str, frozenset[str]] = {
    "roles/owner": ALL,
    "roles/editor": ALL,
    "roles/viewer": _READING | {"compute.instances.getGuestAttributes"},
    "roles/compute.admin": ALL | _PROJECT,
    "roles/compute.viewer": _READING | _PROJECT,
    INSTANCE_ADMIN: _MACHINES
    | _PLACES
    | _OPERATIONS
    | _NETWORK_USE
    | _PROJECT
    | {"compute.projects.setCommonInstanceMetadata", "compute.advice.capacity", "compute.advice.capacityHistory"},
    "roles/compute.networkAdmin": _of("networks", "subnetworks", "firewalls", "routers")
    | _PLACES
    | _OPERATIONS
    | _PROJECT,
    "roles/compute.securityAdmin": _of("firewalls")
    | {"compute.networks.updatePolicy"}
    | _PLACES
    | _OPERATIONS
    | _PROJECT,
    "roles/compute.networkUser": _NETWORK_USE | _PROJECT,
    "roles/compute.networkViewer": frozenset(
        one for one in _READING if one in _of("networks", "subnetworks", "routers")
    )
    | _PROJECT,
    "roles/compute.imageUser": frozenset(
        f"compute.images.{one}" for one in ("get", "list", "getFromFamily", "useReadOnly")
    )
    | _PROJECT,
    "roles/compute.storageAdmin": _of("disks", "images") | _PLACES | _OPERATIONS | _PROJECT,
}
