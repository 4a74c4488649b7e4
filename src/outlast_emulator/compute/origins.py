"""Where the behaviour of Compute Engine's methods is from (see `outlast_emulator.sources`)."""

from __future__ import annotations

_READ = {"document": "fields"}
_LIST = {
    "document": "paging, ordering",
    "report": "both forms of filters, as gcloud sends them",
    "guess": "a filter's rarer functions",
}
_INSERT = {"document": "`requestId`, an operation", "report": "the words of refusals"}
_DELETE = {"document": "`requestId`, an operation"}
_SET = {"document": "an operation"}
_FINGERPRINT = {"document": "412 for a fingerprint that is not the current one", "report": "the words of refusals"}
_OPERATION = {"document": "fields; `wait` returns after two minutes at the latest"}
_PLACES = {"document": "fields", "page": "names and sizes", "guess": "which zone has which type, on some day"}
_GROUP = {
    **_INSERT,
    "page": "repairs, shapes, zones, flexibility, and what excludes what",
    "guess": "each combination that is not settled is a switch",
}
_GROUP_DELETE = {**_DELETE, "page": "its machines go first"}
_MANAGED = {"document": "`lastAttempt`, actions, errors", "guess": "how often a group tries again"}
_EMPTY = {"report": "asked for by gcloud; always empty here"}
_UPDATE = {"document": "an operation that is done when the group has begun"}

ORIGINS: dict[str, dict[str, str]] = {
    "compute.unknown": {"document": "501 for every other path below `/compute/v1/`"},
    "compute.batch": {"page": "multipart/mixed", "report": "as gcloud sends it"},
    "compute.advice.capacity": {
        "document": "fields",
        "guess": "all numbers: high, or low where capacity was taken away",
    },
    "compute.advice.capacityHistory": {
        "document": "fields",
        "guess": "all rates; the price is the ledger's, for the last week",
    },
    "compute.projects.get": _READ,
    "compute.projects.setCommonInstanceMetadata": _FINGERPRINT,
    "compute.instances.insert": {
        **_INSERT,
        "page": "rules of names, labels, metadata and scheduling; what Spot excludes",
        "guess": "whether stock-outs and quotas refuse at once: switches `stockout_refused_at_once`, `quota_refused_at_once`",
    },
    "compute.instances.delete": {**_DELETE, "guess": "how long it takes: switch `delete_seconds`"},
    "compute.instances.start": {**_SET, "page": "the disk is the same, the preemption begins anew"},
    "compute.instances.stop": {**_SET, "page": "soft-off, then TERMINATED; the disk stays"},
    "compute.instances.reset": {**_SET, "page": "no soft-off"},
    "compute.instances.simulateMaintenanceEvent": {
        "document": "an operation",
        "report": "a Spot machine is really preempted",
        "page": "notices before a host's maintenance",
    },
    "compute.instances.getSerialPortOutput": {
        "document": "the last megabyte, `start` and `next`",
        "guess": "whether a stopped machine's can be read: switch `serial_after_stop`",
    },
    "compute.instances.getGuestAttributes": {"document": "`queryPath`", "report": "404 for what is not there"},
    "compute.instances.setLabels": _FINGERPRINT,
    "compute.instances.setMetadata": _FINGERPRINT,
    "compute.instances.setTags": _FINGERPRINT,
    "compute.instances.setScheduling": {**_SET, "guess": "what may be changed while it runs"},
    "compute.disks.setLabels": _FINGERPRINT,
    "compute.images.setLabels": _FINGERPRINT,
    "compute.images.insert": {**_INSERT, "page": "`forceCreate` for a disk that is in use", "guess": "`image_seconds`"},
    "compute.images.getFromFamily": {"document": "the newest that is not deprecated"},
    "compute.images.deprecate": {"document": "states"},
    "compute.imageFamilyViews.get": {"document": "fields", "guess": "no rollouts"},
    "compute.disks.insert": _INSERT,
    "compute.disks.resize": {**_SET, "page": "only larger"},
    "compute.regions.get": {"document": "fields", "page": "names of quotas", "guess": "limits of a project"},
}


def _add(origin: dict[str, str], collection: str, *methods: str) -> None:
    for method in methods:
        ORIGINS.setdefault(f"compute.{collection}.{method}", origin)


_add(_READ, "instances", "get", "testIamPermissions")
_add(_LIST, "instances", "list", "aggregatedList")
_add(_SET, "instances", "attachDisk", "detachDisk", "setDiskAutoDelete", "setDeletionProtection")
_add(_SET, "instances", "setMachineType", "setServiceAccount")
for _collection in ("disks", "images", "networks", "subnetworks", "firewalls", "routers"):
    _add(_READ, _collection, "get")
    _add(_LIST, _collection, "list")
    _add(_INSERT, _collection, "insert")
    _add(_DELETE, _collection, "delete")
for _collection in ("disks", "subnetworks", "routers"):
    _add(_LIST, _collection, "aggregatedList")
_add(_SET, "subnetworks", "setPrivateIpGoogleAccess")
_add(_SET, "firewalls", "patch")
for _collection in ("zoneOperations", "regionOperations", "globalOperations"):
    _add(_OPERATION, _collection, "get", "wait", "delete")
    _add(_LIST, _collection, "list")
_add(_LIST, "globalOperations", "aggregatedList")
for _collection in ("machineTypes", "acceleratorTypes", "diskTypes"):
    _add(_PLACES, _collection, "get", "list", "aggregatedList")
for _collection in ("zones", "regions"):
    _add(_PLACES, _collection, "get", "list")
for _collection in ("instanceTemplates", "regionInstanceTemplates"):
    _add(_READ, _collection, "get")
    _add(_LIST, _collection, "list")
    _add(_INSERT, _collection, "insert")
    _add(_DELETE, _collection, "delete")
_add(_LIST, "instanceTemplates", "aggregatedList")
for _collection in ("instanceGroupManagers", "regionInstanceGroupManagers"):
    _add(_READ, _collection, "get")
    _add(_LIST, _collection, "list")
    _add(_GROUP, _collection, "insert")
    _add(_GROUP_DELETE, _collection, "delete")
    _add(_MANAGED, _collection, "listManagedInstances", "listErrors")
    _add(_UPDATE, _collection, "patch", "resize", "setInstanceTemplate", "applyUpdatesToInstances")
    _add(_UPDATE, _collection, "deleteInstances", "recreateInstances", "abandonInstances", "createInstances")
for _collection in ("instanceGroups", "regionInstanceGroups"):
    _add(_READ, _collection, "get")
    _add(_LIST, _collection, "list", "listInstances")
_add(_LIST, "instanceGroupManagers", "aggregatedList")
_add(_LIST, "instanceGroups", "aggregatedList")
_add(_EMPTY, "autoscalers", "aggregatedList")
for _collection in ("autoscalers", "regionAutoscalers"):
    _add(_EMPTY, _collection, "list")
