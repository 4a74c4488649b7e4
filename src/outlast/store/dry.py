"""A store on which nothing is written: reads see what would have been."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import NamedTuple

from outlast.dataclass import dataclass
from outlast.errors import KeyMissing, NotFound, PreconditionFailed
from outlast.store.keys import check_key
from outlast.store.one_by_one import OneByOne
from outlast.store.store import CHUNK_BYTES, Entry, Store, Stored


class Write(NamedTuple):
    """What would have been done: `put`, `delete`, `purge` or `upload`."""

    operation: str
    key: str
    bytes: int


@dataclass(frozen=True)
class _Overlaid:
    """An object as it would be; no file: it would be gone."""

    generation: int
    size_bytes: int = 0
    file: SpooledTemporaryFile[bytes] | None = None


class Dry(OneByOne):
    """Each write is checked like a real one and recorded in `writes`. What is large is kept in a temporary file.

    Without `keeps_uploads` what is uploaded is counted and not kept, for nobody to read: a dataset may be larger than all temporary files.
    """

    def __init__(self, store: Store, *, keeps_uploads: bool = True) -> None:
        self._keeps_uploads = keeps_uploads
        self.url = store.url
        self.poll_seconds = store.poll_seconds
        self.rewrite_seconds = store.rewrite_seconds
        self.write_seconds = store.write_seconds
        self.writes: list[Write] = []
        self._store = store
        self._overlay: dict[str, _Overlaid] = {}

    @property
    def billed_writes(self) -> int:
        return self._store.billed_writes

    def get(self, key: str) -> Stored:
        overlaid = self._overlay.get(key)
        if overlaid is None:
            try:
                return self._store.get(key)
            except NotFound:
                raise KeyMissing(key) from None  # its bucket would have been made before
        return Stored(b"".join(self.download(key)), overlaid.generation)

    def download(self, key: str) -> Iterator[bytes]:
        overlaid = self._overlay.get(key)
        if overlaid is None:
            try:
                yield from self._store.download(key)
            except NotFound:
                raise KeyMissing(key) from None
            return
        if overlaid.file is None:
            raise KeyMissing(key)
        for offset in range(0, overlaid.size_bytes, CHUNK_BYTES):
            overlaid.file.seek(offset)
            yield overlaid.file.read(CHUNK_BYTES)

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Iterator[Entry]:
        ours = (
            Entry(key, overlaid.generation, overlaid.size_bytes)
            for key, overlaid in sorted(self._overlay.items())
            if key.startswith(prefix) and key > after and overlaid.file is not None
        )
        theirs = (entry for entry in self._theirs(prefix, after) if entry.key not in self._overlay)
        return itertools.islice(heapq.merge(ours, theirs, key=lambda entry: entry.key), limit)

    def _theirs(self, prefix: str, after: str) -> Iterator[Entry]:
        try:
            yield from self._store.list(prefix, after=after)
        except NotFound:
            return

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        generation, there = self._current(key)
        if if_generation is not None and if_generation != (generation if there else 0):
            raise PreconditionFailed(key)
        self._lay("put", key, generation + 1, (data,))
        return generation + 1

    def upload(self, key: str, chunks: Iterable[bytes]) -> int:
        if not self._keeps_uploads:
            size_bytes = sum(len(chunk) for chunk in chunks)
            self._overlay[key] = _Overlaid(self._current(key)[0] + 1, size_bytes, SpooledTemporaryFile())  # noqa: SIM115
            self.writes.append(Write("upload", key, size_bytes))
            return size_bytes
        return self._lay("upload", key, self._current(key)[0] + 1, chunks)

    def delete(self, key: str, *, if_generation: int | None = None) -> None:
        generation, there = self._current(key)
        if if_generation is not None and not (there and if_generation == generation):
            raise PreconditionFailed(key)
        if there:
            self._overlay[key] = _Overlaid(generation)
            self.writes.append(Write("delete", key, 0))

    def purge(self, keys: Iterable[str]) -> None:
        for key in keys:
            generation, there = self._current(key)
            if there:
                self._overlay[key] = _Overlaid(generation)
                self.writes.append(Write("purge", key, 0))

    def now(self) -> float:
        return self._store.now()

    def _lay(self, operation: str, key: str, generation: int, chunks: Iterable[bytes]) -> int:
        file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(max_size=CHUNK_BYTES)  # noqa: SIM115 - lives on
        size_bytes = sum(file.write(chunk) for chunk in chunks)
        self._overlay[key] = _Overlaid(generation, size_bytes, file)
        self.writes.append(Write(operation, key, size_bytes))
        return size_bytes

    def _current(self, key: str) -> tuple[int, bool]:
        """The generation that the object has, or had last as far as is known; and whether it is there."""
        check_key(key)
        overlaid = self._overlay.get(key)
        if overlaid is not None:
            return overlaid.generation, overlaid.file is not None
        try:
            return self._store.get(key).generation, True
        except (KeyMissing, NotFound):
            return 0, False
