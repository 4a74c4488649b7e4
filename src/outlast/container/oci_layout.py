"""Images in a directory of this computer, in OCI's layout: for a runtime on it, without any registry."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from outlast.container.reference import DIGEST
from outlast.container.registry import BlobsMissing, digest_of
from outlast.errors import Damaged

REF_NAME = "org.opencontainers.image.ref.name"


class OciLayout:
    """As `build.Target` promises. All images of the directory share their blobs."""

    host = "oci"

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def manifest_digest(self, path: str, wanted: str) -> str:
        digest = wanted if DIGEST.fullmatch(wanted) else self._index().get(wanted, {}).get("digest", "")
        if not digest or not self._blob(digest).is_file():
            return ""
        manifest = json.loads(self._blob(digest).read_bytes())
        named = [manifest["config"]["digest"], *(one["digest"] for one in manifest["layers"])]
        return digest if all(self._blob(one).is_file() for one in named) else ""

    def put_manifest(self, path: str, wanted: str, data: bytes, media_type: str) -> None:
        document = json.loads(data)
        named = [document["config"]["digest"], *(one["digest"] for one in document["layers"])]
        if not all(self._blob(one).is_file() for one in named):
            raise BlobsMissing
        digest = digest_of(data)
        self._write(self._blob(digest), (data,))
        entry = {"mediaType": media_type, "digest": digest, "size": len(data), "annotations": {REF_NAME: wanted}}
        index = {**self._index(), wanted: entry}
        text = json.dumps({"schemaVersion": 2, "manifests": list(index.values())})
        self._write(self.directory / "oci-layout", (b'{"imageLayoutVersion":"1.0.0"}',))
        self._write(self.directory / "index.json", (text.encode(),))

    def has_blob(self, path: str, digest: str) -> bool:
        return self._blob(digest).is_file()

    def mount(self, path: str, digest: str, source: str) -> bool:
        return False

    def put_blob(self, path: str, digest: str, size: int, chunks: Callable[[], Iterable[bytes]]) -> None:
        if self._write(self._blob(digest), chunks()) != size:
            raise Damaged(f"blob `{digest}` has not {size:,} bytes")

    def image_id(self, digest: str) -> str:
        """What a runtime calls the image once it has taken it in."""
        return str(json.loads(self._blob(digest).read_bytes())["config"]["digest"])

    def name_of(self, digest: str) -> str:
        """The name under which the image stands in the index."""
        return next(name for name, entry in self._index().items() if entry["digest"] == digest)

    def _blob(self, digest: str) -> Path:
        return self.directory / "blobs" / "sha256" / digest.removeprefix("sha256:")

    def _index(self) -> dict[str, Any]:
        try:
            entries = json.loads((self.directory / "index.json").read_bytes())["manifests"]
        except (OSError, ValueError, KeyError):
            return {}
        return {entry["annotations"][REF_NAME]: entry for entry in entries}

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
