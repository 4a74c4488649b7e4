"""md5 and CRC32C of a stream, computed by a thread beside the one that receives it."""

from __future__ import annotations

import hashlib
import queue
import threading

from outlast_emulator.storage import crc32c

PENDING_MAX = 16
"""Pieces that wait to be hashed; with pieces of up to a mebibyte that bounds the memory of an upload."""

BESIDE_BYTES = 256 << 10
"""A stream shorter than this is hashed where it is received: a thread costs more than it saves."""


class Hasher:
    def __init__(self) -> None:
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._crc = 0
        self._bytes = 0
        self._pieces: queue.Queue[bytes | None] | None = None
        self._thread: threading.Thread | None = None

    def put(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._pieces is not None:
            self._pieces.put(data)
        elif self._bytes > BESIDE_BYTES:
            self._pieces = queue.Queue(PENDING_MAX)
            self._pieces.put(data)
            self._thread = threading.Thread(target=self._run, args=(self._pieces,), daemon=True)
            self._thread.start()
        else:
            self._update(data)

    def finish(self) -> tuple[bytes, int]:
        """(md5, CRC32C) of all that was put; more may be put afterwards."""
        if self._pieces is not None and self._thread is not None:
            self._pieces.put(None)
            self._thread.join()
            self._pieces = self._thread = None
        return self._md5.digest(), self._crc

    def _update(self, data: bytes) -> None:
        self._md5.update(data)
        self._crc = crc32c.extend(self._crc, data)

    def _run(self, pieces: queue.Queue[bytes | None]) -> None:
        while (piece := pieces.get()) is not None:
            self._update(piece)
