"""Manifests and configurations: a base image read, and the image that has our layers on top of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from outlast.container.layer import Layer
from outlast.container.reference import Reference
from outlast.container.registry import digest_of
from outlast.dataclass import dataclass
from outlast.errors import NotFound, UsageError

if TYPE_CHECKING:
    from outlast.container.build import Source

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER_TAR = "application/vnd.oci.image.layer.v1.tar"
LAYER_GZIP = f"{LAYER_TAR}+gzip"
LAYER_ZSTD = f"{LAYER_TAR}+zstd"
MADE_AT = "1980-01-01T00:00:00Z"
PATH_DEFAULT = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
LAYER_KINDS: Mapping[str, str] = {
    "application/vnd.docker.image.rootfs.diff.tar.gzip": LAYER_GZIP,
    "application/vnd.docker.image.rootfs.diff.tar": LAYER_TAR,
    "application/vnd.docker.image.rootfs.diff.tar.zstd": LAYER_ZSTD,
    LAYER_GZIP: LAYER_GZIP,
    LAYER_TAR: LAYER_TAR,
    LAYER_ZSTD: LAYER_ZSTD,
}
"""What layers of base images are called -> the same in OCI's words."""


@dataclass(frozen=True)
class Blob:
    digest: str
    bytes: int
    media_type: str


@dataclass(frozen=True)
class Base:
    reference: Reference
    """With the digest of the manifest for the platform."""

    layers: tuple[Blob, ...]
    config: Mapping[str, Any]

    def variable(self, name: str) -> str:
        given = self.config.get("config") or {}
        for one in given.get("Env") or ():
            if str(one).startswith(f"{name}="):
                return str(one).partition("=")[2]
        return ""


def read_base(registry: Source, reference: Reference, platform: str) -> Base:
    """`platform`: `linux/amd64`. `NotFound` if the image has none for it."""
    data, kind = registry.get_manifest(reference.path, reference.wanted)
    document = _parsed(data, reference)
    kind = str(document.get("mediaType") or kind)
    if kind in INDEXES:
        digest = _for_platform(document, platform, reference)
        data, kind = registry.get_manifest(reference.path, digest)
        document = _parsed(data, reference)
    try:
        blobs = [
            Blob(str(one["digest"]), int(one["size"]), LAYER_KINDS[str(one["mediaType"])]) for one in document["layers"]
        ]
        config = _parsed(registry.get_blob(reference.path, str(document["config"]["digest"])), reference)
        if len(config["rootfs"]["diff_ids"]) != len(blobs):
            raise ValueError
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"`{reference}` cannot be a base image: {f'it has {error}' if isinstance(error, KeyError) else 'its manifest is odd'}",
            hint="name an image that `docker pull` or `podman pull` takes",
        ) from error
    named = Reference(reference.host, reference.path, "", digest_of(data))
    return Base(named, tuple(blobs), config)


def base_record(base: Base) -> dict[str, Any]:
    """To be kept, and read by `recorded_base`."""
    layers = [[one.digest, one.bytes, one.media_type] for one in base.layers]
    return {
        "reference": [base.reference.host, base.reference.path, base.reference.digest],
        "layers": layers,
        "config": base.config,
    }


def recorded_base(record: Mapping[str, Any]) -> Base | None:
    """None: somebody else wrote it."""
    try:
        host, path, digest = map(str, record["reference"])
        layers = tuple(Blob(str(one[0]), int(one[1]), str(one[2])) for one in record["layers"])
        config = record["config"]
        if len(config["rootfs"]["diff_ids"]) != len(layers):
            return None
    except (KeyError, TypeError, ValueError, IndexError):
        return None
    return Base(Reference(host, path, "", digest), layers, config)


def _for_platform(document: Mapping[str, Any], platform: str, reference: Reference) -> str:
    found: dict[str, str] = {}
    for one in document.get("manifests") or ():
        at = one.get("platform") or {}
        found.setdefault(f"{at.get('os')}/{at.get('architecture')}", str(one.get("digest")))
    if platform not in found:
        there = ", ".join(sorted(name for name in found if "unknown" not in name))
        raise NotFound(f"image `{reference}` has nothing for `{platform}`; it has {there or 'no platform at all'}")
    return found[platform]


@dataclass(frozen=True)
class Settings:
    """What an image says about how it is run."""

    entrypoint: tuple[str, ...] = ()
    """Empty: the base's own, and its command."""

    directory: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    """Directories before the base's own PATH."""

    labels: Mapping[str, str] = field(default_factory=dict)


def compose(base: Base, layers: Sequence[tuple[str, Layer]], settings: Settings, platform: str) -> tuple[bytes, bytes]:
    """(manifest, configuration) of the base with (name, layer) on top of it: equal for equal arguments."""
    given = dict(base.config.get("config") or {})
    variables = dict(str(one).partition("=")[::2] for one in given.get("Env") or ())
    variables["PATH"] = ":".join((*settings.path, variables.get("PATH") or PATH_DEFAULT))
    variables.update(settings.env)
    given["Env"] = [f"{name}={value}" for name, value in variables.items()]
    given["Labels"] = {**(given.get("Labels") or {}), **settings.labels}
    if settings.directory:
        given["WorkingDir"] = settings.directory
    if settings.entrypoint:
        given["Entrypoint"] = list(settings.entrypoint)
        given["Cmd"] = None
        given["User"] = None  # whoever else runs it cannot write where its jobs are kept
    system, _, architecture = platform.partition("/")
    history = [*(base.config.get("history") or ())]
    if sum(not one.get("empty_layer") for one in history) != len(base.layers):
        # Builders count: one that is not whole is better said to be unknown.
        history = [{"created": MADE_AT, "created_by": "of the base image"} for _ in base.layers]
    history += [{"created": MADE_AT, "created_by": f"outlast: {name}"} for name, _ in layers]
    config = {
        "architecture": base.config.get("architecture") or architecture,
        "os": base.config.get("os") or system,
        **({"variant": base.config["variant"]} if base.config.get("variant") else {}),
        "created": MADE_AT,
        "config": {name: value for name, value in given.items() if value is not None},
        "rootfs": {
            "type": "layers",
            "diff_ids": [*base.config["rootfs"]["diff_ids"], *(layer.diff_id for _, layer in layers)],
        },
        "history": history,
    }
    config_data = _encoded(config)
    blobs = [*base.layers, *(Blob(layer.digest, layer.bytes, LAYER_GZIP) for _, layer in layers)]
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": digest_of(config_data), "size": len(config_data)},
        "layers": [{"mediaType": one.media_type, "digest": one.digest, "size": one.bytes} for one in blobs],
        "annotations": {"org.opencontainers.image.base.digest": base.reference.digest},
    }
    return _encoded(manifest), config_data


def _encoded(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def _parsed(data: bytes, reference: Reference) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"what the registry has as `{reference}` is no image: {error}") from error
    if not isinstance(document, dict):
        raise UsageError(f"what the registry has as `{reference}` is no image")
    return document
