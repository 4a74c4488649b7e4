"""Buckets and objects as the JSON API shows them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import quote

from outlast_emulator.clock import rfc3339
from outlast_emulator.storage.buckets import Bucket
from outlast_emulator.storage.stored import Departed, Stored


def etag(generation: int, metageneration: int) -> str:
    """Opaque to callers; changes with every write of content or metadata."""
    return base64.b64encode(generation.to_bytes(8, "big") + metageneration.to_bytes(4, "big")).decode()


def md5_text(stored: Stored) -> str:
    return base64.b64encode(stored.md5).decode()


def crc32c_text(stored: Stored) -> str:
    return base64.b64encode(stored.crc32c.to_bytes(4, "big")).decode()


def quoted(name: str) -> str:
    """Percent-encoded, slashes too; `quote` is quick only where there is nothing to do."""
    return "%2F".join([quote(part, safe="") for part in name.split("/")])


def object_resource(
    stored: Stored, url: str, wanted: Collection[str] = (), fields: dict[str, Any] | None = None
) -> dict[str, Any]:
    """`wanted`: nobody asks for other fields; (): for all. `fields`: what callers have set, where that is at hand."""
    names = _MADE if not wanted or "*" in wanted else [name for name in wanted if name in _MADE]
    resource = {name: _MADE[name](stored, url) for name in names}
    if not stored.md5:
        resource.pop("md5Hash", None)
    if not stored.components:
        resource.pop("componentCount", None)
    resource.update(stored.fields if fields is None else fields)
    return resource


def _link(stored: Stored) -> str:
    return f"storage/v1/b/{stored.bucket}/o/{quoted(stored.name)}"


def _created(stored: Stored, url: str) -> str:
    return rfc3339(stored.created_us)


_MADE: dict[str, Callable[[Stored, str], Any]] = {
    "kind": lambda stored, url: "storage#object",
    "id": lambda stored, url: f"{stored.bucket}/{stored.name}/{stored.generation}",
    "selfLink": lambda stored, url: f"{url}/{_link(stored)}",
    "mediaLink": lambda stored, url: f"{url}/download/{_link(stored)}?generation={stored.generation}&alt=media",
    "name": lambda stored, url: stored.name,
    "bucket": lambda stored, url: stored.bucket,
    "generation": lambda stored, url: str(stored.generation),
    "metageneration": lambda stored, url: str(stored.metageneration),
    "storageClass": lambda stored, url: "STANDARD",
    "size": lambda stored, url: str(stored.size),
    "crc32c": lambda stored, url: crc32c_text(stored),
    "etag": lambda stored, url: etag(stored.generation, stored.metageneration),
    "timeCreated": _created,
    "updated": lambda stored, url: rfc3339(stored.updated_us),
    "timeStorageClassUpdated": _created,
    "timeFinalized": _created,
    "md5Hash": lambda stored, url: md5_text(stored),
    "componentCount": lambda stored, url: stored.components,
}
"""What Google says of an object, each made when it is asked for: whoever writes thousands asks for four."""


def departed_resource(departed: Departed, url: str) -> dict[str, Any]:
    resource = object_resource(departed.stored, url)
    resource["softDeleteTime"] = rfc3339(departed.departed_us)
    resource["hardDeleteTime"] = rfc3339(departed.purge_us)
    return resource


def bucket_resource(bucket: Bucket, url: str, *, project_number: int) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "kind": "storage#bucket",
        "id": bucket.name,
        "selfLink": f"{url}/storage/v1/b/{quote(bucket.name, safe='')}",
        "projectNumber": str(project_number),
        "name": bucket.name,
        "metageneration": str(bucket.metageneration),
        "generation": str(bucket.created_us),
        "timeCreated": rfc3339(bucket.created_us),
        "updated": rfc3339(bucket.updated_us),
        "etag": etag(bucket.created_us, bucket.metageneration),
    }
    resource.update(bucket.fields)
    policy = {"effectiveTime": resource["timeCreated"], **resource.get("softDeletePolicy", {})}
    return resource | {"softDeletePolicy": policy}
