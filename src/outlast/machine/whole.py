"""Whether a file is torn, by what its own format says about its length. Nothing in it is run or unpickled."""

from __future__ import annotations

import json
import os
import re
import struct

from outlast.dataclass import dataclass

JSON_BYTES_MAX = 64 << 20
HEADER_BYTES_MAX = 100 << 20

HARD = frozenset({"zip", "safetensors"})
"""Formats whose check cannot be wrong: such a file is torn, not merely odd."""


@dataclass(frozen=True)
class Look:
    format: str
    """Empty: a format that says nothing about its length."""

    whole: bool = True


def look(path: str) -> Look:
    try:
        suffix = os.path.splitext(path)[1]
        with open(path, "rb") as file:
            begin = file.read(64)
            size = os.fstat(file.fileno()).st_size
            if begin.startswith(b"PK\x03\x04"):
                return Look("zip", _zip_whole(path))
            if suffix == ".safetensors":
                return Look("safetensors", _safetensors_whole(path, size))
            if suffix == ".json" and size <= JSON_BYTES_MAX:
                return Look("json", _json_whole(begin + file.read()))
            if begin.startswith(b"\x93NUMPY"):
                return Look("npy", _npy_whole(begin + file.read(65536), size))
            if begin.startswith(b"\x89HDF\r\n\x1a\n"):
                return Look("hdf5", _hdf5_whole(begin, size))
            if suffix in (".pkl", ".pickle") and begin.startswith(b"\x80"):
                file.seek(-1, os.SEEK_END)
                return Look("pickle", file.read(1) == b".")
    except OSError:
        return Look("gone", whole=False)  # or it may no longer be read
    return Look("")


def _zip_whole(path: str) -> bool:
    """.pt, .npz, .keras, .zip: the directory at the end, and the checksum of every member."""
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError):
        return False
    except (NotImplementedError, RuntimeError):
        return True  # encrypted, or packed in a way that we cannot read: its directory is there


def _safetensors_whole(path: str, size: int) -> bool:
    with open(path, "rb") as file:
        prefix = file.read(8)
        if len(prefix) < 8:
            return False
        (length,) = struct.unpack("<Q", prefix)
        if length > min(size - 8, HEADER_BYTES_MAX):
            return False
        try:
            header = json.loads(file.read(length))
            ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
            return bool(8 + length + max(ends, default=0) == size)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            return False


def _json_whole(data: bytes) -> bool:
    """One document, or one on each line."""
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        pass
    else:
        return True
    try:
        for line in data.splitlines():
            if line.strip():
                json.loads(line)
    except (ValueError, RecursionError):
        return False
    return data.endswith(b"\n")


def _npy_whole(data: bytes, size: int) -> bool:
    width, begin = ("<H", 10) if data[6:7] == b"\x01" else ("<I", 12)
    if len(data) < begin:
        return False
    (length,) = struct.unpack(width, data[8:begin])
    header = data[begin : begin + length].decode("latin-1")
    kind = re.search(r"'descr': '[<>|=]?[a-zA-Z](\d+)'", header)
    shape = re.search(r"'shape': \(([\d, ]*)\)", header)
    if kind is None or shape is None:
        return bool(len(header) == length)  # a structured type: only the header can be judged
    count = 1
    for number in shape[1].split(","):
        count *= int(number) if number.strip() else 1
    scale = 4 if "'descr': '<U" in header or "'descr': '>U" in header else 1
    return bool(size >= begin + length + count * int(kind[1]) * scale)


def _hdf5_whole(begin: bytes, size: int) -> bool:
    """The superblock names the end of the file."""
    version = begin[8]
    if version in (0, 1):
        width, at = begin[13], 40 if version == 0 else 44
    elif version in (2, 3):
        width, at = begin[9], 28
    else:
        return True
    if width != 8:
        return True
    (end,) = struct.unpack("<Q", begin[at : at + 8])
    return bool(end <= size)
