"""The layers of a job's image: entry point and agent, packages, directories beside the code, the code."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from outlast.bundle.listing import MODES, File, digest_of
from outlast.bundle.record import Bundle, read_bundle
from outlast.container.entry import agent_key, entry_files
from outlast.container.layer import Member
from outlast.container.source import LayerSource
from outlast.errors import Damaged
from outlast.folder import layout
from outlast.host import image_places as places
from outlast.store.store import Store

HELD_BYTES_MAX = 64 << 20


def agent_layer(archive: bytes) -> LayerSource:
    """`archive`: as `bundle.agent.archive` packs it."""

    def members() -> Iterator[Member]:
        import zipfile

        yield from (Member.of(path, data) for path, data in entry_files().items())
        with zipfile.ZipFile(io.BytesIO(archive)) as packed:
            for name in packed.namelist():
                yield Member.of(f"{places.AGENT}/{name}", packed.read(name))

    return LayerSource("agent", agent_key(archive), lambda: nullcontext(members()))


def environment_layer(store: Store, digest: str, scratch: Path) -> LayerSource:
    """`scratch`: a directory for the wheels while the layer is made."""

    def members() -> AbstractContextManager[Iterable[Member]]:
        from outlast.container.environment import installed  # with the reader of wheels: needed once

        return installed(store, digest, scratch)

    return LayerSource("environment", digest, members)


def code_layers(store: Store, bundle: str, directory: Path | None, beside: Sequence[str] = ()) -> list[LayerSource]:
    """The bundle's files: one layer for each directory of `beside`, by its name in the bundle, then one for the rest.

    `directory`: where they were packed from, which is nearer than the home; what has changed there since is read from the home.
    """
    found = read_bundle(store, bundle)
    contents = _Contents(store, found, directory)
    rest = dict(found.files)
    layers = []
    for name in beside:
        prefix = os.fsencode(name.strip("/")) + b"/"
        part = {path: file for path, file in rest.items() if path.startswith(prefix)}
        for path in part:
            del rest[path]
        if part:
            layers.append(_files_layer(f"dir {name}", part, contents))
    return [*layers, _files_layer("code", rest, contents)]


def _files_layer(name: str, files: Mapping[bytes, File], contents: _Contents) -> LayerSource:
    root = places.CODE.lstrip("/").encode()

    def members() -> Iterator[Member]:
        for path, file in files.items():
            chunks = contents.chunks(file)
            yield Member(root + b"/" + path, MODES[file.mode], file.bytes, chunks)

    return LayerSource(name, digest_of(files.values()), lambda: nullcontext(members()))


class _Contents:
    def __init__(self, store: Store, bundle: Bundle, directory: Path | None) -> None:
        self._store = store
        self._bundle = bundle
        self._directory = os.fsencode(directory) if directory is not None else None

    def chunks(self, file: File) -> Callable[[], Iterator[bytes]]:
        return lambda: self._read(file)

    def _read(self, file: File) -> Iterator[bytes]:
        if not file.bytes:
            return
        data = self._near(file)
        if data is not None:
            yield data
            return
        from outlast.bundle.unpack import PackGone, open_pack

        place = self._bundle.places[file.sha256]
        stream = open_pack(self._store, place.pack)
        try:
            stream.skip_to(place.offset)
            yield from (bytes(piece) for piece in stream.pieces(file.bytes, file.sha256, file.path))
        except PackGone:
            raise Damaged(f"`{layout.pack(place.pack)}` is gone from `{self._store.url}`") from None

    def _near(self, file: File) -> bytes | None:
        """What lies in the directory, if it still is what was shipped and fits into memory."""
        if self._directory is None or file.bytes > HELD_BYTES_MAX:
            return None
        try:
            with open(os.path.join(self._directory, file.path), "rb", buffering=0) as opened:
                data = opened.readall()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == file.sha256 else None
