"""How the cells of a sweep stood on their way: values of its metric, in the names of empty objects, so that one list shows all of them.

A value is kept for powers of two of the step alone: what a cell writes grows with the logarithm of its length, and cells that log at
different steps can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping

from outlast.errors import PreconditionFailed
from outlast.folder.layout import SweepKeys
from outlast.store.store import Store

POINTS_MAX = 12
"""So many values are in one name; of more, the last ones."""

Points = Mapping[int, float]
"""Step -> value."""


def rung_of(step: int) -> int:
    """The step that a value counts for: the power of two at or below it; 0: none."""
    return 1 << (step.bit_length() - 1) if step > 0 else 0


def encode_name(cell: int, points: Points) -> str:
    """`000021-16=0.25,64=0.125`"""
    kept = sorted(points.items())[-POINTS_MAX:]
    return f"{cell:06d}-" + ",".join(f"{step}={value:.9g}" for step, value in kept)


def decode_name(name: str) -> tuple[int, dict[int, float]] | None:
    """None: a foreign file."""
    cell, dash, rest = name.partition("-")
    if not dash or not _is_number(cell):
        return None
    points: dict[int, float] = {}
    for part in rest.split(","):
        step, equals, value = part.partition("=")
        if not equals or not _is_number(step):
            return None
        try:
            points[int(step)] = float(value)
        except ValueError:
            return None
    return int(cell), points


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


class Rungs:
    """Of one turn of a sweep."""

    def __init__(self, store: Store, sweep: str, turn: int) -> None:
        self.store = store
        self._root = SweepKeys(sweep).rungs(turn)

    def read(self) -> dict[int, dict[int, float]]:
        """Cell -> its values; the first that was written for a step counts."""
        found: dict[int, dict[int, float]] = {}
        for entry in self.store.list(self._root):
            decoded = decode_name(entry.key[len(self._root) :])
            if decoded is not None:
                cell, points = decoded
                found[cell] = {**points, **found.get(cell, {})}
        return found

    def add(self, cell: int, points: Points) -> None:
        """Twice is as good as once."""
        try:
            self.store.put(self._root + encode_name(cell, points), b"", if_generation=0)
        except PreconditionFailed:
            pass
