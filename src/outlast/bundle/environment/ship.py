"""Wheels on their way into the home: parts first, then the manifest that names them, then what was declared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from outlast.bundle.environment.record import (
    PART_BYTES_MAX,
    PART_NAME,
    EnvironmentManifest,
    Package,
    Resolved,
    WheelPart,
    digest_of,
    part_names,
    read_manifest,
)
from outlast.bundle.listing import DIGEST_FORM
from outlast.dataclass import dataclass
from outlast.errors import Damaged, KeyMissing, PreconditionFailed
from outlast.folder import layout
from outlast.folder.prunes import read_prunes
from outlast.spec.progress import OnProgress, silent
from outlast.spec.record import decode, encode
from outlast.spec.spec import Environment
from outlast.store.store import CHUNK_BYTES, Entry, Store, Upload

Reader = Callable[[int], bytes]


@dataclass(frozen=True)
class Shipped:
    digest: str
    manifest: EnvironmentManifest
    uploaded_bytes: int = 0
    resolved: bool = False
    """Just now, and not taken from the home."""

    prune: int = 0
    """The home's newest prune when it was looked for."""


def copy_environment(source: Store, target: Store, environment: Environment) -> None:
    """To a home that has no other yet."""
    manifest = read_manifest(source, environment.digest)
    keys = [layout.environment_part(name) for name in part_names(manifest)]
    target.upload_many([Upload(key, partial(source.download, key)) for key in keys])
    records = [(layout.environment(environment.digest), encode(manifest))]
    if environment.declaration:
        records.append((layout.declaration(environment.declaration), encode(Resolved(environment.digest))))
    target.create_many(records)


class Shelf:
    """What the home has of environments, as far as one may rely on it: what a prune has condemned is not there."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.prunes = read_prunes(store)
        self.uploaded_bytes = 0
        self._parts: dict[str, tuple[str, int]] = {}
        for entry in store.list(layout.ENVIRONMENT_PARTS):
            name = entry.key.removeprefix(layout.ENVIRONMENT_PARTS)
            found = PART_NAME.fullmatch(name)
            if found is not None and not self.prunes.condemns(entry):
                self._parts[found["sha256"]] = (name, entry.bytes)

    def find(self, declaration: str) -> Shipped | None:
        """What this declaration was resolved to, if the home still has all of it."""
        key = layout.declaration(declaration)
        if self._entry(key) is None:
            return None
        try:
            digest = decode(Resolved, self.store.get(key).data, key).digest
        except (KeyMissing, Damaged):
            return None
        manifest = self._manifest(digest)
        return Shipped(digest, manifest, prune=self.prunes.number) if manifest is not None else None

    def ship(
        self,
        manifest: EnvironmentManifest,
        wheels: Mapping[str, Path],
        declaration: str,
        on_progress: OnProgress = silent,
    ) -> Shipped:
        """Each write names only what is there already. Killed in between, the next submit goes on where this one ended.

        A package without a wheel is in the home already, as `find` has seen.
        """
        uploads: list[Upload] = []
        packages = tuple(
            self._place(package, wheels[package.wheel], uploads) if package.wheel in wheels else package
            for package in manifest.packages
        )
        total = self.uploaded_bytes
        self.store.upload_many(uploads, lambda done: on_progress("uploading packages", done, total))
        manifest = replace(manifest, packages=packages)
        digest = digest_of(manifest)
        self._put(layout.environment(digest), encode(manifest), lambda: self._manifest(digest) is not None)
        key, data = layout.declaration(declaration), encode(Resolved(digest))
        self._put(key, data, lambda: self.store.get(key).data == data)
        return Shipped(digest, manifest, self.uploaded_bytes, resolved=True, prune=self.prunes.number)

    def _manifest(self, digest: str) -> EnvironmentManifest | None:
        if not DIGEST_FORM.fullmatch(digest) or self._entry(layout.environment(digest)) is None:
            return None
        try:
            manifest = read_manifest(self.store, digest)
        except Damaged:
            return None
        parts = [part for package in manifest.packages for part in package.parts]
        return manifest if all(self._parts.get(part.sha256) == (part.name, part.bytes) for part in parts) else None

    def _entry(self, key: str) -> Entry | None:
        found = next((entry for entry in self.store.list(key, limit=1) if entry.key == key), None)
        return None if found is None or self.prunes.condemns(found) else found

    def _put(self, key: str, data: bytes, serves: Callable[[], bool]) -> None:
        """Created; what is there and serves is left; what is there and does not, is written anew on its generation."""
        while True:
            entry = next((entry for entry in self.store.list(key, limit=1) if entry.key == key), None)
            if entry is not None and not self.prunes.condemns(entry) and serves():
                return
            try:
                self.store.put(key, data, if_generation=entry.generation if entry is not None else 0)
            except PreconditionFailed:
                continue
            return

    def _place(self, package: Package, path: Path, uploads: list[Upload]) -> Package:
        """Where its parts lie in the home; what is not there yet is noted in `uploads`."""
        parts = []
        offset = 0
        for part in package.parts:
            name, size = self._parts.get(part.sha256, ("", -1))
            if size != part.bytes:
                name = f"{part.sha256}-{self.prunes.number:06d}" if self.prunes.number else part.sha256
                chunks = partial(_read_part, path, offset, part.bytes)
                uploads.append(Upload(layout.environment_part(name), chunks, part.bytes))
                self._parts[part.sha256] = (name, part.bytes)
                self.uploaded_bytes += part.bytes
            parts.append(replace(part, name=name))
            offset += part.bytes
        return replace(package, parts=tuple(parts))


def package_of(path: Path) -> Package:
    """A wheel that has just been resolved, read once: checked by the rules by which it will be installed."""
    from outlast.bundle.environment.archive import Archive, modules_of  # a job that finds all in the home does without

    digest = hashlib.sha256()
    parts = []
    with open(path, "rb") as file:
        for part in _parts(file.read, PART_BYTES_MAX):
            data_digest = hashlib.sha256()
            size = 0
            for chunk in part:
                digest.update(chunk)
                data_digest.update(chunk)
                size += len(chunk)
            parts.append(WheelPart(data_digest.hexdigest(), data_digest.hexdigest(), size))
    with Archive(path, path.name) as archive:
        return Package(
            name=archive.name,
            version=archive.version,
            wheel=path.name,
            sha256=digest.hexdigest(),
            bytes=path.stat().st_size,
            parts=tuple(parts),
            modules=modules_of(archive),
        )


def _read_part(path: Path, offset: int, size: int) -> Iterator[bytes]:
    with open(path, "rb") as file:
        file.seek(offset)
        yield from _chunks(file.read, size)


def _parts(read: Reader, size: int) -> Iterator[Iterator[bytes]]:
    while first := read(CHUNK_BYTES):
        yield _begun(first, read, size)


def _begun(first: bytes, read: Reader, size: int) -> Iterator[bytes]:
    yield first
    yield from _chunks(read, size - len(first))


def _chunks(read: Reader, size: int) -> Iterator[bytes]:
    while size and (chunk := read(min(CHUNK_BYTES, size))):
        size -= len(chunk)
        yield chunk
