"""The trainer's log and metrics on their way to the home: sealed segments in order, and a live tail while somebody watches."""

from __future__ import annotations

from collections import deque

from outlast.agent.child import Child
from outlast.errors import PreconditionFailed
from outlast.folder.folder import Folder

SEAL_BYTES = 1 << 20
SEAL_BYTES_MAX = 8 << 20
"""A segment is sealed at the first size; a backlog is taken in bites of the second."""

SEAL_SECONDS = 20.0
TAIL_SECONDS = 2.0
"""How often the tail is rewritten for those who watch, where each write is billed."""

FIRST_BYTES_KEPT = 64 << 20
NEWEST_BYTES_KEPT = 448 << 20
"""Of one attempt's stream the beginning and the newest part are kept; readers show the gap between them."""


class Stream:
    def __init__(self, folder: Folder, child: Child, name: str, attempt: int, rank: int) -> None:
        self.folder = folder
        self.child = child
        self.name = name
        self.attempt = attempt
        self.rank = rank
        self.sealed_bytes = 0
        self.newest: deque[tuple[int, int]] = deque()
        self.newest_bytes = 0
        self._tail = (0, 0)
        """What the tail says: its first byte and its end."""

        self._tail_at: float | None = None
        self._sealed_at: float | None = None
        store = folder.store
        self._seal_seconds = max(SEAL_SECONDS, store.write_seconds)
        self._tail_seconds = max(store.rewrite_seconds, min(TAIL_SECONDS, store.write_seconds))

    def recall(self) -> None:
        """Goes on where an earlier life of this agent stopped."""
        prefix = self.folder.keys.stream(self.attempt, self.name, self.rank)
        for entry in self.folder.store.list(prefix):
            offset = entry.key.removeprefix(prefix)
            if offset.isascii() and offset.isdigit():  # a foreign file is no segment
                self._count(int(offset), entry.bytes)

    def ship(self, now: float, *, watched: bool) -> None:
        """Seals what is due; rewrites the tail if somebody watches."""
        if self._sealed_at is None:
            self._sealed_at = now
        total = self.child.stream_bytes(self.name)
        while total - self.sealed_bytes >= SEAL_BYTES:
            self._seal(total)
            self._sealed_at = now
        if total > self.sealed_bytes and now - self._sealed_at >= self._seal_seconds:
            self._seal(total)
            self._sealed_at = now
        # Also when all is sealed: by a tail that begins later, those who watch learn that there is a segment to read.
        due = self._tail_at is None or now - self._tail_at >= self._tail_seconds
        if watched and due and self._tail != (self.sealed_bytes, total):
            self._write_tail(total)
            self._tail_at = now

    def finish(self) -> None:
        """Seals all that there is."""
        total = self.child.stream_bytes(self.name)
        while self.sealed_bytes < total:
            self._seal(total)

    def _seal(self, total: int) -> None:
        offset = self.sealed_bytes
        data = self.child.stream_read(self.name, offset, min(total - offset, SEAL_BYTES_MAX))
        key = self.folder.keys.segment(self.attempt, self.name, self.rank, offset)
        try:
            self.folder.store.put(key, data, if_generation=0)
        except PreconditionFailed:
            # Ours, its answer lost: it may be shorter than what we hold by now, so we go on from its end.
            data = self.folder.store.get(key).data
        self._count(offset, len(data))
        self.child.stream_drop(self.name, self.sealed_bytes)

    def _count(self, offset: int, size: int) -> None:
        self.sealed_bytes = offset + size
        if offset < FIRST_BYTES_KEPT:
            return
        self.newest.append((offset, size))
        self.newest_bytes += size
        while self.newest_bytes > NEWEST_BYTES_KEPT:
            old_offset, old_size = self.newest.popleft()
            self.newest_bytes -= old_size
            self.folder.store.purge([self.folder.keys.segment(self.attempt, self.name, self.rank, old_offset)])

    def _write_tail(self, total: int) -> None:
        data = self.child.stream_read(self.name, self.sealed_bytes, total - self.sealed_bytes)
        key = self.folder.keys.tail(self.attempt, self.name, self.rank)
        self.folder.store.put(key, f"{self.sealed_bytes:015d}".encode() + data)
        self._tail = (self.sealed_bytes, total)
