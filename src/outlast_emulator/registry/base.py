"""`library/python`: a base image for those who reach no other registry; its file system is that of this computer.

It has one layer with one small file. The emulator's containers know that layer by its digest, and lay this computer's root
below it, as machines of Compute Engine have it; elsewhere it is an image without a system.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import tarfile
from functools import cache
from typing import Any

from outlast_emulator.registry.blobs import Blobs

NAME = "library/python"
TEXT = b"The file system of the computer on which the emulator runs lies below this layer.\n"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PLATFORM = {"architecture": "arm64" if platform.machine() in ("aarch64", "arm64") else "amd64", "os": "linux"}


def put(blobs: Blobs, digest: str) -> bool:
    """Whether it is one of its blobs, which then is there."""
    return _put(blobs, next((data for data in (layer(), config()) if digest_of(data) == digest), None))


def put_manifest(blobs: Blobs) -> str:
    _put(blobs, manifest())
    return digest_of(manifest())


def _put(blobs: Blobs, data: bytes | None) -> bool:
    if data is not None and not blobs.has(digest_of(data)):
        blobs.put(data)
    return data is not None


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@cache
def _tar() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        entry = tarfile.TarInfo("etc/emulated-base")
        entry.size, entry.mode = len(TEXT), 0o644
        archive.addfile(entry, io.BytesIO(TEXT))
    return held.getvalue()


@cache
def layer() -> bytes:
    return gzip.compress(_tar(), mtime=0)


@cache
def config() -> bytes:
    document: dict[str, Any] = {
        **PLATFORM,
        "config": {"Env": [f"PATH={PATH}", "LANG=C.UTF-8"], "Cmd": ["python3"]},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(_tar())]},
        "history": [{"created_by": "the emulator"}],
    }
    return json.dumps(document, sort_keys=True).encode()


@cache
def manifest() -> bytes:
    of = "application/vnd.oci.image"
    document = {
        "schemaVersion": 2,
        "mediaType": f"{of}.manifest.v1+json",
        "config": {"mediaType": f"{of}.config.v1+json", "digest": digest_of(config()), "size": len(config())},
        "layers": [{"mediaType": f"{of}.layer.v1.tar+gzip", "digest": digest_of(layer()), "size": len(layer())}],
    }
    return json.dumps(document, sort_keys=True).encode()
