"""Byte by byte: the rule for everything that has no rule of its own."""

from __future__ import annotations

import itertools

from outlast.results.compare.source import Source, pieces


def compare(reference: Source, other: Source) -> str:
    """The first difference in words; empty if there is none."""
    offset = 0
    with reference.open() as mine, other.open() as theirs:
        for left, right in itertools.zip_longest(pieces(mine), pieces(theirs), fillvalue=b""):
            if left != right:
                return _words(left, right, offset)
            offset += len(left)
    return ""


def _words(left: bytes, right: bytes, offset: int) -> str:
    shared = min(len(left), len(right))
    low, high = 0, shared
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    if low == shared:
        longer = "longer" if len(right) > len(left) else "shorter"
        return f"the same for {offset + low:,} bytes, then {longer} than in the reference"
    return f"differs from byte {offset + low:,} on"
