"""Doctor: a table of small checks of this computer, each with what it found and the command that mends it."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from outlast.bundle.python import choose_python
from outlast.errors import OutlastError
from outlast.host import health
from outlast.jobs.doctor_clock import check_clock
from outlast.jobs.doctor_homes import check_homes
from outlast.jobs.doctor_local import check_machines, check_processes, check_supervisor
from outlast.jobs.finding import Finding, bad, good, warning
from outlast.jobs.world import World

Check = Callable[[World], Iterator[Finding]]

MEGABYTE, GIGABYTE = 10**6, 10**9
DISK_BYTES_BAD, DISK_BYTES_LOW = 100 * MEGABYTE, 2 * GIGABYTE
DISK_FILES_LOW = 10_000
MEMORY_BYTES_BAD, MEMORY_BYTES_LOW = 100 * MEGABYTE, 500 * MEGABYTE
FILES_BAD, FILES_LOW = 128, 1024
PROCESSES_LOW = 64
"""So many more that this user may have."""

INOTIFY_LOW = 64
SHARED_MEMORY_LOW = 64 * MEGABYTE


def examine(world: World, checks: tuple[Check, ...] | None = None) -> list[Finding]:
    return [finding for check in (CHECKS if checks is None else checks) for finding in check(world)]


def check_user_directory(world: World) -> Iterator[Finding]:
    path = world.user_dir
    quoted = shlex.quote(str(path))
    if not path.is_dir():
        yield bad("directory", f"`{path}` is no directory", "set OUTLAST_DIR to a directory of your own")
        return
    seen = path.stat()
    if seen.st_uid != os.getuid():
        yield bad("directory", f"`{path}` belongs to another user", f"sudo chown -R $USER {quoted}")
    elif not os.access(path, os.W_OK | os.X_OK):
        yield bad("directory", f"`{path}` cannot be written", f"chmod u+rwx {quoted}")
    elif seen.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = oct(stat.S_IMODE(seen.st_mode))[2:]
        yield bad("directory", f"other users can look into `{path}` (mode {mode})", f"chmod go-rwx {quoted}")
    else:
        yield good("directory", f"`{path}` is yours alone")


def check_disk(world: World) -> Iterator[Finding]:
    """The user's directory, and each home that is a directory on another file system."""
    devices: set[int] = set()
    for path in (world.user_dir, *(Path(home.url) for home in world.homes() if home.url.startswith("/"))):
        if not path.is_dir() or path.stat().st_dev in devices:
            continue
        devices.add(path.stat().st_dev)
        yield disk_finding(path)


def disk_finding(path: Path) -> Finding:
    seen = os.statvfs(path)
    free, total = seen.f_bavail * seen.f_frsize, seen.f_blocks * seen.f_frsize
    fact = f"{_size(free)} of {_size(total)} are free for `{path}`"
    mend = "outlast prune, or OUTLAST_DIR on another disk"
    if free < DISK_BYTES_BAD:
        return bad("disk", fact, mend)
    if free < DISK_BYTES_LOW and free * 10 < total:
        return warning("disk", fact, mend)
    if seen.f_files and seen.f_favail < DISK_FILES_LOW:
        return warning("disk", f"only {seen.f_favail:,} more files fit onto the disk of `{path}`", mend)
    return good("disk", fact)


def check_memory(world: World) -> Iterator[Finding]:
    seen = health.memory_bytes()
    if seen is None:
        return
    available, total = seen
    fact = f"{_size(available)} of {_size(total)} are free"
    mend = "ps -eo pid,rss,comm --sort=-rss | head"
    if available < MEMORY_BYTES_BAD:
        yield bad("memory", fact, mend)
    elif available < MEMORY_BYTES_LOW:
        yield warning("memory", fact, mend)
    else:
        yield good("memory", fact)


def check_python(world: World) -> Iterator[Finding]:
    """The one that a job submitted from here would use."""
    try:
        python = choose_python(Path.cwd(), world.environ)
    except OutlastError as error:
        yield bad("python", error.message, error.hint.strip("`") or "python3 -m venv .venv")
        return
    yield good("python", f"{python.version} at `{python.path}`: {python.why}")
    yield good("tool", f"runs in Python {sys.version.split()[0]} at `{sys.executable}`")


def check_programs(world: World) -> Iterator[Finding]:
    git, uv = (shutil.which(name, path=world.environ.get("PATH")) for name in ("git", "uv"))
    if git:
        yield good("git", f"`{git}`")
    else:
        mend = "sudo apt install git, or brew install git"
        yield warning("git", "is not on the PATH: all files of a directory are shipped, ignored ones too", mend)
    if uv:
        yield good("uv", f"`{uv}`")
    else:
        yield warning("uv", "is not on the PATH: environments are made by pip, which is slower", "pipx install uv")


def check_limits(world: World) -> Iterator[Finding]:
    limits = health.limits()
    files, files_most = limits["files"]
    fact = f"{files:,} files may be open at once"
    if 0 <= files < FILES_LOW:
        mend = f"ulimit -n {min(4096, files_most) if files_most > 0 else 4096}"
        yield (bad if files < FILES_BAD else warning)("files", fact, mend)
    else:
        yield good("files", fact if files >= 0 else "any number may be open at once")
    processes, own = limits["processes"][0], health.own_processes()
    if processes >= 0 and own is not None and os.getuid() != 0 and processes - own < PROCESSES_LOW:
        fact = f"you have {own:,} processes and threads of {processes:,}"
        yield warning("processes", fact, f"ulimit -u {max(4096, 2 * processes)}")
    instances = health.inotify_instances_max()
    if instances is not None and instances < INOTIFY_LOW:
        mend = "sudo sysctl fs.inotify.max_user_instances=512"
        yield warning("inotify", f"only {instances} programs of yours may watch files", mend)


def check_shared_memory(world: World) -> Iterator[Finding]:
    seen = health.shared_memory_bytes()
    if seen is None:
        return
    free, total = seen
    fact = f"{_size(free)} of {_size(total)} are free in /dev/shm"
    if free < SHARED_MEMORY_LOW:
        mend = "sudo mount -o remount,size=2G /dev/shm, or docker run --shm-size 2g"
        yield warning("shared memory", f"{fact}: data loaders with several workers may fail", mend)
    else:
        yield good("shared memory", fact)


def check_private_files(world: World) -> Iterator[Finding]:
    """What lies in the user's directory is nobody else's business, even if the directory itself is open."""
    open_ones = []
    for path in sorted(world.user_dir.glob("*")) if world.user_dir.is_dir() else ():
        seen = path.lstat()
        if not stat.S_ISLNK(seen.st_mode) and seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            open_ones.append(path)
    if open_ones:
        named = ", ".join(f"`{path.name}`" for path in open_ones[:3])
        yield bad("files of yours", f"others can write {named}", f"chmod -R go-w {shlex.quote(str(world.user_dir))}")


def _size(number: float) -> str:
    return f"{number / GIGABYTE:.1f} GB" if number >= GIGABYTE else f"{number / MEGABYTE:.0f} MB"


CHECKS: tuple[Check, ...] = (
    check_user_directory,
    check_private_files,
    check_disk,
    check_memory,
    check_shared_memory,
    check_limits,
    check_python,
    check_programs,
    check_homes,
    check_clock,
    check_supervisor,
    check_processes,
    check_machines,
)
"""In the order in which they are shown."""
