"""`outlast jobs --watch`: the list, kept fresh; on a terminal redrawn in place, in a pipe a line for whatever has changed."""

from __future__ import annotations

import os
import select
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from outlast.cli.listing import NowAt, newest, table_lines
from outlast.cli.terminal import paint
from outlast.clock import Clock
from outlast.errors import EXIT_DONE

if TYPE_CHECKING:
    from outlast.jobs.remembered import Listed

REDRAWN_SECONDS = 2.0
CHROME_LINES = 3
"""Header, an empty line, and what ends it."""

Look = Callable[[], Sequence["Listed"]]


def watch_jobs(look: Look, clock: Clock, now_at: NowAt, *, as_json: bool, limit: int | None) -> int:
    """Until `q`, Ctrl-C, or nobody reads any more."""
    try:
        if sys.stdout.isatty() and not as_json:
            _redraw(look, now_at, limit)
        else:
            _stream(look, clock, as_json)
    except KeyboardInterrupt:
        pass
    return EXIT_DONE


def _redraw(look: Look, now_at: NowAt, limit: int | None) -> None:
    with _screen() as wait:
        while True:
            jobs = look()
            size = shutil.get_terminal_size()
            room = max(1, size.lines - CHROME_LINES)
            lines = table_lines([one.row() for one in newest(jobs, limit or room)[:room]], now_at)
            more = f", {len(jobs) - len(lines) + 1:,} more" if len(jobs) >= len(lines) else ""
            foot = paint(f"{len(jobs):,} jobs{more}; every {REDRAWN_SECONDS:.0f} s; q ends", "dim", sys.stdout)
            shown = lines if jobs else ["no job is like that yet"]
            sys.stdout.write("\x1b[H" + "".join(f"{line}\x1b[K\r\n" for line in [*shown, ""]) + f"{foot}\x1b[K\x1b[J")
            sys.stdout.flush()
            if wait(REDRAWN_SECONDS):
                return


@contextmanager
def _screen() -> Iterator[Callable[[float], bool]]:
    """The terminal's other screen, without a cursor; yields a wait that answers whether `q` was pressed. All is as before at the end."""
    keyboard = _Keyboard()
    sys.stdout.write("\x1b[?1049h\x1b[?25l")
    try:
        with keyboard:
            yield keyboard.wait
    finally:
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()


class _Keyboard:
    """Keys as they are pressed; Ctrl-C stays what it is."""

    def __init__(self) -> None:
        self._file = sys.stdin.fileno() if sys.stdin.isatty() else None
        self._before: list[object] | None = None

    def __enter__(self) -> _Keyboard:
        if self._file is not None:
            import termios
            import tty

            self._before = termios.tcgetattr(self._file)
            tty.setcbreak(self._file)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None and self._before is not None:
            import termios

            termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]

    def wait(self, seconds: float) -> bool:
        if self._file is None:
            select.select([], [], [], seconds)
            return False
        ready, _, _ = select.select([self._file], [], [], seconds)
        if not ready:
            return False
        pressed = os.read(self._file, 64)
        return not pressed or b"q" in pressed or b"Q" in pressed


def _stream(look: Look, clock: Clock, as_json: bool) -> None:
    """Every job once, then whatever changes; one that is gone is told with the state `deleted`."""
    known: dict[str, bytes] = {}
    while True:
        now: dict[str, bytes] = {}
        for one in reversed(look()):
            now[one.job] = one.raw
            if known.get(one.job) == one.raw:
                continue
            sys.stdout.write(f"{one.raw.decode()}\n" if as_json else f"{one.job}\t{one.state}\n")
        for job in [job for job in known if job not in now]:
            sys.stdout.write(f'{{"job": "{job}", "state": "deleted"}}\n' if as_json else f"{job}\tdeleted\n")
        known = now
        sys.stdout.flush()
        clock.sleep(REDRAWN_SECONDS)
