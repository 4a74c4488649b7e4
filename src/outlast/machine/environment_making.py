"""An environment made out of the home's own wheels: no resolver, no network."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from outlast.bundle.environment.archive import Archive
from outlast.bundle.environment.install import Site
from outlast.bundle.environment.interpreter import facts_of
from outlast.bundle.environment.record import AGAIN, EnvironmentManifest, Package
from outlast.bundle.environment.skeleton import make_skeleton, see_below
from outlast.errors import Damaged, KeyMissing, NotFound
from outlast.folder import layout
from outlast.store.store import Store

HELD_BYTES_MAX = 32 << 20
"""A wheel up to here is held in memory while it is installed; a larger one is put on the disk first."""


def make(store: Store, manifest: EnvironmentManifest, python_version: str, base: str, root: Path, cache: Path) -> None:
    """`root` is there and empty; `base` is the interpreter that it is made of. After an error, throw it away."""
    if not os.access(base, os.X_OK):
        raise NotFound(f"the job's Python, `{base}`, is gone from this machine")
    make_skeleton(root, base, python_version)
    site = Site(root, python_version, str(root / "bin" / "python"))
    packages = sorted(manifest.packages, key=lambda one: one.name)
    contents = _contents(store, [part.name for package in packages for part in package.parts])
    for package in packages:
        with _wheel(contents, package, root) as file, Archive(file, package.wheel) as archive:
            site.install(archive)
    if manifest.below:
        see_below(root, python_version, facts_of(manifest.below, cache).paths)


@contextmanager
def _wheel(contents: Iterator[Iterator[bytes]], package: Package, root: Path) -> Iterator[IO[bytes]]:
    """Its bytes, seen to be those that were shipped."""
    with _held(package.bytes, root) as held:
        digest = hashlib.sha256()
        size = 0
        for _ in package.parts:
            for chunk in next(contents):
                digest.update(chunk)
                size += len(chunk)
                if size > package.bytes:
                    raise Damaged(f"`{package.wheel}` in the home is longer than what was shipped", hint=AGAIN)
                held.write(chunk)
        if digest.hexdigest() != package.sha256:
            raise Damaged(f"`{package.wheel}` in the home is not what was shipped", hint=AGAIN)
        held.seek(0)
        yield held


def _contents(store: Store, names: list[str]) -> Iterator[Iterator[bytes]]:
    """Of the parts, in order."""
    try:
        for chunks in store.download_many(map(layout.environment_part, names)):
            yield _there(chunks, store)
    except KeyMissing as error:
        raise Damaged(f"`{error.key}` is gone from `{store.url}`", hint=AGAIN) from None


def _there(chunks: Iterator[bytes], store: Store) -> Iterator[bytes]:
    try:
        yield from chunks
    except KeyMissing as error:
        raise Damaged(f"`{error.key}` is gone from `{store.url}`", hint=AGAIN) from None


def _held(size: int, root: Path) -> IO[bytes]:
    return io.BytesIO() if size <= HELD_BYTES_MAX else tempfile.TemporaryFile(dir=root)
