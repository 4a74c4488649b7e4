"""A bar for what takes longer than a second: one line on stderr, on a terminal only, gone when it is done."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from outlast.cli.table import cut
from outlast.cli.terminal import WIDTH_UNKNOWN, paint, width
from outlast.cli.words import duration, size
from outlast.clock import SYSTEM, Clock
from outlast.spec.progress import OnProgress, silent

SHOWN_AFTER_SECONDS = 1.0
REDRAWN_SECONDS = 0.1
TICK_SECONDS = 0.25
BAR_COLUMNS = 24
EIGHTHS = " ▏▎▍▌▋▊▉█"
ASCII_BAR = " #"


class shown_progress:
    """`with shown_progress() as on_progress`: the hook for a library. Where nobody could see a bar, it costs and writes nothing."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._bar: Bar | None = None

    def __enter__(self) -> OnProgress:
        if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            return silent
        import threading  # `outlast jobs` in a pipe has no use for it

        self._ended = threading.Event()
        columns = width(sys.stderr) or WIDTH_UNKNOWN
        self._bar = Bar(self._clock, _write, columns, blocks=fancy(sys.stderr))
        self._ticking = threading.Thread(target=self._tick, daemon=True)
        self._ticking.start()
        return self._bar

    def above(self, say: Callable[[], None]) -> None:
        """Says something that stays, while something goes on."""
        if self._bar is None:
            say()
        else:
            self._bar.above(say)

    def _tick(self) -> None:
        """What takes long without a word in between is shown too, with the time that it takes."""
        assert self._bar is not None
        while not self._ended.wait(TICK_SECONDS):
            self._bar.again()

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._ended.set()
            self._ticking.join()
            self._bar.clear()


def fancy(stream: object) -> bool:
    """Whether the stream's encoding has block characters."""
    return "utf" in str(getattr(stream, "encoding", "") or "").lower()


class Bar:
    def __init__(self, clock: Clock, write: Callable[[str], None], columns: int, *, blocks: bool) -> None:
        from threading import Lock

        self._clock = clock
        self._write = write
        self._columns = columns
        self._blocks = blocks
        self._begun_at = clock.monotonic()
        self._drawn_at = self._begun_at + SHOWN_AFTER_SECONDS - REDRAWN_SECONDS
        self._doing = ""
        self._doing_since = self._begun_at
        self._doing_from = 0
        self._drawn = False
        self._last: tuple[str, int, int, str] | None = None
        self._drawing = Lock()

    def __call__(self, doing: str, done: int, total: int, unit: str = "bytes") -> None:
        with self._drawing:
            self._last = (doing, done, total, unit)
            self._draw(doing, done, total, unit)

    def again(self) -> None:
        """Nothing new: only the time has changed."""
        with self._drawing:
            if self._last is not None:
                self._draw(*self._last)

    def _draw(self, doing: str, done: int, total: int, unit: str) -> None:
        now = self._clock.monotonic()
        if doing != self._doing:
            self._doing, self._doing_since, self._doing_from = doing, now, done
        if now - self._drawn_at < REDRAWN_SECONDS:
            return
        self._drawn_at = now
        self._drawn = True
        seconds = now - self._doing_since
        speed = (done - self._doing_from) / seconds if seconds > 0 else 0.0
        line = line_of(doing, done, total, unit, speed, blocks=self._blocks)
        if not done and not total:
            line = f"{doing}  {duration(seconds)}"
        line = cut(line, self._columns - 1)
        self._write(f"\r\x1b[K{paint(line, 'dim', sys.stderr)}")

    def above(self, say: Callable[[], None]) -> None:
        """It is gone while something is said in its place, and drawn again below."""
        with self._drawing:
            self.clear()
            say()

    def clear(self) -> None:
        if self._drawn:
            self._write("\r\x1b[K")


def line_of(doing: str, done: int, total: int, unit: str, speed: float, *, blocks: bool) -> str:
    """`uploading ███████▌         31%  1.2 of 3.9 GB  84.0 MB/s  32 s left`."""
    facts = [doing]
    if total > 0:
        ratio = min(1.0, done / total)
        facts.append(f"{bar(ratio, blocks=blocks)} {int(ratio * 100):3d}%")
        facts.append(f"{_amount(min(done, total), unit)} of {_amount(total, unit, named=True)}")
    else:
        facts.append(_amount(done, unit, named=True))
    if unit == "bytes" and speed > 0:
        facts.append(f"{size(speed)}/s")
    if total > done and speed > 0:
        facts.append(f"{duration(max(1.0, (total - done) / speed))} left")
    return "  ".join(facts)


def bar(ratio: float, *, blocks: bool) -> str:
    cells = EIGHTHS if blocks else ASCII_BAR
    steps = len(cells) - 1
    filled = int(ratio * BAR_COLUMNS * steps)
    whole, part = divmod(filled, steps)
    text = cells[-1] * whole + (cells[part] if part else "")
    return text.ljust(BAR_COLUMNS) if blocks else f"[{text.ljust(BAR_COLUMNS)}]"


def _amount(number: int, unit: str, *, named: bool = False) -> str:
    if unit == "bytes":
        return size(number)
    return f"{number:,} {unit}" if named else f"{number:,}"


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
