"""A dataset's contents on their way into packs.

Small contents are put together, and a pack ends where its last content's sha256 says so: a file that changes moves the ends of its own
pack and perhaps of the next, so that the same files make the same packs whoever pushes them, and after a push that was killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from outlast.bundle.contents import joined, pack_digest, packs_there
from outlast.bundle.dataset.listing import Piece
from outlast.bundle.dataset.reading import Content, read_again
from outlast.folder import layout
from outlast.folder.prunes import Prunes
from outlast.store.store import Store

ALONE_BYTES_MIN = 1 << 20
"""A content from this size on is a pack of its own."""

PACK_BYTES = 4 << 20
"""What packs of small contents come to on average."""

PACK_BYTES_MAX = 16 << 20
PACK_CONTENTS_MAX = 10_000
SALTS_MAX = 100
"""A pack keeps the name that it got before a prune: so many prunes back it is looked for."""


class PackUpload(NamedTuple):
    key: str
    contents: tuple[Content, ...]

    def chunks(self) -> Iterator[bytes]:
        return joined(content.data if content.data is not None else read_again(content) for content in self.contents)


class Packs:
    def __init__(self, store: Store, prunes: Prunes) -> None:
        self._prunes = prunes
        self._there = packs_there(store, prunes)
        self._waiting: dict[str, Content] = {}
        self._waiting_bytes = 0
        self.placed: dict[str, Piece] = {}
        """Where the contents lie that have been placed since `placed` was emptied last."""

    def holds(self, piece: Piece) -> bool:
        """Whether what was remembered is still there and long enough."""
        return piece.offset + piece.bytes <= self._there.get(piece.pack, -1)

    def have(self, packs: Mapping[str, int]) -> bool:
        return all(self._there.get(pack) == size for pack, size in packs.items())

    def sizes_of(self, packs: Iterable[str]) -> dict[str, int]:
        return {pack: self._there[pack] for pack in packs}

    def add(self, content: Content) -> Iterator[PackUpload]:
        """Yields what is to be uploaded now; the content is `placed` now or later."""
        if content.place is not None and self.holds(content.place):
            self.placed[content.sha256] = content.place
        elif content.bytes >= ALONE_BYTES_MIN:
            yield from self.place_alone(content)
        elif content.sha256 not in self.placed and content.sha256 not in self._waiting:
            self._waiting[content.sha256] = content
            self._waiting_bytes += content.bytes
            full = self._waiting_bytes >= PACK_BYTES_MAX or len(self._waiting) >= PACK_CONTENTS_MAX
            if full or int(content.sha256[:8], 16) * PACK_BYTES < content.bytes << 32:
                yield from self.flush()

    def place_alone(self, content: Content) -> Iterator[PackUpload]:
        yield from self._place([content])

    def flush(self) -> Iterator[PackUpload]:
        waiting = list(self._waiting.values())
        self._waiting.clear()
        self._waiting_bytes = 0
        if waiting:
            yield from self._place(waiting)

    def _place(self, contents: list[Content]) -> Iterator[PackUpload]:
        total_bytes = sum(content.bytes for content in contents)
        sums = [(content.sha256, content.bytes) for content in contents]
        pack = self._found(sums, total_bytes)
        if not pack:
            pack = pack_digest(sums, self._prunes.number)
            self._there[pack] = total_bytes
            yield PackUpload(layout.pack(pack), tuple(contents))
        offset = 0
        for sha256, size in sums:
            self.placed[sha256] = Piece(sha256, size, pack, offset)
            offset += size

    def _found(self, sums: list[tuple[str, int]], total_bytes: int) -> str:
        newest = self._prunes.number
        for salt in range(newest, max(-1, newest - SALTS_MAX), -1):
            pack = pack_digest(sums, salt)
            if self._there.get(pack) == total_bytes:
                return pack
        return ""
