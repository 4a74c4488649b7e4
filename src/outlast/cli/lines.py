"""Streams of several workers, cut into whole lines, each worker's on its own."""

from __future__ import annotations

from collections.abc import Iterator

LINE_BYTES_MAX = 1 << 16
"""A line is cut here, so that one without an end costs no memory."""


class RankLines:
    """Whole lines, in the order in which they became whole."""

    def __init__(self) -> None:
        self._begun: dict[int, bytes] = {}

    def split(self, rank: int, data: bytes) -> Iterator[tuple[int, bytes]]:
        *lines, rest = (self._begun.pop(rank, b"") + data).split(b"\n")
        for line in lines:
            yield rank, line
        while len(rest) >= LINE_BYTES_MAX:
            yield rank, rest[:LINE_BYTES_MAX]
            rest = rest[LINE_BYTES_MAX:]
        if rest:
            self._begun[rank] = rest

    def end(self) -> Iterator[tuple[int, bytes]]:
        """What was begun and will not be finished."""
        begun, self._begun = self._begun, {}
        yield from sorted(begun.items())
