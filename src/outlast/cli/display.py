"""A log on its way to somebody's eyes: safe on a terminal, byte for byte in a pipe, as objects with `--json`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import BinaryIO, Protocol, TextIO

from outlast.cli.clean import Cleaner
from outlast.cli.lines import RankLines
from outlast.cli.terminal import colour_allowed, put_json, say
from outlast.results.logs import LogPiece, PieceKind
from outlast.results.texts import RankTexts

ERASE_LINE = "\r\x1b[K"
FOLDED_COLOURS_MAX = 8
"""How many colour changes of overwritten text are carried over to what is shown instead of it."""

CAUSE_WORDS = {
    **{cause: f"was {cause}" for cause in ("preempted", "killed", "stalled", "stopped", "moved")},
    "failed": "failed",
    "expired": "expired",
    "out of memory": "ran out of memory",
    "disk full": "found its disk full",
}


class Display(Protocol):
    def show(self, piece: LogPiece) -> None:
        """It is out when the call returns."""
        ...

    def close(self) -> None:
        """Shows what was held back, and leaves the terminal at the beginning of a line."""
        ...


def display(out: TextIO, *, workers: int) -> Display:
    """A terminal gets cleaned text with our marks in it; anything else the bytes, and stderr the marks."""
    return TerminalDisplay(out, workers) if out.isatty() else RawDisplay(out.buffer, workers)


def show_all(pieces: Iterable[LogPiece], to: Display) -> None:
    try:
        for piece in pieces:
            to.show(piece)
    finally:
        to.close()


class Marks:
    """The lines that are ours: where an attempt begins, and what is missing."""

    def __init__(self) -> None:
        self._ended = ""

    def line(self, piece: LogPiece) -> str:
        """Empty: nothing to say."""
        if piece.kind is PieceKind.GAP:
            return _gap_line(piece)
        if piece.kind is PieceKind.END:
            ended = CAUSE_WORDS.get(piece.cause)
            self._ended = f"attempt {piece.attempt} {ended}; " if ended else ""
        if piece.kind is not PieceKind.BEGIN or (piece.attempt == 1 and piece.resumed_from_step is None):
            return ""
        ended, self._ended = self._ended, ""
        step = piece.resumed_from_step
        how = "from the beginning" if step is None else f"resumed from step {step:,}"
        return f"── {ended}attempt {piece.attempt}, {how} ──"


def _gap_line(piece: LogPiece) -> str:
    if not piece.at_least:
        return f"… {piece.missing_bytes:,} bytes missing …"
    known = f"at least {piece.missing_bytes:,} bytes are" if piece.missing_bytes else "what was written last may be"
    return f"… {known} missing: the machine of attempt {piece.attempt} died without a word …"


class RawDisplay:
    """Bytes as the trainer wrote them; of several workers whole lines, each with its rank before it."""

    def __init__(self, out: BinaryIO, workers: int) -> None:
        self._out = out
        self._several = workers > 1
        self._lines = RankLines()
        self._marks = Marks()

    def show(self, piece: LogPiece) -> None:
        if piece.kind is not PieceKind.BYTES:
            self.close()
            line = self._marks.line(piece)
            if line:
                say(line)
        elif self._several:
            self._write(self._lines.split(piece.rank, piece.data))
        else:
            self._out.write(piece.data)
        self._out.flush()

    def close(self) -> None:
        self._write(self._lines.end())
        self._out.flush()

    def _write(self, lines: Iterable[tuple[int, bytes]]) -> None:
        for rank, line in lines:
            self._out.write(b"[%d] %s\n" % (rank, line))


class TerminalDisplay:
    """Cleaned, with progress bars folded: of what carriage returns overwrite, the last is shown."""

    def __init__(self, out: TextIO, workers: int) -> None:
        self._out = out
        self._several = workers > 1
        self._lines = RankLines()
        self._marks = Marks()
        self._colour = colour_allowed(out)
        self._erase = "\n" if os.environ.get("TERM") == "dumb" else ERASE_LINE
        self._cleaner = Cleaner(colour=self._colour)
        self._sgr = re.compile("\x1b\\[[^m]*m")
        self._midline = False

    def show(self, piece: LogPiece) -> None:
        if piece.kind is not PieceKind.BYTES:
            line = self._marks.line(piece)
            if line:
                self.close()
                self._out.write(f"\x1b[2m{line}\x1b[0m\n" if self._colour else f"{line}\n")
        elif self._several:
            self._write_lines(self._lines.split(piece.rank, piece.data))
        else:
            self._out.write(self._folded(self._cleaner.clean(piece.data)))
        self._out.flush()

    def close(self) -> None:
        self._write_lines(self._lines.end())
        self._out.write(self._folded(self._cleaner.clean(b"", final=True)))
        if self._cleaner.coloured:
            self._out.write("\x1b[0m")
        if self._midline:
            self._out.write("\n")
        self._midline = False
        self._cleaner = Cleaner(colour=self._colour)
        self._out.flush()

    def _write_lines(self, lines: Iterable[tuple[int, bytes]]) -> None:
        for rank, line in lines:
            cleaner = Cleaner(colour=self._colour)
            text = self._fold_line(cleaner.clean(line, final=True))
            self._out.write(f"[{rank}] {text}\x1b[0m\n" if cleaner.coloured else f"[{rank}] {text}\n")

    def _folded(self, text: str) -> str:
        """Line by line; the last one may go on with the next piece."""
        *whole, last = text.split("\n")
        shown = []
        for line in whole:
            shown.append(self._fold_line(line) + "\n")
            self._midline = False
        shown.append(self._fold_line(last))
        self._midline = self._midline or last != ""
        return "".join(shown)

    def _fold_line(self, line: str) -> str:
        overwritten, returned, kept = line.rpartition("\r")
        if not returned:
            return line
        colours = "".join(self._sgr.findall(overwritten)[-FOLDED_COLOURS_MAX:]) if "\x1b" in overwritten else ""
        return f"{self._erase if self._midline else ''}{colours}{kept}"


class JsonDisplay:
    """One object per line, as docs/json.md describes them."""

    def __init__(self, **also: object) -> None:
        """`also`: what every object has beside its own."""
        self._texts = RankTexts()
        self._ends: dict[int, int] = {}
        """Worker -> up to where its log was shown."""

        self._attempt = 0
        self._also = also

    def show(self, piece: LogPiece) -> None:
        if piece.kind is not PieceKind.BYTES:
            self._end()
        self._attempt = piece.attempt
        shown: dict[str, object] = {**self._also, "kind": piece.kind.value, "attempt": piece.attempt}
        if piece.kind is PieceKind.BEGIN:
            shown |= {"resumed_from_step": piece.resumed_from_step}
        elif piece.kind is PieceKind.BYTES:
            text = self._texts.decode(piece.rank, piece.data)
            self._ends[piece.rank] = piece.offset + len(piece.data)
            shown |= {"rank": piece.rank, "offset": piece.offset, "text": text}
        elif piece.kind is PieceKind.GAP:
            shown |= {
                "rank": piece.rank,
                "offset": piece.offset,
                "bytes": piece.missing_bytes,
                "at_least": piece.at_least,
            }
        else:
            shown |= {"cause": piece.cause}
        put_json(shown)

    def _end(self) -> None:
        """What was held back, since a character was not whole: no more of it comes."""
        for rank, begun in self._texts.end():
            told = {"attempt": self._attempt, "rank": rank, "offset": self._ends[rank] - len(begun)}
            put_json({**self._also, "kind": PieceKind.BYTES.value, **told, "text": begun.decode(errors="replace")})

    def close(self) -> None:
        self._end()
        sys.stdout.flush()
