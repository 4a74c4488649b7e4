"""What a key may be."""

from __future__ import annotations

import functools

from outlast.store.store import KEY_BYTES_MAX

CHECKED_KEYS_MAX = 8192
"""How many keys are remembered as legal: more than one job uses."""


@functools.lru_cache(maxsize=CHECKED_KEYS_MAX)
def check_key(key: str) -> None:
    """ValueError unless every store can hold an object of this name."""
    if not key:
        raise ValueError("a key is empty")
    segments = key.split("/")
    if "" in segments or "." in segments or ".." in segments:
        raise ValueError(f"key {key!r} has an empty, `.` or `..` segment")
    if "\0" in key:
        raise ValueError(f"key {key!r} has a NUL")
    size = len(key.encode())  # a lone surrogate raises UnicodeEncodeError, which is a ValueError too
    if size > KEY_BYTES_MAX:
        raise ValueError(f"key {key[:40]!r}... has {size} bytes; at most {KEY_BYTES_MAX} are allowed")
