"""What is uploaded while it is read: from any place, as often as the network asks for it, hashed on its way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

from outlast.errors import Damaged

SLICE_BYTES = 1 << 20
"""What is hashed and then sent at once: it is still in the processor's cache when it is copied to the network. With less of it,
threads that take turns cost more than a nearer cache saves."""


class Source:
    """`md5` is that of everything before the place where it stands."""

    def __init__(self, chunks: Callable[[], Iterable[bytes]], size: int) -> None:
        self.size = size
        self._open = chunks
        self._begin()

    def _begin(self) -> None:
        self._chunks = iter(self._open())
        self._held = memoryview(b"")
        self._at = 0
        self.md5 = hashlib.md5(usedforsecurity=False)

    def between(self, start: int, end: int) -> Iterator[memoryview]:
        """What was read before is read again: only a connection that broke asks for it."""
        if start < self._at:
            self._begin()
        while self._at < start:
            self._next(start - self._at)
        while self._at < end:
            yield self._next(end - self._at)

    def rest(self, start: int) -> bytes:
        """All that is left. The source is read to its end, so that it sees its own."""
        data = b"".join(self.between(start, self.size))
        if any(self._chunks) or self._held:
            raise Damaged(f"more than the {self.size} bytes came that were announced")
        return data

    def _next(self, bytes_max: int) -> memoryview:
        while not self._held:
            try:
                self._held = memoryview(next(self._chunks))
            except StopIteration:
                raise Damaged(f"{self._at} bytes came instead of the {self.size} that were announced") from None
        cut = min(bytes_max, SLICE_BYTES)
        chunk, self._held = self._held[:cut], self._held[cut:]
        self.md5.update(chunk)
        self._at += len(chunk)
        return chunk
