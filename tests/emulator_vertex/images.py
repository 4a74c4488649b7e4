"""Small images, made here and pushed by plain requests."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from outlast_emulator.testing import Running

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def tar(files: dict[str, bytes], *, links: dict[str, str] | None = None) -> bytes:
    """Path -> contents; names that end with `.sh` can be run."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(entry, io.BytesIO(data))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return held.getvalue()


def system(*programs: str) -> bytes:
    """A layer with these programs of this computer, with the libraries that they need, and two users."""
    held = io.BytesIO()
    needed: dict[str, Path] = {}
    for name in programs:
        path = Path(str(shutil.which(name))).resolve()
        needed[f"bin/{name}"] = path
        listed = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+)", listed):
            needed[library.lstrip("/")] = Path(library).resolve()
    users = b"root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n"
    with tarfile.open(fileobj=held, mode="w") as archive:
        for place, path in needed.items():
            entry = tarfile.TarInfo(place)
            entry.size, entry.mode = path.stat().st_size, 0o755
            archive.addfile(entry, io.BytesIO(path.read_bytes()))
        entry = tarfile.TarInfo("etc/passwd")
        entry.size = len(users)
        archive.addfile(entry, io.BytesIO(users))
    return held.getvalue()


def push_blob(emulator: Running, name: str, data: bytes, headers: dict[str, str] | None = None) -> dict[str, Any]:
    answer = emulator.call("POST", f"/v2/{name}/blobs/uploads/?digest={digest_of(data)}", data, headers)
    assert answer.status == 201, answer.body
    return {"digest": digest_of(data), "size": len(data)}


def base_layer(emulator: Running, name: str) -> tuple[dict[str, Any], str]:
    """The layer of the emulator's own base image, mounted; and its digest before compression."""
    manifest = emulator.call("GET", "/v2/library/python/manifests/3.11-slim").json()
    layer = manifest["layers"][0]
    config = emulator.call("GET", f"/v2/library/python/blobs/{manifest['config']['digest']}").json()
    mounted = emulator.call("POST", f"/v2/{name}/blobs/uploads/?mount={layer['digest']}&from=library/python", b"")
    assert mounted.status == 201, mounted.body
    return layer, config["rootfs"]["diff_ids"][0]


def push(
    emulator: Running,
    name: str = "emulated/outlast/train",
    tag: str = "latest",
    *,
    layers: tuple[bytes, ...] = (),
    based: bool = True,
    **config: Any,
) -> str:
    """An image of these tars, on this computer's file system unless not; its address with its digest."""
    described, contents = [], []
    if based:
        layer, plain = base_layer(emulator, name)
        described.append(layer)
        contents.append(plain)
    for plain_tar in layers:
        described.append({"mediaType": LAYER, **push_blob(emulator, name, gzip.compress(plain_tar, mtime=0))})
        contents.append(digest_of(plain_tar))
    document = {
        "architecture": "amd64",
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": contents},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, **push_blob(emulator, name, json.dumps(document).encode())},
        "layers": described,
    }
    data = json.dumps(manifest).encode()
    answer = emulator.call("PUT", f"/v2/{name}/manifests/{tag}", data, {"content-type": MANIFEST})
    assert answer.status == 201, answer.body
    return f"{emulator.url.partition('://')[2]}/{name}@{digest_of(data)}"
