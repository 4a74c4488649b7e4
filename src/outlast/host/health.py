"""How this computer is doing: memory, limits, and processes that carry a mark. What cannot be known here is None."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from outlast.host import system


def memory_bytes() -> tuple[int, int] | None:
    """(available, all) of the computer, or of the control group that confines us if that is less."""
    if not system.LINUX:
        return None
    try:
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        available, total = (int(fields[name].split()[0]) * 1024 for name in ("MemAvailable", "MemTotal"))
    except (OSError, KeyError, ValueError, IndexError):
        return None
    confined = _confined_bytes()
    if confined is not None and confined[1] < total:
        available, total = min(available, confined[1] - confined[0]), confined[1]
    return available, total


def _confined_bytes() -> tuple[int, int] | None:
    """(used, at most) of the control group, where it has a limit."""
    for used, most in (
        ("memory.current", "memory.max"),
        ("memory/memory.usage_in_bytes", "memory/memory.limit_in_bytes"),
    ):
        try:
            root = Path("/sys/fs/cgroup")
            return int((root / used).read_text()), int((root / most).read_text())
        except (OSError, ValueError):
            continue
    return None


def limits() -> dict[str, tuple[int, int]]:
    """`files`, `processes` -> (now, the most that one may ask for); -1: without end."""
    kinds = {"files": resource.RLIMIT_NOFILE, "processes": resource.RLIMIT_NPROC}
    return {name: _bounded(*resource.getrlimit(kind)) for name, kind in kinds.items()}


def allow_files(count: int) -> None:
    """From now on this process, and what it starts, may have so many files open, or as many as it may ask for; -1: any number."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = resource.RLIM_INFINITY if count < 0 else count
    if most != resource.RLIM_INFINITY and not 0 <= wanted <= most:
        wanted = most
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    except (ValueError, OSError):
        return  # more than the kernel gives to anybody: as it was


def _bounded(now: int, most: int) -> tuple[int, int]:
    """Linux has -1 for what is without end, and macOS the largest number that there is."""
    endless = resource.RLIM_INFINITY
    return -1 if now == endless else now, -1 if most == endless else most


def own_processes() -> int | None:
    """How many processes this user has."""
    if not system.LINUX:
        return None
    count = 0
    for name in os.listdir("/proc"):
        try:
            count += name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid()
        except OSError:
            continue
    return count


def inotify_instances_max() -> int | None:
    """How many watchers of files a user may have; training frameworks and notebooks use them."""
    try:
        return int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    except (OSError, ValueError):
        return None


def shared_memory_bytes() -> tuple[int, int] | None:
    """(free, all) of /dev/shm, in which data loaders with several workers pass batches on; None: there is none."""
    if not system.LINUX:
        return None
    try:
        seen = os.statvfs("/dev/shm")  # noqa: S108 - it is only measured
    except OSError:
        return None
    return seen.f_bavail * seen.f_frsize, seen.f_blocks * seen.f_frsize


def told(name: str) -> dict[int, str]:
    """Process -> the value of this variable in its environment, of those that we may see."""
    found: dict[int, str] = {}
    if not system.LINUX:
        return found
    wanted = f"{name}=".encode()
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        for variable in environ.split(b"\0"):
            if variable.startswith(wanted):
                found[int(pid)] = os.fsdecode(variable[len(wanted) :])
    return found
