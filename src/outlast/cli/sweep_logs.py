"""`outlast logs SWEEP`: the lines of all cells, each with the number of its cell before it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from outlast.cli.display import Display, JsonDisplay, Marks, display
from outlast.cli.follow import say_detached
from outlast.cli.terminal import say
from outlast.errors import EXIT_DONE, EXIT_INTERRUPTED
from outlast.results.logs import LogPiece, PieceKind

if TYPE_CHECKING:
    from outlast.jobs.job import Job
    from outlast.jobs.world import World

SEVERAL = 2
"""What makes a display write whole lines, and whose each is."""


class CellsDisplay:
    """What comes from several cells at once, line by line."""

    def __init__(self, to: Display) -> None:
        self._to = to
        self._marks: dict[int, Marks] = {}
        self._open: dict[int, LogPiece] = {}
        """Cells whose last line has no end yet."""

    def show(self, cell: int, piece: LogPiece) -> None:
        if piece.kind is PieceKind.BYTES:
            piece = replace(piece, rank=cell)
            self._to.show(piece)
            self._open[cell] = piece
            if piece.data.endswith(b"\n"):
                del self._open[cell]
            return
        if cell in self._open:
            self._to.show(replace(self._open.pop(cell), data=b"\n"))
        line = self._marks.setdefault(cell, Marks()).line(piece)
        if line:
            say(f"[{cell}] {line}")
        if piece.kind is PieceKind.END:
            del self._marks[cell]

    def close(self) -> None:
        self._to.close()


class JsonCells:
    """One object per line, with the cell's number."""

    def __init__(self) -> None:
        self._cells: dict[int, JsonDisplay] = {}

    def show(self, cell: int, piece: LogPiece) -> None:
        self._cells.setdefault(cell, JsonDisplay(cell=cell)).show(piece)

    def close(self) -> None:
        for one in self._cells.values():
            one.close()


def show_cells(pieces: Iterable[tuple[int, LogPiece]], *, as_json: bool) -> None:
    to = JsonCells() if as_json else CellsDisplay(display(sys.stdout, workers=SEVERAL))
    try:
        for cell, piece in pieces:
            to.show(cell, piece)
    finally:
        to.close()


def print_sweep(world: World, job: Job, *, as_json: bool) -> int:
    from outlast.jobs.look import look
    from outlast.jobs.sweep_watch import freshen_cells, read_cells

    status = look(world, job)
    freshen_cells(world, job, status)
    show_cells(read_cells(job, status), as_json=as_json)
    return EXIT_DONE


def follow_cells(world: World, job: Job, *, as_json: bool, polling_seconds: float | None) -> int:
    """Until the sweep ends; its exit code."""
    from outlast.jobs.look import look
    from outlast.jobs.sweep_watch import watch_cells

    try:
        show_cells(watch_cells(world, job, polling_seconds=polling_seconds), as_json=as_json)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C has nothing left to interrupt
        say_detached(job)
        return EXIT_INTERRUPTED
    return look(world, job).outcome_code
