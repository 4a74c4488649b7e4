"""An environment as the home has it: exact versions, their wheels by content, and the digest that names all of it.

environments/<digest>/manifest.json      what it consists of; create-only
environments/parts/<name>                bytes of wheels, shared by all environments; a wheel above PART_BYTES_MAX has several
environments/by-declaration/<key>.json   what a declaration was resolved to, so that nobody resolves it again; create-only
"""

from __future__ import annotations

import hashlib

from outlast.bundle.listing import DIGEST_FORM
from outlast.dataclass import dataclass
from outlast.errors import Damaged, KeyMissing
from outlast.folder import layout
from outlast.pattern import pattern
from outlast.spec.record import decode
from outlast.store.store import Store

PART_BYTES_MAX = 64 << 20
PACKAGES_MAX = 5000
PART_NAME = pattern(r"(?P<sha256>[0-9a-f]{64})(?:-\d{6,})?")


@dataclass(frozen=True)
class WheelPart:
    name: str
    """Its sha256, and after a prune that prune's number: a name that was condemned never comes back."""

    sha256: str
    bytes: int


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    wheel: str
    """Its file's name, which says for which Python and platform it is."""

    sha256: str
    bytes: int
    parts: tuple[WheelPart, ...]
    modules: tuple[str, ...] = ()
    """What can be imported from it, by top-level name."""


@dataclass(frozen=True)
class EnvironmentManifest:
    python_version: str
    """Major and minor."""

    platform: str
    packages: tuple[Package, ...]
    setup: str = ""
    """The digest of the setup script and of what it names; empty: there is none."""

    below: str = ""
    """An interpreter whose own packages are seen too, on the machine that has it; empty: none but these."""

    source: str = ""
    resolver: str = ""
    """For people: what declared and what resolved it. Not part of the digest."""

    def packages_modules(self) -> frozenset[str]:
        return frozenset(module for package in self.packages for module in package.modules)


@dataclass(frozen=True)
class Resolved:
    """What a declaration became."""

    digest: str


def digest_of(manifest: EnvironmentManifest) -> str:
    """Of what a machine makes out of it, whoever resolved it."""
    lines = [
        "outlast environment 1",
        f"{manifest.python_version} {manifest.platform} {manifest.setup or '-'} {manifest.below or '-'}",
        *sorted(f"{one.name} {one.version} {one.wheel} {one.sha256}" for one in manifest.packages),
    ]
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


def read_manifest(store: Store, digest: str) -> EnvironmentManifest:
    """`Damaged` if it is gone, is not what was written, or could not have been written by us."""
    if not DIGEST_FORM.fullmatch(digest):
        raise Damaged(f"`{digest[:80]}` names no environment")
    key = layout.environment(digest)
    try:
        manifest = decode(EnvironmentManifest, store.get(key).data, key)
    except KeyMissing:
        raise Damaged(f"`{key}` is gone from `{store.url}`", hint=AGAIN) from None
    if digest_of(manifest) != digest:
        raise Damaged(f"`{key}` is damaged: it describes another environment", hint=AGAIN)
    if len(manifest.packages) > PACKAGES_MAX:
        raise Damaged(f"`{key}` lists {len(manifest.packages):,} packages, above the limit of {PACKAGES_MAX:,}")
    for package in manifest.packages:
        _check(package, key)
    return manifest


def part_names(manifest: EnvironmentManifest) -> list[str]:
    return sorted({part.name for package in manifest.packages for part in package.parts})


def _check(package: Package, key: str) -> None:
    digests = [package.sha256, *(part.sha256 for part in package.parts)]
    sizes = [part.bytes for part in package.parts]
    names = all(PART_NAME.fullmatch(part.name) for part in package.parts)
    if not names or not all(DIGEST_FORM.fullmatch(one) for one in digests) or any(size <= 0 for size in sizes):
        raise Damaged(f"`{key}` is damaged: parts of `{package.name[:80]}` cannot be")
    if sum(sizes) != package.bytes:
        raise Damaged(f"`{key}` is damaged: the parts of `{package.name[:80]}` are not its size")


AGAIN = "submit the job again from its directory: what is missing is resolved and shipped again"
