"""Starts the process that becomes a machine or a container, with a line to it; a later emulator finds it by its disk."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from outlast_emulator.machines import leftovers
from outlast_emulator.machines.lines import Lines

SOURCES = Path(__file__).resolve().parents[2]


def started(
    program: str, disk: Path, *, stdout: int, stderr: int | None = None
) -> tuple[subprocess.Popen[bytes], Lines]:
    """`program` is given where these sources lie, and the number of its end of the line."""
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program, str(SOURCES), str(number)],
            pass_fds=(number,),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            cwd="/",
            env={"PATH": os.defpath},
        )
    leftovers.note(disk, process.pid)
    return process, Lines(ours)
