"""What machines of an emulator that was killed have left: their launchers, if the kernel did not end them yet.

A machine ends with its connection to the emulator, so this finds something only in the moments after, or where a launcher was
stopped. Mounts and namespaces need no care: they are gone with the last process that sees them.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from outlast_emulator.clock import monotonic, pause
from outlast_emulator.machines.plain import ROOT_VARIABLE

NAME = "launcher"
END_SECONDS_MAX = 30.0


def note(disk: Path, pid: int) -> None:
    (disk / NAME).write_text(f"{pid} {started_at(pid)}\n")


def end(data: Path) -> None:
    """Returns when they are gone."""
    found = [*_noted(data), *_plain(data)]
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    ends_at = monotonic() + END_SECONDS_MAX
    while any(started_at(pid) for pid in found) and monotonic() < ends_at:
        pause(0.01)


def _noted(data: Path) -> list[int]:
    found = []
    for path in data.glob(f"disks/*/{NAME}"):
        pid, _, started = path.read_text().strip().partition(" ")
        if started and started_at(int(pid)) == started:
            found += [int(pid), *_children(int(pid))]
        path.unlink()
    return found


def _children(pid: int) -> list[int]:
    """Of a launcher: the machine's process number one, which need not wait for a signal of its own."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _plain(data: Path) -> list[int]:
    """Processes of plain machines, by what stands in their environment."""
    if sys.platform != "linux":
        return []
    mark = f"{ROOT_VARIABLE}={data}/disks/".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if any(one.startswith(mark) for one in path.read_bytes().split(b"\0")):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def started_at(pid: int) -> str:
    """When a process began, in the kernel's ticks: a number that comes again later is another process. "": there is none."""
    try:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return ""
    return "" if words[0] in ("Z", "X") else words[19]
