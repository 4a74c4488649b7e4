"""Numbers in raw bytes, and how far apart two of them are: what a tolerance means."""

from __future__ import annotations

import math
import struct
from typing import BinaryIO

from outlast.results.compare.source import Look, Source, Unreadable, pieces

_PIECE_BYTES = 1 << 16
"""Divides by the size of every number, so that no number is cut in two."""


def apart(left: float, right: float) -> float:
    """0 for equal numbers; else their distance, relative to the larger one if that is above 1. NaN is equal to NaN."""
    if left == right or (left != left and right != right):
        return 0.0
    try:
        if not (math.isfinite(left) and math.isfinite(right)):
            return math.inf
        return float(abs(left - right) / max(1.0, abs(left), abs(right)))
    except OverflowError:
        # An integer beyond every float: JSON knows such.
        return math.inf


def accepted(left: float, right: float, look: Look) -> bool:
    """Whether the tolerance lets two numbers pass that are not the same."""
    if look.tolerance is None:
        return False
    distance = apart(left, right)
    if distance <= look.tolerance:
        look.largest = max(look.largest, distance)
        return True
    return False


class Layout:
    """How numbers lie in bytes: a letter of `struct`, or `bfloat16`."""

    def __init__(self, code: str, *, little: bool = True) -> None:
        self.bfloat16 = code == "bfloat16"
        self.code = "H" if self.bfloat16 else code
        self.order = "<" if little else ">"
        self.size = struct.calcsize(self.order + self.code)

    def unpack(self, data: bytes) -> tuple[float, ...]:
        count = len(data) // self.size
        values = struct.unpack(f"{self.order}{count}{self.code}", data[: count * self.size])
        if self.bfloat16:
            # A bfloat16 is the upper half of a float32.
            return struct.unpack(f"<{count}f", struct.pack(f"<{count}I", *(value << 16 for value in values)))
        return values


def compare_numbers(reference: BinaryIO, other: BinaryIO, count_bytes: int, layout: Layout | None, look: Look) -> str:
    """The next `count_bytes` of both streams as numbers; the first difference that no tolerance lets pass."""
    offset = 0
    while offset < count_bytes:
        size = min(_PIECE_BYTES, count_bytes - offset)
        left, right = _exactly(reference, size), _exactly(other, size)
        if left != right:
            words = _first(left, right, offset, layout, look)
            if words:
                return words
        offset += size
    return ""


def compare_source(reference: Source, other: Source, layout: Layout | None, look: Look) -> str:
    """Two raw arrays that fill their sources from end to end."""
    if reference.size_bytes != other.size_bytes:
        return f"{other.size_bytes:,} bytes instead of {reference.size_bytes:,}"
    with reference.open() as mine, other.open() as theirs:
        return compare_numbers(mine, theirs, reference.size_bytes, layout, look)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = next(pieces(stream, size), b"")
    if len(data) != size:
        raise Unreadable("ends in the middle of an array")
    return data


def _first(left: bytes, right: bytes, offset: int, layout: Layout | None, look: Look) -> str:
    """The first difference between two pieces that differ, unless the tolerance lets all of them pass."""
    if layout is None or len(left) % layout.size:
        return f"differs from byte {offset + _first_byte(left, right):,} on"
    mine, theirs = layout.unpack(left), layout.unpack(right)
    if look.tolerance is None:
        return _words(_first_byte(left, right) // layout.size, mine, theirs, offset, layout)
    for place, (reference, other) in enumerate(zip(mine, theirs, strict=True)):
        if reference != other and not accepted(reference, other, look):
            return _words(place, mine, theirs, offset, layout)
    return ""


def _first_byte(left: bytes, right: bytes) -> int:
    return next(place for place, (one, other) in enumerate(zip(left, right, strict=True)) if one != other)


def _words(place: int, mine: tuple[float, ...], theirs: tuple[float, ...], offset: int, layout: Layout) -> str:
    return f"value {offset // layout.size + place:,} is {theirs[place]!r} instead of {mine[place]!r}"
