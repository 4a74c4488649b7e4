"""What is compared: named bytes, on a disk or inside an archive, and the limits that hold while they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from outlast.dataclass import dataclass

CHUNK_BYTES = 1 << 20
MAGIC_BYTES = 16

DEPTH_MAX = 3
"""Archives inside archives: a `.npz` in a `.zip` in a `.gz` is looked into; what lies deeper counts by its bytes."""

MEMBERS_MAX = 100_000
STRUCTURE_BYTES_MAX = 256 << 20
"""A JSON document, a pickle or a header is held in memory whole; a larger one is compared by its bytes."""

EXPANDED_BYTES_MIN = 1 << 30
EXPANSION_MAX = 20
"""A compressed file may grow to a gigabyte or twenty-fold, whichever is more: beyond that it is a bomb."""


class Unreadable(Exception):
    """A file is not what its name says, or is beyond a limit: it is compared by its bytes instead."""


@dataclass(frozen=True)
class Source:
    name: str
    """Its last part decides, with the first bytes, by which rule it is compared."""

    size_bytes: int
    open: Callable[[], BinaryIO]

    def magic(self) -> bytes:
        with self.open() as stream:
            return stream.read(MAGIC_BYTES)

    def read(self, bytes_max: int = STRUCTURE_BYTES_MAX) -> bytes:
        """All of it, if it is no longer than that."""
        with self.open() as stream:
            data = stream.read(bytes_max + 1)
        if len(data) > bytes_max:
            raise Unreadable(f"longer than {bytes_max:,} bytes")
        return data


def file_source(path: Path, name: str) -> Source:
    return Source(name, path.stat().st_size, lambda: path.open("rb"))


@dataclass
class Look:
    """How closely one pair of files is looked at, and what was let pass."""

    inside: Callable[[Source, Source, Look], str]
    """Compares a pair of members by the rule of their own format."""

    bytes_left: int
    tolerance: float | None = None
    depth: int = 0
    largest: float = 0.0
    """The largest difference that the tolerance let pass, by the measure of `numbers.apart`."""

    def spend(self, count: int) -> None:
        self.bytes_left -= count
        if self.bytes_left < 0:
            raise Unreadable(f"grows to more than {EXPANSION_MAX} times its size when it is unpacked")


def budget(reference: Source, other: Source) -> int:
    return max(EXPANDED_BYTES_MIN, EXPANSION_MAX * (reference.size_bytes + other.size_bytes))


def pieces(stream: BinaryIO, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Pieces of exactly that size, but for the last one: two streams cut alike can be compared piece by piece."""
    while True:
        piece = stream.read(size)
        while piece and len(piece) < size:
            more = stream.read(size - len(piece))
            if not more:
                break
            piece += more
        if not piece:
            return
        yield piece
