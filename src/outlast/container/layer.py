"""A layer: a tar archive in gzip's form, made of nothing but its contents, so that equal contents are equal bytes everywhere.

Compressing would not be that: zlib and its descendants give different bytes for the same content. So nothing is compressed here. Contents
that come out of a wheel keep the compressed form that they have there (a gzip file may consist of many members, one after the
other), which is also faster than compressing them again; all else is stored.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from outlast.container import tar
from outlast.dataclass import dataclass
from outlast.errors import Damaged

GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
STORED_BYTES_MAX = 0xFFFF
END_OF_ARCHIVE = b"\0" * (2 * tar.BLOCK_BYTES)

Piece = tuple[bytes, bytes]
"""(compressed, the same plain): some bytes of a content that is compressed already."""


@dataclass(frozen=True)
class Member:
    """A file or a symbolic link. Directories come by themselves."""

    path: bytes
    """Absolute in the image, without the leading `/`."""

    mode: int = 0o644
    size: int = 0
    chunks: Callable[[], Iterable[bytes]] | None = None
    deflated: Callable[[], Iterable[Piece]] | None = None
    """Instead of `chunks`: a raw deflate stream, whole."""

    link: bytes = b""

    @classmethod
    def of(cls, path: str, data: bytes, mode: int = 0o644) -> Member:
        return cls(path.lstrip("/").encode(), mode, len(data), lambda: (data,))


@dataclass(frozen=True)
class Layer:
    """What is known about one that lies somewhere as a blob."""

    digest: str
    """Of its bytes, `sha256:...`; so it is named in a registry."""

    diff_id: str
    """Of the archive in it; so it is named in an image's configuration."""

    bytes: int


def write_layer(members: Iterable[Member], file: IO[bytes]) -> Layer:
    writer = _Writer(file)
    made: set[bytes] = set()
    for member in sorted(members, key=lambda one: one.path):
        for parent in _parents(member.path):
            if parent not in made:
                made.add(parent)
                writer.plain(tar.header(parent + b"/", tar.DIRECTORY, 0o755))
        writer.member(member)
    return writer.close()


def _parents(path: bytes) -> Iterator[bytes]:
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)


class _Writer:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._archive = hashlib.sha256()
        self._bytes = 0
        self._held = bytearray()
        """Plain bytes of the gzip member that is being written."""

        self._crc = self._size = 0
        self._open = False

    def member(self, member: Member) -> None:
        if member.link:
            self.plain(tar.header(member.path, tar.LINK, 0o777, link=member.link))
            return
        self.plain(tar.header(member.path, tar.FILE, member.mode, member.size))
        if member.deflated is not None:
            size = self._deflated(member.deflated())
        else:
            size = 0
            for chunk in member.chunks() if member.chunks is not None else ():
                size += len(chunk)
                self.plain(chunk)
        if size != member.size:
            raise Damaged(f"`/{member.path.decode(errors='replace')}` has {size:,} bytes instead of {member.size:,}")
        self.plain(tar.padding(size))

    def plain(self, data: bytes) -> None:
        if not data:
            return
        self._archive.update(data)
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        if not self._open:
            self._open = True
            self._write(GZIP_HEAD)
        self._held += data
        at = 0
        while len(self._held) - at > STORED_BYTES_MAX:
            self._stored(self._held[at : at + STORED_BYTES_MAX], last=False)
            at += STORED_BYTES_MAX
        del self._held[:at]

    def close(self) -> Layer:
        self.plain(END_OF_ARCHIVE)
        self._end_member()
        return Layer(f"sha256:{self._digest.hexdigest()}", f"sha256:{self._archive.hexdigest()}", self._bytes)

    def _deflated(self, pieces: Iterable[Piece]) -> int:
        self._end_member()
        self._write(GZIP_HEAD)
        crc = size = 0
        for packed, plain in pieces:
            self._archive.update(plain)
            crc = zlib.crc32(plain, crc)
            size += len(plain)
            self._write(packed)
        self._write(struct.pack("<II", crc, size & 0xFFFFFFFF))
        return size

    def _end_member(self) -> None:
        if not self._open:
            return
        self._stored(self._held, last=True)
        self._write(struct.pack("<II", self._crc, self._size & 0xFFFFFFFF))
        self._held = bytearray()
        self._crc = self._size = 0
        self._open = False

    def _stored(self, data: bytearray, *, last: bool) -> None:
        self._write(struct.pack("<BHH", last, len(data), len(data) ^ 0xFFFF) + data)

    def _write(self, data: bytes) -> None:
        self._digest.update(data)
        self._bytes += len(data)
        self._file.write(data)
