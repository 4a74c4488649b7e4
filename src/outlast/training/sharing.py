"""Which arrays of a state are, in part or as a whole, the memory of another one.

A script that makes them so before the loop has them so in every life. One that does it in the loop (`state.head = state.table[:10]`)
has two arrays after a resume, of which each is changed alone.
"""

from __future__ import annotations

from typing import Any

from outlast.training.encode import Encoder, Leaf

PAIRS_MAX = 20
"""So many are named; one is enough to be warned."""


def shared(encoder: Encoder) -> list[list[str]]:
    """Pairs of names. What lies inside of objects alone is their own affair, and JAX's arrays never change."""
    pairs = {(leaf.name, path) for leaf, path, plain in encoder.again if leaf.plain != plain}
    plain = any(leaf.plain and leaf.layout.nbytes for leaf in encoder.leaves)
    if plain and len(encoder.leaves) > 1:
        pairs |= _overlapping(encoder.leaves)
    return [list(pair) for pair in sorted(pairs)[:PAIRS_MAX]]


def _overlapping(leaves: list[Leaf]) -> set[tuple[str, str]]:
    there = [leaf for leaf in leaves if leaf.layout.nbytes and leaf.library.name != "jax"]
    spans = sorted(((*leaf.library.span(leaf.value), leaf) for leaf in there), key=lambda span: span[:3])
    found: set[tuple[str, str]] = set()
    reach: tuple[str, int] = ("", 0)
    last: tuple[Any, ...] = ()
    for span in spans:
        device, begin, end, leaf = span
        # Two that both have gaps may lie between each other: the real and the imaginary part of one array.
        if (device, begin) < reach and (leaf.plain or last[3].plain) and (_is_dense(span) or _is_dense(last)):
            found.add((min(leaf.name, last[3].name), max(leaf.name, last[3].name)))
        if (device, end) > reach:
            reach, last = (device, end), span
    return found


def _is_dense(span: tuple[Any, ...]) -> bool:
    _, begin, end, leaf = span
    return bool(end - begin == leaf.layout.nbytes)
