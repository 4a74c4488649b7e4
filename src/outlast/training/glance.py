"""A glance at a batch: a checksum of a few of its numbers, which tells whether a loader gives the same one again.

A loader is brought to its place by drawing again what was drawn before. If that was something else, because a list of files has another
order on this machine or a sampler's weights have changed meanwhile, nothing would fail, and all that follows would differ.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from outlast.training import arrays

ITEMS_MAX = 16
DEPTH_MAX = 4
CHARACTERS_MAX = 256
"""Of one container, of containers in each other, of one text: it takes microseconds, however large the batch is."""

PLACES = {0: 1, 1: 64, 2: 8}
PLACES_MORE = 4
"""Elements that are looked at along each axis of an array, by the number of its axes."""


def glance(batch: Any) -> int:
    return _add(batch, 0, 0)


def _add(value: Any, checksum: int, depth: int) -> int:
    if isinstance(value, (str, bytes)):
        return zlib.crc32(repr(value[:CHARACTERS_MAX]).encode("ascii", "backslashreplace"), checksum)
    if value is None or isinstance(value, (bool, int, float, complex)):
        return zlib.crc32(repr(value).encode("ascii", "backslashreplace"), checksum)
    if isinstance(value, Mapping):
        return _add_items(value.values(), checksum, depth)
    if isinstance(value, (list, tuple)):
        return _add_items(value, checksum, depth)
    library = arrays.library_of(value)
    return checksum if library is None or library.name == "jax" else _add_array(value, library, checksum)


def _add_items(items: Iterable[Any], checksum: int, depth: int) -> int:
    if depth < DEPTH_MAX:
        for _, item in zip(range(ITEMS_MAX), items, strict=False):
            checksum = _add(item, checksum, depth + 1)
    return checksum


def _add_array(value: Any, library: arrays.Library, checksum: int) -> int:
    """What has no plain bytes in this machine's memory (on a GPU: it would have to be waited for) counts by its shape only."""
    shape = tuple(value.shape)
    checksum = zlib.crc32(repr(shape).encode("ascii"), checksum)
    if value.dtype.hasobject if library.name == "numpy" else not value.is_cpu:
        return checksum
    places = PLACES.get(len(shape), PLACES_MORE)
    try:
        few = value[tuple([slice(None, None, size // places + 1) for size in shape])] if shape else value
        return zlib.crc32(library.raw(few), checksum)
    except (RuntimeError, TypeError):  # sparse, or of a class of its own
        return checksum
