"""The system's own programs, asked where there is no call that tells: what they say is the same on every Unix."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from outlast.clock import SYSTEM

T = TypeVar("T")

SYSTEM_PATHS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
ASK_SECONDS_MAX = 10.0
ROOM_SECONDS = 0.05


def ask(*command: str) -> tuple[int, str]:
    """(process, what it printed) of a program of the system; nothing where there is no such program.

    OSError: it cannot be asked now. Silence would pass for the answer that nobody is alive.
    """
    import subprocess

    # By one time zone: a laptop travels, and its processes began when they began. `sysctl` is where not every PATH leads.
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *SYSTEM_PATHS))
    environ = {"LC_ALL": "C", "TZ": "UTC0", "PATH": path}
    try:
        asked = _when_there_is_room(
            lambda: subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL,
                text=True,
                env=environ,
            )
        )
    except FileNotFoundError:
        return 0, ""
    try:
        return asked.pid, asked.communicate(timeout=ASK_SECONDS_MAX)[0]
    except subprocess.TimeoutExpired:
        asked.kill()
        asked.communicate()
        raise TimeoutError(errno.ETIMEDOUT, f"`{command[0]}` has not answered for {ASK_SECONDS_MAX:.0f} s") from None


def _when_there_is_room(start: Callable[[], T]) -> T:
    """A user may have a limited number of processes: whoever ends makes room for the next one."""
    give_up_at = SYSTEM.monotonic() + ASK_SECONDS_MAX
    while True:
        try:
            return start()
        except BlockingIOError:
            if SYSTEM.monotonic() >= give_up_at:
                raise
        SYSTEM.sleep(ROOM_SECONDS)


def ps(whom: Sequence[str], *columns: str) -> list[list[str]]:
    """Rows of `ps`, split at blanks, without its own."""
    # An option for each column: what stands behind `=` is the heading, and some take all the rest for it.
    pid, printed = ask("ps", *whom, *(word for column in columns for word in ("-o", f"{column}=")))
    return [words for words in map(str.split, printed.splitlines()) if words and words[0] != str(pid)]
