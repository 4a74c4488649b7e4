"""The layer of a job's packages: wheels, laid out as they are installed, each file in the compressed form that it has in its wheel."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from outlast.bundle.environment.archive import Archive
from outlast.bundle.environment.install import Site
from outlast.bundle.environment.record import AGAIN, EnvironmentManifest, Package, read_manifest
from outlast.container import leftovers
from outlast.container.layer import Member
from outlast.errors import Damaged, KeyMissing
from outlast.folder import layout
from outlast.host import image_places as places
from outlast.store.store import Store

WHEELS = ".wheels-"
SHEBANG = b"#!/usr/bin/env python3\n"


@contextmanager
def installed(store: Store, digest: str, scratch: Path) -> Iterator[Iterable[Member]]:
    """What an installation of the environment would put on a disk."""
    manifest = read_manifest(store, digest)
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    leftovers.sweep(scratch, WHEELS)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=leftovers.own(WHEELS), dir=scratch)))
        site = _LayerSite(manifest)
        for package in sorted(manifest.packages, key=lambda one: one.name):
            path = folder / package.wheel
            _download(store, package, path)
            site.install(stack.enter_context(Archive(path, package.wheel)))
        yield site.members.values()


class _LayerSite(Site):
    """Notes what goes where; a wheel that comes later replaces what an earlier one has put there."""

    def __init__(self, manifest: EnvironmentManifest) -> None:
        super().__init__(Path(places.ENVIRONMENT), manifest.python_version, "python3")
        self.members: dict[str, Member] = {}

    def _write(self, target: str, archive: Archive, name: str) -> None:
        path = target.lstrip("/").encode(errors="surrogateescape")
        mode = 0o755 if archive.executable(name) else 0o644
        size = archive.members[name].file_size
        if archive.is_deflated(name):
            member = Member(path, mode, size, deflated=partial(archive.pieces, name))
        else:
            member = Member(path, mode, size, partial(archive.chunks, name))
        self.members[target] = member

    def _replace(self, target: str, data: bytes, mode: int) -> None:
        self.members[target] = Member.of(target, data, mode)

    def _shebang(self) -> bytes:
        return SHEBANG


def _download(store: Store, package: Package, path: Path) -> None:
    digest = hashlib.sha256()
    try:
        with open(path, "wb") as file:
            for part in package.parts:
                for chunk in store.download(layout.environment_part(part.name)):
                    digest.update(chunk)
                    file.write(chunk)
    except KeyMissing as error:
        raise Damaged(f"`{error.key}` is gone from `{store.url}`", hint=AGAIN) from None
    if digest.hexdigest() != package.sha256:
        raise Damaged(f"`{package.wheel}` in the home is not what was shipped", hint=AGAIN)
