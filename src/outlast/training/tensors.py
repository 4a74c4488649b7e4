"""The tensor file: safetensors' layout, written and read by ourselves.

Eight bytes that say how long the header is, the header (JSON: type, shape and place of each tensor), then the bytes of all
tensors without a gap. Other safetensors readers can open it. Types that they do not know are stored as plain bytes (U8);
state.json knows better.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from outlast.training.arrays import SAFETENSORS_DTYPES, Layout
from outlast.training.decode import Malformed
from outlast.training.encode import Leaf
from outlast.training.fielded import fielded

HEADER_BYTES_MAX = 100_000_000
"""The limit of the safetensors format itself."""

ALIGNMENT_BYTES = 64
_DTYPE_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8, "C64": 8,
}  # fmt: skip


@fielded(frozen=True)
class Plan:
    """Where each tensor will lie: offsets are counted from the end of the header."""

    header: bytes
    leaves: tuple[Leaf, ...]
    """In the order of the file."""

    offsets: tuple[int, ...]
    data_bytes: int


def plan_file(leaves: Sequence[Leaf]) -> Plan:
    """The widest elements come first, so that each tensor begins at a multiple of its own width without a gap."""
    ordered = sorted(leaves, key=lambda leaf: -_alignment(leaf.layout))
    entries: dict[str, Any] = {"__metadata__": {"format": "outlast"}}
    offsets, end = [], 0
    for leaf in ordered:
        offsets.append(end)
        end += leaf.layout.nbytes
        dtype = SAFETENSORS_DTYPES.get(leaf.layout.dtype)
        shape = list(leaf.layout.shape) if dtype else [leaf.layout.nbytes]
        entries[leaf.name] = {"dtype": dtype or "U8", "shape": shape, "data_offsets": [offsets[-1], end]}
    text = json.dumps(entries, separators=(",", ":")).encode("ascii")
    text += b" " * (-(8 + len(text)) % ALIGNMENT_BYTES)
    if len(text) > HEADER_BYTES_MAX:
        raise TypeError(f"the state has {len(leaves)} tensors, more than one file can list")
    return Plan(len(text).to_bytes(8, "little") + text, tuple(ordered), tuple(offsets), end)


def _alignment(layout: Layout) -> int:
    """The largest power of two that divides the element's width."""
    return layout.item_bytes & -layout.item_bytes


class TensorFile:
    """The tensors of one file, checked as a whole when it is opened: `Malformed` names what is wrong."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            if size < 8:
                raise Malformed(f"it is {size} bytes long, too short for a header")
            # Private pages: a library that writes into what it was given cannot change the file.
            self._memory = memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY))
        finally:
            os.close(descriptor)
        length = int.from_bytes(self._memory[:8], "little")
        if length > min(HEADER_BYTES_MAX, size - 8):
            raise Malformed(f"its header claims {length} bytes, the file has {size}")
        self._data = self._memory[8 + length :]
        self._places = _read_places(bytes(self._memory[8 : 8 + length]), len(self._data))

    def bytes_of(self, name: str) -> memoryview:
        if name not in self._places:
            raise Malformed(f"it has no tensor {name!r}")
        begin, end = self._places[name]
        return self._data[begin:end]

    def names(self) -> list[str]:
        return list(self._places)

    def close(self) -> None:
        """Gives the memory back where nothing looks at it any more; a view that is left keeps it alive."""
        try:
            self._data.release()
            self._memory.release()
        except BufferError:
            pass


class NoTensors:
    """In place of a file that is not there because the state has no arrays."""

    def bytes_of(self, name: str) -> memoryview:
        raise Malformed(f"there is no tensor file, but {name!r} is asked for")

    def close(self) -> None:
        pass


def _read_places(text: bytes, data_bytes: int) -> dict[str, tuple[int, int]]:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"its header is not JSON: {error}") from None
    if not isinstance(entries, dict):
        raise Malformed("its header is not a JSON object")
    entries.pop("__metadata__", None)
    places = {name: _read_place(name, entry) for name, entry in entries.items()}
    end = 0
    for name, (begin, place_end) in sorted(places.items(), key=lambda item: item[1]):
        if begin != end:
            raise Malformed(f"the tensor {name!r} begins at byte {begin}, not at {end} where the one before it ends")
        end = place_end
    if end != data_bytes:
        raise Malformed(f"its header describes {end} bytes of tensors, the file has {data_bytes}")
    return places


def _read_place(name: str, entry: Any) -> tuple[int, int]:
    try:
        dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        numbers = [begin, end, *shape]
        count = math.prod(shape)
        width = _DTYPE_BYTES[dtype]
    except (KeyError, TypeError, ValueError):
        raise Malformed(f"the header's entry for {name!r} is not well formed") from None
    if any(type(number) is not int or number < 0 for number in numbers) or count * width != end - begin:
        raise Malformed(f"the header's entry for {name!r} contradicts itself")
    return begin, end
