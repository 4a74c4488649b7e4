"""What this computer remembers of images: layers by what they were made of, base images by name, what a registry was given.

    layers/<digest>          the bytes of a layer
    layers/by-input/<key>    what became of these inputs
    images/<key>             what became of an image's inputs
    given/<registry>         blobs that a repository was given: a hint, never relied upon
    bases/<name>             what a tag meant, and when

All of it may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from outlast.container.layer import Layer
    from outlast.container.source import LayerSource


CHUNK_BYTES = 1 << 20
BLOBS_BYTES_MAX = 20 << 30
"""The layers that were not used for longest are removed beyond this."""

SWEPT_BYTES_MIN = 16 << 20
"""After a layer above this, all of them are looked through; after a smaller one now and then: it takes as long as making it."""

MAKING = ".making-"
FORM = "2"
"""Part of every key: raised when the same inputs become other bytes."""


class Kept:
    def __init__(self, cache: Path) -> None:
        self.path = cache / "containers"
        self.made: set[str] = set()
        """Layers that were not here before this build: hardly any registry has them."""

    # Layers.

    def layer(self, source: LayerSource, *, anew: bool = False) -> Layer:
        """Made, unless these inputs have been before and the bytes are still here."""
        from outlast.container import leftovers  # an image that is there needs none of these
        from outlast.container.layer import Layer, write_layer

        name = f"layers/by-input/{key_of(source.name, source.key)}"
        known = None if anew else self.recall(name)
        if known is not None:
            try:
                found = Layer(str(known["digest"]), str(known["diff_id"]), int(known["bytes"]))
                if self.blob(found.digest).stat().st_size == found.bytes:
                    os.utime(self.blob(found.digest))
                    return found
            except (KeyError, ValueError, OSError):
                pass  # made again
        folder = self._folder("layers")
        leftovers.sweep(folder, MAKING)
        making = folder / f"{leftovers.own(MAKING)}{threading.get_ident()}"
        try:
            with open(making, "wb") as file, source.members() as members:
                layer = write_layer(members, file)
            os.replace(making, self.blob(layer.digest))
        except BaseException:
            making.unlink(missing_ok=True)
            raise
        self.made.add(layer.digest)
        self.remember(name, {"digest": layer.digest, "diff_id": layer.diff_id, "bytes": layer.bytes})
        if layer.bytes > SWEPT_BYTES_MIN or layer.digest.endswith("0"):
            self._sweep(folder)
        return layer

    def blob(self, digest: str) -> Path:
        return self.path / "layers" / digest.removeprefix("sha256:")

    def chunks(self, digest: str) -> Iterator[bytes]:
        with open(self.blob(digest), "rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def _sweep(self, folder: Path) -> None:
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # another command was faster
                if entry.is_file(follow_symlinks=False):
                    found.append((status.st_mtime, status.st_size, entry.path))
        left = BLOBS_BYTES_MAX
        for _, size, path in sorted(found, reverse=True):
            left -= size
            if left < 0:
                Path(path).unlink(missing_ok=True)

    # Small records.

    def recall(self, name: str) -> dict[str, Any] | None:
        try:
            document = json.loads((self.path / name).read_bytes())
        except (OSError, ValueError):
            return None
        return document if isinstance(document, dict) else None

    def remember(self, name: str, document: dict[str, Any]) -> None:
        path = self.path / name
        self._folder(os.path.dirname(name))
        temporary = path.with_name(f".{path.name}-{os.getpid()}")
        try:
            temporary.write_text(json.dumps(document))
            temporary.replace(path)
        except OSError:
            return  # found out again next time

    def _folder(self, name: str) -> Path:
        folder = self.path / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def key_of(*parts: str) -> str:
    return hashlib.sha256("\0".join((FORM, *parts)).encode(errors="surrogateescape")).hexdigest()
