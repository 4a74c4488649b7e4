"""From inputs to an image in a registry: what is there already is neither made nor sent again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from outlast.clock import SYSTEM, Clock
from outlast.container.kept import Kept, key_of
from outlast.container.reference import DIGEST, Reference
from outlast.container.registry import BlobsMissing, Registry, digest_of
from outlast.container.source import Built, ImageInputs
from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.google.proxies import is_loopback
from outlast.spec.progress import OnProgress, silent

if TYPE_CHECKING:  # an image that is there needs no manifest
    from outlast.container.layer import Layer
    from outlast.container.manifest import Base, Settings

HANDS = 4
"""So many blobs are sent at once."""

TAG_SECONDS = 3600.0
"""So long it is remembered what a base image's tag means; `anew` asks again. A registry on this computer is always asked."""

UNASKED_BYTES_MAX = 256 << 10
"""A new layer up to this size is sent without asking whether it is there: that takes as long."""

LOCAL = "local"
"""In place of a registry's name: a directory of this computer."""

GIVEN_MAX = 2000
OWN_TAG_DIGITS = 16

Connect = Callable[[str], Registry]
"""Of a host's name."""


class Target(Protocol):
    """Where an image goes: a registry, or a directory. See `registry.Registry` for what each promises."""

    host: str

    def manifest_digest(self, path: str, wanted: str) -> str: ...

    def put_manifest(self, path: str, wanted: str, data: bytes, media_type: str) -> None: ...

    def has_blob(self, path: str, digest: str) -> bool: ...

    def mount(self, path: str, digest: str, source: str) -> bool: ...

    def put_blob(self, path: str, digest: str, size: int, chunks: Callable[[], Iterable[bytes]]) -> None: ...


class Source(Protocol):
    """Where a base image comes from."""

    def manifest_digest(self, path: str, wanted: str) -> str: ...

    def get_manifest(self, path: str, wanted: str) -> tuple[bytes, str]: ...

    def get_blob(self, path: str, digest: str) -> bytes: ...

    def blob_chunks(self, path: str, digest: str, size: int) -> Iterable[bytes]: ...


def build(
    inputs: ImageInputs,
    registry: Target,
    cache: Path,
    *,
    connect: Connect = Registry,
    anew: bool = False,
    clock: Clock = SYSTEM,
    on_progress: OnProgress = silent,
) -> Built:
    """The image is whole in `inputs.repository` of the registry afterwards, whoever else builds or deletes there meanwhile.

    `connect`: to the base image's registry, where it is another one. `anew`: nothing that is remembered here is used.
    """
    return _Build(inputs, registry, Kept(cache), connect, anew, clock, on_progress).run()


@dataclass
class _Build:
    inputs: ImageInputs
    registry: Target
    kept: Kept
    connect: Connect
    anew: bool
    clock: Clock
    on_progress: OnProgress
    pushed_layers: int = 0
    pushed_bytes: int = 0

    def run(self) -> Built:
        base = self._base_digest()
        name = f"images/{self._key(base)}"
        known = None if self.anew else self.kept.recall(name)
        if known is not None and self._is_there(known):
            return self._built(known, base.digest)
        from outlast.container.manifest import compose

        read = self._read_base(base)
        self._check_python(read)
        layers = [(one.name, self.kept.layer(one, anew=self.anew)) for one in self.inputs.layers()]
        manifest, config = compose(read, layers, self._settings(), self.inputs.platform)
        digest = digest_of(manifest)
        self._push(read, [layer for _, layer in layers], config, manifest)
        record = {"digest": digest, "base": str(read.reference), "layers": len(layers) + len(read.layers)}
        self.kept.remember(name, record)
        return self._built(record, base.digest)

    def _key(self, base: Reference) -> str:
        inputs = self.inputs
        settings = sorted((*inputs.env.items(), *inputs.labels.items()))
        parts = (str(base), inputs.key, inputs.platform, inputs.directory, inputs.python_version)
        return key_of(*parts, *inputs.entrypoint, *inputs.path, *(f"{name}={value}" for name, value in settings))

    def _settings(self) -> Settings:
        from outlast.container.manifest import Settings

        inputs = self.inputs
        return Settings(inputs.entrypoint, inputs.directory, inputs.env, inputs.path, inputs.labels)

    def _is_there(self, known: dict[str, Any]) -> bool:
        """Only by asking: whoever owns the registry may have deleted it. One whose tag is elsewhere is pushed again, by its manifest."""
        digest = known.get("digest")
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            return False
        path = self.inputs.repository.path
        if self.inputs.tags:
            return all(self.registry.manifest_digest(path, tag) == digest for tag in self.inputs.tags)
        return self.registry.manifest_digest(path, digest) == digest

    def _built(self, record: dict[str, Any], base_tag: str) -> Built:
        at = replace(self.inputs.repository, digest=str(record["digest"]))
        return Built(
            reference=str(at),
            digest=at.digest,
            base=str(record["base"]),
            base_tag=base_tag,
            pushed_layers=self.pushed_layers,
            pushed_bytes=self.pushed_bytes,
            layers=int(record["layers"]),
        )

    # The base.

    def _from(self, reference: Reference) -> Source:
        if isinstance(self.registry, Registry) and reference.host == self.registry.host:
            return self.registry
        if reference.host == LOCAL:  # a builder has put it there
            return cast("Source", self.registry)
        return self.connect(reference.host)

    def _base_digest(self) -> Reference:
        """By its digest, from here on."""
        base = self.inputs.base
        if base.digest:
            return base
        name = f"bases/{key_of(str(base))}"
        known = None if self.anew or is_here(base.host) else self.kept.recall(name)
        if known is not None and 0 <= self.clock.now() - float(known.get("asked_at") or 0) < TAG_SECONDS:
            return replace(base, digest=str(known["digest"]))
        source = self._from(base)
        digest = source.manifest_digest(base.path, base.wanted)
        if not digest:
            data, _ = source.get_manifest(base.path, base.wanted)
            digest = digest_of(data)
        self.kept.remember(name, {"digest": digest, "asked_at": self.clock.now()})
        return replace(base, digest=digest)

    def _read_base(self, base: Reference) -> Base:
        """Asked for once: what a digest names never changes."""
        from outlast.container.manifest import base_record, read_base, recorded_base

        name = f"bases/{key_of(str(base), self.inputs.platform)}"
        known = None if self.anew else self.kept.recall(name)
        found = recorded_base(known) if known is not None else None
        if found is None:
            found = read_base(self._from(base), base, self.inputs.platform)
            self.kept.remember(name, base_record(found))
        return found

    def _check_python(self, base: Base) -> None:
        version = base.variable("PYTHON_VERSION")
        wanted = self.inputs.python_version
        if version and wanted and not f"{version}.".startswith(f"{wanted}."):
            raise UsageError(
                f"base image `{self.inputs.base}` has Python {version}, and the packages are for Python {wanted}",
                state="nothing was pushed",
                hint=f"`--python {'.'.join(version.split('.')[:2])}`, or a base image with Python {wanted}",
            )

    # Into the registry.

    def _push(self, base: Base, layers: Sequence[Layer], config: bytes, manifest: bytes) -> None:
        given = _Given(self.kept, self.inputs.repository, forget=self.anew)
        try:
            self._push_blobs(base, layers, config, given)
            self._put_manifest(manifest)
        except BlobsMissing:  # what we remember of it is not so any more
            given.forget()
            self._push_blobs(base, layers, config, given)
            try:
                self._put_manifest(manifest)
            except BlobsMissing:
                raise UsageError(
                    f"registry `{self.registry.host}` says that layers are missing which it was just given",
                    hint="try again; if it stays so, the registry is not whole",
                ) from None
        given.keep()

    def _put_manifest(self, manifest: bytes) -> None:
        from outlast.container.manifest import MANIFEST

        path = self.inputs.repository.path
        # What has no tag is swept away by many a registry's rules, and not listed by most.
        own = f"outlast-{digest_of(manifest).removeprefix('sha256:')[:OWN_TAG_DIGITS]}"
        for wanted in self.inputs.tags or (own,):
            self.registry.put_manifest(path, wanted, manifest, MANIFEST)

    def _push_blobs(self, base: Base, layers: Sequence[Layer], config: bytes, given: _Given) -> None:
        work: list[Callable[[], None]] = []
        for blob in {one.digest: one for one in base.layers}.values():
            if blob.digest not in given:
                work.append(partial(self._copy, base.reference, blob.digest, blob.bytes))
        for layer in {one.digest: one for one in layers}.values():
            if layer.digest not in given:
                work.append(partial(self._send, layer))
        digest = digest_of(config)
        if digest not in given:
            work.append(lambda: self._send_config(digest, config))
        _all_of(work)
        given.add([*(one.digest for one in base.layers), *(one.digest for one in layers), digest])

    def _copy(self, base: Reference, digest: str, size: int) -> None:
        """A layer of the base's, from where it is; a registry that has it already takes it over from itself."""
        path = self.inputs.repository.path
        if self.registry.has_blob(path, digest):
            return
        if base.host == self.registry.host and self.registry.mount(path, digest, base.path):
            return
        source = self._from(base)
        self._count(size)
        self.registry.put_blob(path, digest, size, lambda: source.blob_chunks(base.path, digest, size))

    def _send(self, layer: Layer) -> None:
        path = self.inputs.repository.path
        is_new = layer.digest in self.kept.made and layer.bytes < UNASKED_BYTES_MAX and not self.anew
        if is_new or not self.registry.has_blob(path, layer.digest):
            self._count(layer.bytes)
            self.registry.put_blob(path, layer.digest, layer.bytes, lambda: self.kept.chunks(layer.digest))

    def _send_config(self, digest: str, config: bytes) -> None:
        """Shorter than the question whether it is there would take."""
        self.registry.put_blob(self.inputs.repository.path, digest, len(config), lambda: (config,))

    def _count(self, size: int) -> None:
        self.pushed_layers += 1
        self.pushed_bytes += size
        self.on_progress("pushing layers", self.pushed_bytes, 0)


class _Given:
    """Blobs that a repository was given: spares a question for each, and is found out to be wrong when the manifest is refused."""

    def __init__(self, kept: Kept, repository: Reference, *, forget: bool) -> None:
        self._kept = kept
        self._name = f"given/{key_of(repository.host, repository.path)}"
        known = None if forget else kept.recall(self._name)
        digests = known.get("digests") if known is not None else None
        self._digests = [str(one) for one in digests] if isinstance(digests, list) else []
        self._before = list(self._digests)

    def __contains__(self, digest: str) -> bool:
        return digest in self._digests

    def add(self, digests: Sequence[str]) -> None:
        self._digests = list(dict.fromkeys((*self._digests, *digests)))

    def forget(self) -> None:
        self._digests = []

    def keep(self) -> None:
        if self._digests != self._before:
            self._kept.remember(self._name, {"digests": self._digests[-GIVEN_MAX:]})


def _all_of(work: Sequence[Callable[[], None]]) -> None:
    """Four at a time; the first that fails is told when those under way have ended."""
    waiting, failed = list(reversed(work)), list[BaseException]()

    def hand() -> None:
        while waiting and not failed:
            try:
                one = waiting.pop()
            except IndexError:
                return  # another hand was faster
            try:
                one()
            except BaseException as error:  # noqa: BLE001 - raised again by whoever waits for all
                failed.append(error)

    crew = [threading.Thread(target=hand, daemon=True) for _ in work[1:HANDS]]
    for one in crew:
        one.start()
    hand()
    for one in crew:
        one.join()
    if failed:
        raise failed[0]


def is_here(host: str) -> bool:
    return is_loopback(host.rpartition(":")[0] or host)
