"""Where words go: data to stdout, everything else to stderr, colour only where somebody can see it."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

from outlast.cli.clean import printable
from outlast.errors import EXIT_INTERRUPTED

COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}
WIDTH_MIN = 40
WIDTH_UNKNOWN = 80
"""Of a terminal that says that it has no columns."""


def colour_allowed(stream: TextIO) -> bool:
    """https://no-color.org: set and not empty means no."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, colour: str, stream: TextIO) -> str:
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if colour_allowed(stream) else text


def width(stream: TextIO) -> int | None:
    """Columns of the terminal; None where there is none, and nothing is to be cut."""
    if not stream.isatty():
        return None
    try:
        return max(WIDTH_MIN, os.get_terminal_size(stream.fileno()).columns or WIDTH_UNKNOWN)
    except OSError:
        return None


def say(text: str = "") -> None:
    """A line on stderr. Foreign words in it must have gone through `shown`."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def say_interrupted(state: str) -> int:
    """After Ctrl-C: what became of what was being done. Answers the exit code of that."""
    say()  # the terminal has put `^C` there
    say(f"interrupted; {state}")
    return EXIT_INTERRUPTED


def put(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(f"{text}\n")


def put_json(document: Any) -> None:
    """One document, one line, ASCII only: it survives every pipe and locale, and no terminal obeys anything in it."""
    import json

    try:
        text = json.dumps(document, allow_nan=False)
    except ValueError:
        from outlast.jobs.finite import finite

        text = json.dumps(finite(document), allow_nan=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def shown(text: object) -> str:
    """A foreign word inside a sentence."""
    return printable(str(text))
