"""Which contents a home has, where they lie, and new ones on their way into it, in packs.

A pack is contents one after the other, nothing else; where each begins is known from the bundles. It is named by the sha256 of
its contents' sha256s, so the same contents make the same pack, and a pack that was uploaded by a submit that died is made again
under the same name; after a prune under another one, because a name that was condemned never comes back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping

from outlast.bundle.listing import File, Place
from outlast.bundle.record import read_bundle
from outlast.errors import Damaged, NewerFormat
from outlast.folder import layout
from outlast.folder.prunes import Prunes
from outlast.spec.progress import OnProgress, silent
from outlast.store.store import Store

PACK_BYTES_MAX = 16 << 20
"""What is held in memory before it is uploaded."""

LEARNED_RECORDS_MAX = 8
LEARNED_BYTES_MAX = 64 << 20
"""How much of a home is read where nothing is remembered of it: enough for a second laptop to find what the first has shipped."""


class Contents:
    def __init__(
        self,
        store: Store,
        remembered: Callable[[], tuple[Mapping[str, Place], Mapping[str, int]]],
        prunes: Prunes = Prunes(),  # noqa: B008 - frozen
        on_progress: OnProgress = silent,
    ) -> None:
        """`remembered` answers where contents lie, and the sizes of their packs; it is asked when it first matters."""
        self.places: dict[str, Place] = {}
        self.uploaded_bytes = 0
        self.prunes = prunes
        self.on_progress = on_progress
        self._store = store
        self._remembered = remembered
        self._recalled = False
        self._packs = packs_there(store, prunes)

        self._waiting: dict[str, bytes] = {}
        self._waiting_bytes = 0

    def recall(self) -> None:
        if not self._recalled:
            self._recalled = True
            self.take(*self._remembered())

    def take(self, places: Mapping[str, Place], packs: Mapping[str, int]) -> None:
        """What somebody knows counts as far as its packs are there, as long as they were."""
        there = {pack for pack, size in packs.items() if self._packs.get(pack) == size}
        self.places.update((sha256, place) for sha256, place in places.items() if place.pack in there)

    def learn(self) -> None:
        """Looks into the home's own bundles; what is damaged there teaches nothing."""
        records = sorted(self._store.list(layout.BUNDLES), key=lambda entry: -entry.bytes)
        left_bytes = LEARNED_BYTES_MAX
        for entry in records[:LEARNED_RECORDS_MAX]:
            left_bytes -= entry.bytes
            if left_bytes < 0:
                return
            digest = entry.key.removeprefix(layout.BUNDLES).removesuffix(".json")
            try:
                bundle = read_bundle(self._store, digest)
            except (Damaged, NewerFormat):
                continue
            self.places.update(
                (file.sha256, bundle.places[file.sha256])
                for file in bundle.files.values()
                if file.bytes and self.holds(file, bundle.places[file.sha256])
            )

    def has(self, sha256: str) -> bool:
        if sha256 not in self.places and sha256 not in self._waiting:
            self.recall()
        return sha256 in self.places or sha256 in self._waiting

    def holds(self, file: File, place: Place) -> bool:
        """Whether the pack is there and long enough."""
        return place.offset + file.bytes <= self._packs.get(place.pack, -1)

    def has_packs(self, packs: Mapping[str, int]) -> bool:
        return all(self._packs.get(pack) == size for pack, size in packs.items())

    def packs_of(self, files: Iterable[File]) -> dict[str, int]:
        """The packs in which these contents lie, with their sizes."""
        return self.sizes_of(self.places[file.sha256].pack for file in files if file.bytes)

    def sizes_of(self, packs: Iterable[str]) -> dict[str, int]:
        return {pack: self._packs[pack] for pack in set(packs)}

    def add(self, sha256: str, data: bytes) -> None:
        self._waiting[sha256] = data
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= PACK_BYTES_MAX:
            self.flush()

    def add_large(self, sha256: str, size: int, chunks: Iterator[bytes]) -> None:
        """A pack of its own."""
        self._upload([(sha256, size)], chunks)

    def flush(self) -> None:
        """Everything added so far is in the home when this returns."""
        if self._waiting:
            contents = [(sha256, len(data)) for sha256, data in self._waiting.items()]
            self._upload(contents, joined(self._waiting.values()))
        self._waiting.clear()
        self._waiting_bytes = 0

    def _upload(self, contents: list[tuple[str, int]], chunks: Iterator[bytes]) -> None:
        pack = pack_digest(contents, self.prunes.number)
        total_bytes = sum(size for _, size in contents)
        if self._packs.get(pack) != total_bytes:
            self.uploaded_bytes += self._store.upload(layout.pack(pack), chunks)
            self._packs[pack] = total_bytes
        offset = 0
        for sha256, size in contents:
            self.places[sha256] = Place(pack, offset)
            offset += size


def packs_there(store: Store, prunes: Prunes) -> dict[str, int]:
    """With their sizes, whatever is remembered: a home may have been emptied, a pack lost. What is condemned is not there."""
    return {
        entry.key.removeprefix(layout.PACKS): entry.bytes
        for entry in store.list(layout.PACKS)
        if entry.key not in prunes.masses
    }


def pack_digest(contents: Iterable[tuple[str, int]], prune: int) -> str:
    """The name of the pack that holds these (sha256, bytes), one after the other, if it is written after that prune."""
    names = "".join(f"{sha256} {size}\n" for sha256, size in contents)
    if prune:
        names = f"after prune {prune}\n{names}"
    return hashlib.sha256(b"outlast pack 1\n" + names.encode()).hexdigest()


def joined(contents: Iterable[bytes]) -> Iterator[bytes]:
    """In pieces of a size that stores like."""
    waiting: list[bytes] = []
    waiting_bytes = 0
    for data in contents:
        waiting.append(data)
        waiting_bytes += len(data)
        if waiting_bytes >= 1 << 20:
            yield b"".join(waiting)
            waiting, waiting_bytes = [], 0
    if waiting:
        yield b"".join(waiting)
