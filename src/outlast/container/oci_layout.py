"""Images in a directory of this computer, each in OCI's layout: for a runtime on it, without any registry.

blobs/sha256/<digest>      what all of them consist of
images/<name>/             one image: an OCI layout whose blobs are links to those, with docker's list in it
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from outlast.clock import SYSTEM
from outlast.container import docker_archive
from outlast.container.reference import DIGEST
from outlast.container.registry import BlobsMissing, digest_of
from outlast.errors import Damaged, NotFound

REF_NAME = "org.opencontainers.image.ref.name"
IMAGES_MAX = 20
"""So many are kept; a runtime has its own copy of those that it was given."""

UNUSED_SECONDS_MIN = 3600.0
"""What is in no image for so long is of none that is just being put together."""


class OciLayout:
    """As `build.Target` promises."""

    host = "oci"

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def image(self, name: str) -> Path:
        return self.directory / "images" / name

    def manifest_digest(self, path: str, wanted: str) -> str:
        digest = wanted if DIGEST.fullmatch(wanted) else self._named(wanted)
        try:
            data = self._blob(digest).read_bytes() if digest else b""
        except OSError:
            return ""
        there = bool(data) and all(self._blob(one).is_file() for one in _parts(data))
        return digest if there and self.name_of(digest) else ""

    def put_manifest(self, path: str, wanted: str, data: bytes, media_type: str) -> None:
        digest = digest_of(data)
        self._write(self._blob(digest), (data,))
        entry = {"mediaType": media_type, "digest": digest, "size": len(data), "annotations": {REF_NAME: wanted}}
        place = self.image(wanted)
        blobs = place / "blobs" / "sha256"
        blobs.mkdir(mode=0o700, parents=True, exist_ok=True)
        for one in (digest, *_parts(data)):
            try:
                os.link(self._blob(one), blobs / self._blob(one).name)
            except FileExistsError:
                continue
            except FileNotFoundError:
                raise BlobsMissing from None
        self._write(place / docker_archive.LIST, (docker_archive.image_list(*_config_and_layers(data)),))
        self._write(place / "oci-layout", (b'{"imageLayoutVersion":"1.0.0"}',))
        self._write(place / "index.json", (json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode(),))
        self._sweep()

    def adopt(self, made: Path, name: str) -> str:
        """The digest of an image that a builder has put into a layout of its own: it is one of these from now on."""
        entry = json.loads((made / "index.json").read_bytes())["manifests"][0]
        blobs = made / "blobs" / "sha256"
        digest = str(entry["digest"])
        data = (blobs / digest.removeprefix("sha256:")).read_bytes()
        for one in _parts(data):
            target = self._blob(one)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.replace(blobs / target.name, target)
        self.put_manifest("", name, data, str(entry["mediaType"]))
        return digest

    # As a registry, of base images.

    def get_manifest(self, path: str, wanted: str) -> tuple[bytes, str]:
        data = self.get_blob(path, wanted)
        return data, str(json.loads(data).get("mediaType", ""))

    def get_blob(self, path: str, digest: str) -> bytes:
        try:
            data = self._blob(digest).read_bytes()
        except OSError:
            raise NotFound(f"`{digest}` is gone from `{self.directory}`", hint="try again") from None
        if digest_of(data) != digest:
            raise Damaged(f"`{self._blob(digest)}` is not what its name says", hint="remove it, and try again")
        return data

    def blob_chunks(self, path: str, digest: str, size: int) -> Iterable[bytes]:
        return (self.get_blob(path, digest),)

    def has_blob(self, path: str, digest: str) -> bool:
        return self._blob(digest).is_file()

    def mount(self, path: str, digest: str, source: str) -> bool:
        return False

    def put_blob(self, path: str, digest: str, size: int, chunks: Callable[[], Iterable[bytes]]) -> None:
        if self._write(self._blob(digest), chunks()) != size:
            raise Damaged(f"blob `{digest}` has not {size:,} bytes")

    def image_ids(self, digest: str) -> tuple[str, str]:
        """What a runtime may call it: its configuration's digest, or its own, where docker keeps images in containerd."""
        return _config_and_layers(self._blob(digest).read_bytes())[0], digest

    def name_of(self, digest: str) -> str:
        """Empty: no image has it."""
        return next((path.name for path in self._images() if self._named(path.name) == digest), "")

    def _blob(self, digest: str) -> Path:
        return self.directory / "blobs" / "sha256" / digest.removeprefix("sha256:")

    def _named(self, name: str) -> str:
        try:
            entry = json.loads((self.image(name) / "index.json").read_bytes())["manifests"][0]
        except (OSError, ValueError, KeyError, IndexError):
            return ""
        return str(entry["digest"])

    def _images(self) -> list[Path]:
        """The newest first."""
        try:
            found = list((self.directory / "images").iterdir())
        except OSError:
            return []
        return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)

    def _sweep(self) -> None:
        for path in self._images()[IMAGES_MAX:]:
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.directory / "blobs" / "sha256").iterdir():
            try:
                status = path.stat()
                if status.st_nlink == 1 and SYSTEM.now() - status.st_mtime > UNUSED_SECONDS_MIN:
                    path.unlink()
            except OSError:
                continue  # another command was faster

    def _write(self, path: Path, chunks: Iterable[bytes]) -> int:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        size = 0
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".making-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                for chunk in chunks:
                    size += file.write(chunk)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        return size


def _parts(manifest: bytes) -> list[str]:
    config, layers = _config_and_layers(manifest)
    return [config, *layers]


def _config_and_layers(manifest: bytes) -> tuple[str, list[str]]:
    document: dict[str, Any] = json.loads(manifest)
    return document["config"]["digest"], [one["digest"] for one in document["layers"]]
