"""numpy's `.npy`: dtype, shape and values, read without numpy."""

from __future__ import annotations

import ast
import re
import struct
from typing import BinaryIO

from outlast.dataclass import dataclass
from outlast.results.compare.numbers import Layout, compare_numbers
from outlast.results.compare.source import Look, Source, Unreadable

MAGIC = b"\x93NUMPY"
_HEADER_BYTES_MAX = 64 << 10
_CODES = {"f2": "e", "f4": "f", "f8": "d", "c8": "f", "c16": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q"} | {
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
}


@dataclass(frozen=True)
class _Header:
    descr: object
    fortran: bool
    shape: tuple[int, ...]
    header_bytes: int
    """Where the values begin."""


def compare(reference: Source, other: Source, look: Look) -> str:
    with reference.open() as mine, other.open() as theirs:
        left, right = _header(mine), _header(theirs)
        if left.descr != right.descr:
            return f"dtype {right.descr} instead of {left.descr}"
        if left.shape != right.shape:
            return f"shape {right.shape} instead of {left.shape}"
        if left.fortran != right.fortran:
            return "its axes lie in another order"
        values_bytes = reference.size_bytes - left.header_bytes
        if values_bytes != other.size_bytes - right.header_bytes:
            return f"{other.size_bytes:,} bytes instead of {reference.size_bytes:,}"
        return compare_numbers(mine, theirs, values_bytes, _layout(left.descr), look)


def _header(stream: BinaryIO) -> _Header:
    start = stream.read(8)
    if len(start) < 8 or start[:6] != MAGIC:
        raise Unreadable("not a `.npy` file")
    width = "<H" if start[6] == 1 else "<I"
    size = struct.calcsize(width)
    length = stream.read(size)
    if len(length) < size:
        raise Unreadable("ends in its header")
    (count,) = struct.unpack(width, length)
    if count > _HEADER_BYTES_MAX:
        raise Unreadable("its header is too long")
    text = stream.read(count).decode("utf-8", "replace")
    try:
        fields = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise Unreadable("its header cannot be read") from error
    if not isinstance(fields, dict) or not isinstance(fields.get("shape"), tuple) or "descr" not in fields:
        raise Unreadable("its header names no dtype and shape")
    return _Header(fields["descr"], bool(fields.get("fortran_order")), fields["shape"], 8 + size + count)


def _layout(descr: object) -> Layout | None:
    """None for strings, records and objects, which have no distance."""
    match = re.fullmatch(r"([<>|=])([a-z]\d+)", descr) if isinstance(descr, str) else None
    if match is None or match[2] not in _CODES:
        return None
    return Layout(_CODES[match[2]], little=match[1] != ">")
