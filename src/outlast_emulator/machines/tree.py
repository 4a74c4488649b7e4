"""All processes below one: how a machine without a namespace is ended as a whole."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping

ROUNDS_MAX = 1000
"""Of killing what is there: a process that forks as fast as it can loses sooner."""


def adopt_orphans() -> None:
    """So that nobody leaves the tree by letting its parent die. Only Linux can; elsewhere a daemon may get away."""
    if sys.platform == "linux":
        from outlast_emulator.machines import linux

        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)


def forbid_new_rights() -> None:
    """No program of the tree gets more rights than this process has: not by sudo either."""
    if sys.platform == "linux":
        from outlast_emulator.machines import linux

        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)


def signal_descendants(number: int) -> bool:
    """To all below this process; False: there is none that lives."""
    found = descendants(os.getpid())
    for pid in found:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
    return bool(found)


def end_descendants() -> None:
    for _ in range(ROUNDS_MAX):
        if not signal_descendants(signal.SIGKILL):
            return
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass


def descendants(root: int) -> list[int]:
    """All that live, parents before children."""
    parents = parents_by_pid()
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def parents_by_pid() -> Mapping[int, int]:
    """Process -> parent, of all that are not dead already."""
    if sys.platform != "linux":
        import subprocess

        text = subprocess.run(["ps", "-Ao", "pid=,ppid=,stat="], check=True, capture_output=True, text=True).stdout
        rows = [line.split() for line in text.splitlines()]
        return {int(row[0]): int(row[1]) for row in rows if not row[2].startswith("Z")}
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # a process may call itself what is no text
                state, parent = file.read().rpartition(b")")[2].decode().split()[:2]
        except OSError:
            continue
        if state not in ("Z", "X"):
            found[int(name)] = int(parent)
    return found
