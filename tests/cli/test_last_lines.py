"""The last lines of a log, across attempts and workers."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from outlast.cli.last_lines import LastLines, find_last
from outlast.results.logs import LogPiece, PieceKind

CHUNKS = st.lists(st.sampled_from([b"\n", b"a", b"bc\n", b"\n\n", b"d\ne"]), max_size=6)


class Shown:
    def __init__(self) -> None:
        self.pieces: list[LogPiece] = []

    def show(self, piece: LogPiece) -> None:
        self.pieces.append(piece)

    def close(self) -> None:
        pass


def pieces_of(attempts: list[list[bytes]], rank: int = 0) -> list[LogPiece]:
    pieces = []
    for number, chunks in enumerate(attempts, start=1):
        pieces.append(LogPiece(PieceKind.BEGIN, number))
        offsets = itertools.accumulate(map(len, chunks), initial=0)
        pieces += [
            LogPiece(PieceKind.BYTES, number, rank, offset, data) for offset, data in zip(offsets, chunks, strict=False)
        ]
        pieces.append(LogPiece(PieceKind.END, number))
    return pieces


def text(pieces: list[LogPiece]) -> bytes:
    return b"".join(piece.data for piece in pieces)


@given(st.lists(CHUNKS, min_size=1, max_size=4), st.integers(1, 6), CHUNKS)
def test_as_many_lines_as_asked_for_and_all_that_comes_after(
    attempts: list[list[bytes]], lines: int, later: list[bytes]
) -> None:
    there = pieces_of(attempts)
    shown = Shown()
    display = LastLines(shown, find_last(there, lines))
    for piece in there:
        display.show(piece)
    # An attempt begins a line, also where the one before was cut off in the middle of one.
    every = [line for chunks in attempts for line in b"".join(chunks).splitlines(keepends=True)]
    assert text(shown.pieces) == b"".join(every[-lines:])
    come = [LogPiece(PieceKind.BYTES, len(attempts) + 1, 0, 0, data) for data in later]
    for piece in come:
        display.show(piece)
    assert text(shown.pieces) == b"".join([*every[-lines:], *later])


def test_of_several_workers_each_has_its_own_last_lines() -> None:
    there = [*pieces_of([[b"a\nb\nc\n"]], rank=0), *pieces_of([[b"d\n"]], rank=1)]
    shown = Shown()
    for piece in there:
        LastLines(shown, find_last(there, 2)).show(piece)
    assert text(shown.pieces) == b"b\nc\nd\n"
