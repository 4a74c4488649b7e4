"""Contents: an object's bytes, small ones in the database, large ones in files, with their checksums.

A content belongs to exactly one object, upload or departed object. Files that belong to none (the process was killed
between file and database) are swept at the next start.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from outlast_emulator.request import Incoming
from outlast_emulator.response import FileSlice
from outlast_emulator.storage import crc32c
from outlast_emulator.storage.database import Database
from outlast_emulator.storage.hashing import Hasher

PIECE_BYTES = 1 << 20
SMALL_BYTES = 16 << 10
"""Up to here a row of the database is cheaper than a file of its own."""


def pieces_of(body: Incoming) -> Iterator[bytes]:
    return iter(lambda: body.read(PIECE_BYTES), b"")


class Content(NamedTuple):
    id: int
    size: int
    md5: bytes
    """b"" where it is not known: an object composed of others has none."""
    crc32c: int
    data: bytes | None
    """What is to be stored in the database; None: it is in its file."""


class Contents:
    def __init__(self, root: Path, database: Database) -> None:
        self._root = root
        self._database = database
        for number in range(256):
            os.makedirs(root / f"{number:02x}", mode=0o700, exist_ok=True)

    def path(self, content_id: int) -> str:
        return f"{self._root}/{content_id & 0xFF:02x}/{content_id:x}"

    def next_id(self) -> int:
        return self._database.next_id()

    def receive(self) -> Sink:
        return Sink(self, self._database.next_id())

    def received(self, pieces: Iterable[bytes]) -> Content:
        """All that comes; nothing is left of what is cut."""
        sink = self.receive()
        try:
            for piece in pieces:
                sink.write(piece)
        except BaseException:
            sink.drop()
            raise
        return sink.finish()

    def small(self, data: bytes) -> Content:
        """For what is in memory already."""
        if len(data) > SMALL_BYTES:
            sink = self.receive()
            sink.write(data)
            return sink.finish()
        digest = hashlib.md5(data, usedforsecurity=False).digest()
        return Content(self._database.next_id(), len(data), digest, crc32c.extend(0, data), data)

    def slice(self, content_id: int, inline: bool, start: int, length: int) -> bytes | FileSlice:
        """`length` bytes from `start`. FileNotFoundError or KeyError: replaced in the meantime."""
        if length == 0:
            return b""
        if inline:
            data = self._database.content(content_id)
            return data if start == 0 and length == len(data) else data[start : start + length]
        return FileSlice(open(self.path(content_id), "rb", buffering=0), start, length)

    def linked(self, content: Content, inline: bool) -> Content:
        """The same bytes as a content of their own, without copying those that are in a file."""
        fresh = self._database.next_id()
        if inline:
            return content._replace(id=fresh, data=self._database.content(content.id))
        os.link(self.path(content.id), self.path(fresh))
        return content._replace(id=fresh, data=None)

    def drop(self, content_id: int, inline: bool) -> None:
        """After the row that owned it is gone."""
        if not inline:
            try:
                os.unlink(self.path(content_id))
            except FileNotFoundError:
                pass

    def sweep(self, owned: set[int], before: int) -> None:
        """Removes files that belong to nobody and were begun before this process."""
        try:
            for folder in os.scandir(self._root):
                for entry in os.scandir(folder.path):
                    content_id = int(entry.name, 16)
                    if content_id not in owned and content_id < before:
                        self.drop(content_id, False)
        except (OSError, ValueError):
            return  # the directory is going away with its emulator, or is not ours alone: a file too many harms nobody


class Sink:
    """Takes a content piece by piece: in memory while it is small, then in its file; hashed beside it."""

    def __init__(self, contents: Contents, content_id: int) -> None:
        self._contents = contents
        self.id = content_id
        self.size = 0
        self._pieces: list[bytes] = []
        self._file: int = -1
        self._hasher: Hasher | None = None

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self._file < 0:
            self._pieces.append(data)
            if self.size <= SMALL_BYTES:
                return
            self._file = os.open(self._contents.path(self.id), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            self._hasher = Hasher()
            data = b"".join(self._pieces)
            self._pieces = []
        assert self._hasher is not None
        self._hasher.put(data)
        _write_all(self._file, data)

    def finish(self) -> Content:
        """All of it, on disk or in `data`; the caller gives it to an object or drops it."""
        if self._file < 0:
            data = b"".join(self._pieces)
            digest = hashlib.md5(data, usedforsecurity=False).digest()
            return Content(self.id, self.size, digest, crc32c.extend(0, data), data)
        assert self._hasher is not None
        md5, crc = self._hasher.finish()
        os.close(self._file)
        return Content(self.id, self.size, md5, crc, None)

    def drop(self) -> None:
        if self._file >= 0:
            assert self._hasher is not None
            self._hasher.finish()
            os.close(self._file)
            self._contents.drop(self.id, False)


def _write_all(file: int, data: bytes) -> None:
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, memoryview(data)[written:])


def sweep_later(contents: Contents, owned: set[int], before: int) -> None:
    """Not before the emulator is ready: a start takes no longer because of what an earlier one left."""
    threading.Thread(target=contents.sweep, args=(owned, before), daemon=True).start()
