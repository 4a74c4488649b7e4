"""Which permissions Compute Engine's methods ask for, from Google's pages of permissions.

What depends on the body (an address outside, a service account, an image of somebody else's) is asked for by the operation
itself. `getFromFamily` and its like of Google's own projects are everybody's: their operations ask, too.
"""

from __future__ import annotations

DEMANDS: dict[str, tuple[str, ...]] = {}
"""Method -> permissions on the project."""


def _add(collection: str, permission_of: str, **verbs: str) -> None:
    """`_add("zones", "zones", get="get")`: method -> permissions, several with a plus between them."""
    for method, permissions in verbs.items():
        DEMANDS[f"compute.{collection}.{method}"] = tuple(
            f"compute.{one}" if "." in one else f"compute.{permission_of}.{one}"
            for one in permissions.split("+")
            if one
        )


for _read in ("zones", "regions", "machineTypes", "acceleratorTypes", "diskTypes"):
    _add(_read, _read, get="get", list="list", aggregatedList="list")
for _operations in ("zoneOperations", "regionOperations", "globalOperations"):
    _add(_operations, _operations, get="get", list="list", wait="get", delete="delete", aggregatedList="list")
_add("projects", "projects", get="get", setCommonInstanceMetadata="setCommonInstanceMetadata")
_add(
    "instances",
    "instances",
    get="get",
    list="list",
    aggregatedList="list",
    insert="create",
    delete="delete",
    start="start",
    stop="stop",
    reset="reset",
    simulateMaintenanceEvent="simulateMaintenanceEvent",
    testIamPermissions="",
    setLabels="setLabels",
    setMetadata="setMetadata",
    setTags="setTags",
    setScheduling="setScheduling",
    setMachineType="setMachineType",
    setServiceAccount="setServiceAccount",
    setDeletionProtection="setDeletionProtection",
    setDiskAutoDelete="setDiskAutoDelete+disks.update",
    attachDisk="attachDisk+disks.use",
    detachDisk="detachDisk",
    getSerialPortOutput="getSerialPortOutput",
    getGuestAttributes="getGuestAttributes",
)
_add(
    "disks",
    "disks",
    get="get",
    list="list",
    aggregatedList="list",
    insert="create",
    delete="delete",
    resize="resize",
    setLabels="setLabels",
)
_add(
    "images",
    "images",
    get="",
    list="",
    getFromFamily="",
    insert="create",
    delete="delete",
    deprecate="deprecate",
    setLabels="setLabels",
)
_add("imageFamilyViews", "images", get="")
_add("networks", "networks", get="get", list="list", insert="create", delete="delete")
_add(
    "subnetworks",
    "subnetworks",
    get="get",
    list="list",
    aggregatedList="list",
    insert="create+networks.updatePolicy",
    delete="delete",
    setPrivateIpGoogleAccess="setPrivateIpGoogleAccess",
)
_add(
    "firewalls",
    "firewalls",
    get="get",
    list="list",
    insert="create+networks.updatePolicy",
    patch="update+networks.updatePolicy",
    delete="delete+networks.updatePolicy",
)
_add("routers", "routers", get="get", list="list", aggregatedList="list", insert="create", delete="delete")
_add("advice", "advice", capacity="capacity", capacityHistory="capacityHistory")
for _templates in ("instanceTemplates", "regionInstanceTemplates"):
    _add(
        _templates,
        "instanceTemplates",
        get="get",
        list="list",
        aggregatedList="list",
        insert="create",
        delete="delete",
    )
for _groups in ("instanceGroupManagers", "regionInstanceGroupManagers"):
    _add(
        _groups,
        "instanceGroupManagers",
        get="get",
        list="list",
        aggregatedList="list",
        listManagedInstances="get",
        listErrors="get",
        listPerInstanceConfigs="get",
        insert="create+instances.create+instanceTemplates.useReadOnly",
        delete="delete",
        patch="update",
        resize="update",
        deleteInstances="update",
        recreateInstances="update",
        abandonInstances="update",
        createInstances="update",
        applyUpdatesToInstances="update",
        setInstanceTemplate="update+instanceTemplates.useReadOnly",
    )
for _unmanaged in ("instanceGroups", "regionInstanceGroups"):
    _add(_unmanaged, "instanceGroups", get="get", list="list", aggregatedList="list", listInstances="list")
for _scalers in ("autoscalers", "regionAutoscalers"):
    _add(_scalers, "autoscalers", get="get", list="list", aggregatedList="list")
