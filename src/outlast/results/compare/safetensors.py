"""safetensors: tensors by name, wherever they lie in the file."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

from outlast.dataclass import dataclass
from outlast.results.compare.numbers import Layout, compare_numbers
from outlast.results.compare.source import STRUCTURE_BYTES_MAX, Look, Source, Unreadable

_CODES = {"F64": "d", "F32": "f", "F16": "e", "BF16": "bfloat16", "C64": "f", "C128": "d"} | {
    "I64": "q",
    "I32": "i",
    "I16": "h",
    "I8": "b",
    "U64": "Q",
    "U32": "I",
    "U16": "H",
    "U8": "B",
}


@dataclass(frozen=True)
class _Tensor:
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def compare(reference: Source, other: Source, look: Look) -> str:
    with reference.open() as mine, other.open() as theirs:
        left, left_metadata = _header(mine, reference.size_bytes)
        right, right_metadata = _header(theirs, other.size_bytes)
        if left.keys() != right.keys():
            name = min(left.keys() ^ right.keys())
            return f"tensor `{name}` is only in {'the reference' if name in left else 'the other'}"
        if left_metadata != right_metadata:
            return f"its metadata is {right_metadata!r} instead of {left_metadata!r}"
        for name in sorted(left, key=lambda name: left[name].begin):
            words = _compare_tensor(mine, theirs, left[name], right[name], look)
            if words:
                return f"tensor `{name}`: {words}"
    return ""


def _compare_tensor(mine: BinaryIO, theirs: BinaryIO, left: _Tensor, right: _Tensor, look: Look) -> str:
    if left.dtype != right.dtype:
        return f"dtype {right.dtype} instead of {left.dtype}"
    if left.shape != right.shape:
        return f"shape {list(right.shape)} instead of {list(left.shape)}"
    if left.end - left.begin != right.end - right.begin:
        return f"{right.end - right.begin:,} bytes instead of {left.end - left.begin:,}"
    mine.seek(left.begin)
    theirs.seek(right.begin)
    code = _CODES.get(left.dtype)
    return compare_numbers(mine, theirs, left.end - left.begin, Layout(code) if code else None, look)


def _header(stream: BinaryIO, file_bytes: int) -> tuple[dict[str, _Tensor], Any]:
    length = stream.read(8)
    if len(length) < 8:
        raise Unreadable("ends in its header")
    (count,) = struct.unpack("<Q", length)
    if count > min(STRUCTURE_BYTES_MAX, file_bytes - 8):
        raise Unreadable("its header is longer than the file")
    try:
        fields = json.loads(stream.read(count))
    except (ValueError, RecursionError) as error:
        raise Unreadable("its header is not JSON") from error
    if not isinstance(fields, dict):
        raise Unreadable("its header is not an object")
    metadata = fields.pop("__metadata__", None)
    return {name: _tensor(field, 8 + count, file_bytes) for name, field in fields.items()}, metadata


def _tensor(field: Any, start: int, file_bytes: int) -> _Tensor:
    try:
        begin, end = (int(offset) + start for offset in field["data_offsets"])
        tensor = _Tensor(str(field["dtype"]), tuple(int(size) for size in field["shape"]), begin, end)
    except (TypeError, KeyError, ValueError) as error:
        raise Unreadable("its header describes no tensors") from error
    if not start <= begin <= end <= file_bytes:
        raise Unreadable("a tensor lies outside of the file")
    return tensor
