"""Buckets and objects as the JSON API shows them."""

from __future__ import annotations

import base64
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


def object_resource(stored: Stored, url: str) -> dict[str, Any]:
    path = f"{stored.bucket}/o/{quoted(stored.name)}"
    created = rfc3339(stored.created_us)
    resource: dict[str, Any] = {
        "kind": "storage#object",
        "id": f"{stored.bucket}/{stored.name}/{stored.generation}",
        "selfLink": f"{url}/storage/v1/b/{path}",
        "mediaLink": f"{url}/download/storage/v1/b/{path}?generation={stored.generation}&alt=media",
        "name": stored.name,
        "bucket": stored.bucket,
        "generation": str(stored.generation),
        "metageneration": str(stored.metageneration),
        "storageClass": "STANDARD",
        "size": str(stored.size),
        "crc32c": crc32c_text(stored),
        "etag": etag(stored.generation, stored.metageneration),
        "timeCreated": created,
        "updated": created if stored.updated_us == stored.created_us else rfc3339(stored.updated_us),
        "timeStorageClassUpdated": created,
        "timeFinalized": created,
    }
    if stored.md5:
        resource["md5Hash"] = md5_text(stored)
    if stored.components:
        resource["componentCount"] = stored.components
    resource.update(stored.fields)
    return resource


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
