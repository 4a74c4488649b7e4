"""What docker reads and writes instead of OCI's layout: an archive with a list of images, `manifest.json`, in it."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from pathlib import Path
from typing import IO, Any

from outlast.container.manifest import CONFIG, LAYER_GZIP, LAYER_TAR, LAYER_ZSTD, MANIFEST
from outlast.errors import OutlastError

LIST = "manifest.json"
BEGINNINGS = {b"\x1f\x8b": LAYER_GZIP, b"\x28\xb5\x2f\xfd": LAYER_ZSTD}


def image_list(config: str, layers: list[str]) -> bytes:
    """For an archive of a layout: of which of its blobs the image consists, by their digests. Docker reads no other description."""
    places = [f"blobs/sha256/{digest.removeprefix('sha256:')}" for digest in (config, *layers)]
    return json.dumps([{"Config": places[0], "RepoTags": None, "Layers": places[1:]}]).encode()


def lay_out(archive: Path, into: Path) -> None:
    """What `docker save` has written, with one image, becomes an OCI layout."""
    blobs = into / "blobs" / "sha256"
    blobs.mkdir(mode=0o700, parents=True)
    try:
        with tarfile.open(archive) as packed:
            (image,) = json.load(_opened(packed, LIST))
            config = _kept(_opened(packed, image["Config"]), blobs, CONFIG)
            layers = [_kept(_opened(packed, name), blobs) for name in image["Layers"]]
    except (tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise OutlastError(
            f"docker has written an archive that is not what it documents: {error}",
            state="nothing was submitted, nothing is being spent",
            hint="`--registry HOST/PATH` takes the image through a registry instead",
        ) from error
    document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
    data = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    digest = hashlib.sha256(data).hexdigest()
    (blobs / digest).write_bytes(data)
    entry = {"mediaType": MANIFEST, "digest": f"sha256:{digest}", "size": len(data)}
    (into / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))


def _opened(packed: tarfile.TarFile, name: str) -> IO[bytes]:
    """A layer that occurs twice is a link to the first."""
    found = packed.extractfile(name)
    if found is None:
        raise ValueError(f"`{name}` in it is no file")
    return found


def _kept(source: IO[bytes], blobs: Path, kind: str = "") -> dict[str, Any]:
    """As a manifest names it. `kind`: by its first bytes, if not said."""
    scratch = blobs / ".making"
    with source, open(scratch, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
    with open(scratch, "rb") as made:
        beginning = made.read(4)
        made.seek(0)
        digest = hashlib.sha256()
        while chunk := made.read(1 << 20):
            digest.update(chunk)
        size = made.tell()
    scratch.rename(blobs / digest.hexdigest())
    found = next((name for start, name in BEGINNINGS.items() if beginning.startswith(start)), LAYER_TAR)
    return {"mediaType": kind or found, "digest": f"sha256:{digest.hexdigest()}", "size": size}
