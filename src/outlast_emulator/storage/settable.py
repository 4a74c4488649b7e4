"""Which fields of an object's and a bucket's resource a caller may set; the rest is Google's and is ignored when sent."""

from __future__ import annotations

from typing import Any

OBJECT = (
    "contentType",
    "contentEncoding",
    "contentDisposition",
    "contentLanguage",
    "cacheControl",
    "storageClass",
    "metadata",
    "customTime",
    "eventBasedHold",
    "temporaryHold",
    "retention",
    "contexts",
    "acl",
)

BUCKET = (
    "acl",
    "autoclass",
    "billing",
    "cors",
    "customPlacementConfig",
    "defaultEventBasedHold",
    "defaultObjectAcl",
    "encryption",
    "hierarchicalNamespace",
    "iamConfiguration",
    "ipFilter",
    "labels",
    "lifecycle",
    "location",
    "logging",
    "objectRetention",
    "retentionPolicy",
    "rpo",
    "softDeletePolicy",
    "storageClass",
    "versioning",
    "website",
)

METADATA_BYTES_MAX = 8 << 10


def settable(document: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None and name in names}


def patched(fields: dict[str, Any], change: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """By merge: null removes; objects (`metadata`, `labels`, `iamConfiguration`) are merged name by name."""
    result = dict(fields)
    for name in names:
        if name not in change:
            continue
        value = change[name]
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            merged = _merged(result.get(name), value)
            result[name] = merged
            if not merged:
                del result[name]
        else:
            result[name] = value
    return result


def _merged(old: Any, change: dict[str, Any]) -> dict[str, Any]:
    result = dict(old) if isinstance(old, dict) else {}
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = _merged(result.get(name), value)
        else:
            result[name] = value
    return result
