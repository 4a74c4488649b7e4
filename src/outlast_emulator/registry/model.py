"""Repositories of images without HTTP: blobs, manifests and tags, and what names what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from outlast_emulator.clock import Clock
from outlast_emulator.registry import base
from outlast_emulator.registry.blobs import Blobs, unknown_upload
from outlast_emulator.registry.database import Database
from outlast_emulator.registry.errors import RegistryError
from outlast_emulator.registry.names import is_digest, is_tag

INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
IMAGES = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
MANIFEST_BYTES_MAX = 4 << 20


class Manifest(NamedTuple):
    digest: str
    media_type: str


class Registry:
    """Safe for any number of threads. A blob's file is there before a row names it, and goes after the last one has gone."""

    def __init__(self, root: Path, clock: Clock) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.database = Database(root / "registry.db")
        self.blobs = Blobs(root, clock)
        self._clock = clock

    def close(self) -> None:
        self.database.close()

    # ------------------------------------------------------------------------------------------------------------ blobs

    def has_blob(self, name: str, digest: str) -> bool:
        if name == base.NAME:
            return base.put(self.blobs, digest)
        return self.database.row("SELECT 1 FROM blobs WHERE name=? AND digest=?", (name, digest)) is not None

    def link(self, name: str, digest: str) -> None:
        with self.database.write() as connection:
            connection.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (name, digest))

    def begin_upload(self, name: str) -> str:
        upload = self.blobs.begin()
        with self.database.write() as connection:
            connection.execute("INSERT INTO uploads VALUES (?, ?)", (upload, name))
        return upload

    def check_upload(self, name: str, upload: str) -> None:
        """It must be of this repository."""
        if self.database.row("SELECT 1 FROM uploads WHERE id=? AND name=?", (upload, name)) is None:
            raise unknown_upload(upload)

    def end_upload(self, name: str, upload: str, digest: str) -> None:
        try:
            self.blobs.end(upload, digest)
        finally:
            self.forget_upload(upload)
        self.link(name, digest)

    def forget_upload(self, upload: str) -> None:
        with self.database.write() as connection:
            connection.execute("DELETE FROM uploads WHERE id=?", (upload,))

    def remove_blob(self, name: str, digest: str) -> None:
        with self.database.write() as connection:
            gone = connection.execute("DELETE FROM blobs WHERE name=? AND digest=?", (name, digest)).rowcount
            if not gone:
                raise unknown_blob(digest)
            self._drop_if_unnamed(digest)

    # -------------------------------------------------------------------------------------------------------- manifests

    def find(self, name: str, reference: str) -> Manifest:
        """By tag or digest."""
        if name == base.NAME and not is_digest(reference):
            reference = base.put_manifest(self.blobs)
            return Manifest(reference, IMAGES[0])
        digest = reference
        if not is_digest(reference):
            tagged = self.database.row("SELECT digest FROM tags WHERE name=? AND tag=?", (name, reference))
            digest = str(tagged[0]) if tagged else ""
        found = self.database.row("SELECT media_type FROM manifests WHERE name=? AND digest=?", (name, digest))
        if found is None:
            if name == base.NAME and digest == base.put_manifest(self.blobs):
                return Manifest(digest, IMAGES[0])
            raise RegistryError("MANIFEST_UNKNOWN", f"manifest unknown to registry: {name}:{reference}")
        return Manifest(digest, str(found[0]))

    def put(self, name: str, reference: str, data: bytes, media_type: str) -> str:
        """Its digest. What it names must be there already, as Google wants it."""
        document = _parsed(data)
        media_type = str(document.get("mediaType") or media_type)
        if media_type not in (*IMAGES, *INDEXES):
            raise RegistryError("MANIFEST_INVALID", f"manifest invalid: media type {media_type or 'none'} is not known")
        if not is_digest(reference) and not is_tag(reference):
            raise RegistryError("MANIFEST_INVALID", f"{reference} is neither a tag nor a digest")
        self._check_named(name, document, media_type)
        digest = self.blobs.put(data)
        if is_digest(reference) and reference != digest:
            raise RegistryError("DIGEST_INVALID", f"the manifest's digest is {digest}")
        with self.database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO manifests VALUES (?, ?, ?, ?)", (name, digest, media_type, self._clock.now())
            )
            if not is_digest(reference):
                connection.execute("INSERT OR REPLACE INTO tags VALUES (?, ?, ?)", (name, reference, digest))
        return digest

    def _check_named(self, name: str, document: dict[str, Any], media_type: str) -> None:
        if media_type in INDEXES:
            for one in document.get("manifests", ()):
                self._check_part(name, str(one.get("digest", "")), "manifests")
            return
        for one in (document.get("config", {}), *document.get("layers", ())):
            if not one.get("urls"):
                self._check_part(name, str(one.get("digest", "")), "blobs")

    def _check_part(self, name: str, digest: str, table: str) -> None:
        question = f"SELECT 1 FROM {table} WHERE name=? AND digest=?"  # noqa: S608  a table's name of ours
        if self.database.row(question, (name, digest)) is None:
            raise RegistryError("MANIFEST_BLOB_UNKNOWN", f"manifest references an unknown blob: {digest}")

    def remove(self, name: str, reference: str) -> None:
        """A tag, or a manifest with all its tags."""
        with self.database.write() as connection:
            if not is_digest(reference):
                gone = connection.execute("DELETE FROM tags WHERE name=? AND tag=?", (name, reference)).rowcount
            else:
                connection.execute("DELETE FROM tags WHERE name=? AND digest=?", (name, reference))
                gone = connection.execute("DELETE FROM manifests WHERE name=? AND digest=?", (name, reference)).rowcount
                self._drop_if_unnamed(reference)
            if not gone:
                raise RegistryError("MANIFEST_UNKNOWN", f"manifest unknown to registry: {name}:{reference}")

    def tags(self, name: str) -> list[str]:
        rows = self.database.rows("SELECT tag FROM tags WHERE name=? ORDER BY tag", (name,))
        if not rows and self.database.row("SELECT 1 FROM manifests WHERE name=?", (name,)) is None:
            raise RegistryError("NAME_UNKNOWN", f"repository name not known to registry: {name}")
        return [row[0] for row in rows]

    def remove_below(self, beginning: str) -> None:
        """All repositories whose names begin so, with what is in them."""
        with self.database.write() as connection:
            digests: set[str] = set()
            for table in ("blobs", "manifests"):
                question = f"SELECT digest FROM {table} WHERE substr(name, 1, ?) = ?"  # noqa: S608  a table's name of ours
                digests.update(row[0] for row in self.database.rows(question, (len(beginning), beginning)))
            for table in ("blobs", "manifests", "tags"):
                question = f"DELETE FROM {table} WHERE substr(name, 1, ?) = ?"  # noqa: S608  a table's name of ours
                connection.execute(question, (len(beginning), beginning))
            for digest in digests:
                self._drop_if_unnamed(digest)

    def names(self) -> list[str]:
        return [row[0] for row in self.database.rows("SELECT DISTINCT name FROM manifests ORDER BY name")]

    def bytes(self) -> int:
        """Of all that is kept."""
        rows = self.database.rows("SELECT DISTINCT digest FROM blobs UNION SELECT DISTINCT digest FROM manifests")
        return sum(self.blobs.size(row[0]) for row in rows if self.blobs.has(row[0]))

    def _drop_if_unnamed(self, digest: str) -> None:
        for table in ("blobs", "manifests"):
            question = f"SELECT 1 FROM {table} WHERE digest=?"  # noqa: S608  a table's name of ours
            if self.database.row(question, (digest,)) is not None:
                return
        self.database.after_commit(lambda: self.blobs.remove(digest))


def unknown_blob(digest: str) -> RegistryError:
    return RegistryError("BLOB_UNKNOWN", f"blob unknown to registry: {digest}")


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except ValueError as error:
        raise RegistryError("MANIFEST_INVALID", f"manifest invalid: {error}") from error
    if not isinstance(document, dict) or document.get("schemaVersion") != 2:
        raise RegistryError("MANIFEST_INVALID", "manifest invalid: schemaVersion is not 2")
    return document
