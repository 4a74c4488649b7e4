"""Runs a resolver and tells what it said, shortened to what helps."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from outlast.errors import OutlastError
from outlast.pattern import pattern

SECONDS_MAX = 3600.0
"""Building a large package from its source takes long; nothing takes longer than this."""

ESSENCE_LINES_MAX = 12
ESSENCE_LINE_LENGTH_MAX = 300

_COLOUR = pattern(r"\x1b\[[0-9;]*[A-Za-z]")


class Said(NamedTuple):
    code: int
    out: str
    err: str


def run_tool(command: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> Said:
    try:
        done = subprocess.run(
            list(command),
            cwd=cwd,
            env={**environ, "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise OutlastError(f"`{os.path.basename(command[0])}` has not ended for {SECONDS_MAX:.0f} s") from error
    except OSError as error:
        raise OutlastError(f"`{command[0]}` cannot be run: {error.strerror}") from error
    return Said(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def essence(text: str, *, begins: tuple[str, ...] = ("",)) -> str:
    """The lines that begin so, without colour, not too long and not too many; the last lines if there are none."""
    lines = [_COLOUR.sub("", line).rstrip() for line in text.splitlines()]
    lines = ["".join(one if one.isprintable() else "?" for one in line) for line in lines if line.strip()]
    chosen = [line for line in lines if line.startswith(begins)] or lines[-3:]
    if len(chosen) > ESSENCE_LINES_MAX:
        chosen = [*chosen[: ESSENCE_LINES_MAX - 1], f"({len(chosen) - ESSENCE_LINES_MAX + 1} lines more)"]
    return "\n".join(f"  {_short(line)}" for line in chosen)


def _short(line: str) -> str:
    if len(line) <= ESSENCE_LINE_LENGTH_MAX:
        return line
    half = ESSENCE_LINE_LENGTH_MAX // 2
    return f"{line[:half]} ... {line[-half:]}"
