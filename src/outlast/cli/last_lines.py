"""The last lines of a log: where they begin, and a display that shows nothing before that."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from outlast.cli.display import Display
from outlast.results.logs import LogPiece, PieceKind


class Place(NamedTuple):
    attempt: int
    offset: int


def find_last(pieces: Iterable[LogPiece], lines: int) -> dict[int, Place]:
    """Rank -> where its last so many lines begin. A rank that is not named has fewer."""
    begins: dict[int, deque[Place]] = {}
    ends: dict[int, Place] = {}
    for piece in pieces:
        if piece.kind is not PieceKind.BYTES:
            continue
        known = begins.setdefault(piece.rank, deque(maxlen=lines + 1))
        if piece.rank not in ends or ends[piece.rank].attempt != piece.attempt:
            _drop_empty(known, ends.get(piece.rank))
            known.append(Place(piece.attempt, piece.offset))
        at, here = len(piece.data), list[Place]()
        while len(here) <= lines and (at := piece.data.rfind(b"\n", 0, at)) >= 0:
            here.append(Place(piece.attempt, piece.offset + at + 1))
        known.extend(reversed(here))
        ends[piece.rank] = Place(piece.attempt, piece.offset + len(piece.data))
    found = {}
    for rank, known in begins.items():
        _drop_empty(known, ends[rank])
        if len(known) >= lines:
            found[rank] = known[-lines]
    return found


def _drop_empty(begins: deque[Place], end: Place | None) -> None:
    """Behind the last newline nothing has come."""
    if begins and begins[-1] == end:
        begins.pop()


class LastLines:
    """Passes on what does not lie before those places."""

    def __init__(self, to: Display, begins: Mapping[int, Place]) -> None:
        self._to = to
        self._begins = begins

    def show(self, piece: LogPiece) -> None:
        begin = self._begins.get(piece.rank)
        if begin is None or piece.attempt > begin.attempt:
            self._to.show(piece)
        elif piece.attempt == begin.attempt:
            self._show_same(piece, begin.offset)

    def _show_same(self, piece: LogPiece, offset: int) -> None:
        if piece.kind is PieceKind.BYTES:
            before = max(0, offset - piece.offset)
            if before < len(piece.data):
                self._to.show(replace(piece, offset=piece.offset + before, data=piece.data[before:]))
        elif piece.kind is PieceKind.END or piece.offset >= offset:  # a beginning is at 0
            self._to.show(piece)

    def close(self) -> None:
        self._to.close()
