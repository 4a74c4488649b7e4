"""Files to compare, made as those who write them do, and what is said of a pair of them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy

from outlast.results.compare.directories import compare_directories
from outlast.results.compare.rules import Compared


def one(sides: tuple[Path, Path], **options: Any) -> Compared:
    comparison = compare_directories(*sides, **options)
    assert len(comparison.files) == 1, comparison
    return comparison.files[0]


def write(sides: tuple[Path, Path], name: str, left: bytes, right: bytes) -> None:
    for side, data in zip(sides, (left, right), strict=True):
        (side / name).parent.mkdir(parents=True, exist_ok=True)
        (side / name).write_bytes(data)


def zipped(members: dict[str, bytes], day: int = 1, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, day, 0, 0, 0)), data, compress_type=method)
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    numpy.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def tensors(values: dict[str, Any]) -> bytes:
    """A safetensors file, written by the format's description."""
    header, data = {}, b""
    for name, array in values.items():
        raw = array.tobytes()
        kind = {"float32": "F32", "int64": "I64", "float64": "F64"}[str(array.dtype)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data
