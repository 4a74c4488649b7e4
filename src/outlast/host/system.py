"""The only file with calls that one operating system has and another has not; beside each stands the other way.

`OUTLAST_SYSTEM=posix` takes the other way on Linux too, so that the tests can go it.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import os
import signal
import struct
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

from outlast.host import programs

T = TypeVar("T")

LINUX = sys.platform == "linux" and os.environ.get("OUTLAST_SYSTEM") != "posix"

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
F_SETOWN_EX = 15
F_OWNER_TID = 0
FS_IOC_GETFLAGS = 0x80086601
FS_IOC_SETFLAGS = 0x40086602
FS_TOPDIR_FL = 0x00020000
FALLOC_FL_KEEP_SIZE = 0x01
FALLOC_FL_PUNCH_HOLE = 0x02
F_PUNCHHOLE = 99
"""macOS, sys/fcntl.h."""

MACHINE_ID = "/etc/machine-id"


@functools.cache
def _libc() -> Any:
    import ctypes  # half of the start of a command that only looks, and it never comes here

    libc = ctypes.CDLL(None, use_errno=True)
    if LINUX:
        libc.prctl.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]
        libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return libc


# Who is alive.


@functools.cache
def boot_id() -> str:
    """Differs after every boot of this computer: a process of another boot is dead, whatever its number."""
    if LINUX:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    return programs.ask("sysctl", "-n", "kern.bootsessionuuid")[1].strip()


def place(directory: os.PathLike[str]) -> str:
    """`name:digest` of this computer and of a directory on it: the same for all that share its processes, and for nobody else."""
    import zlib

    try:
        inode = os.stat(directory).st_ino
    except OSError:
        inode = 0
    told = f"{_computer()} {os.fspath(directory)} {inode}"
    return f"{os.uname().nodename}:{zlib.crc32(told.encode(errors='replace')):08x}"


def same_place(one: str, other: str) -> bool:
    """Whether two answers of `place` are about the same computer and directory, whatever it was called then."""
    return one.partition(":")[2] == other.partition(":")[2]


@functools.cache
def _computer() -> str:
    """Which computer this is, as long as it is one. The copies of an image may share what Linux has for it; their names differ."""
    name = os.uname().nodename
    try:
        with open(MACHINE_ID) as file:
            return f"{name} {file.read().strip()}"
    except OSError:
        pass
    # A Mac without a fixed name is called otherwise in every network that it is in.
    try:
        told = "" if LINUX else programs.ask("ioreg", "-rd1", "-c", "IOPlatformExpertDevice")[1]
    except PermissionError:
        told = ""  # forbidden by a sandbox, for all that share this one
    return told.partition('"IOPlatformUUID" = "')[2].partition('"')[0] or f"{name} "


def start_time(pid: int) -> str:
    """When the process began, as its system counts; with number and boot, who it is. Empty: it is dead, or a zombie."""
    if LINUX:
        try:
            # The name in parentheses may hold anything, a `)` too; the 22nd field counts from behind it.
            fields = _told(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return ""
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    rows = programs.ps(("-p", str(pid)), "stat", "lstart")
    return "" if not rows or rows[0][0].startswith("Z") else " ".join(rows[0][1:])


def running_seconds(pid: int) -> float:
    """For how long the process has run; 0: that is not known here."""
    ticks = start_time(pid) if LINUX else ""
    if not ticks:
        return 0.0
    with open("/proc/uptime", "rb") as file:
        up_seconds = float(file.read().split()[0])
    return max(0.0, up_seconds - int(ticks) / os.sysconf("SC_CLK_TCK"))


def same_start(one: str, other: str) -> bool:
    """Whether two answers of `start_time` are about the same process."""
    if LINUX or one == other:
        return one == other != ""
    try:
        # `ps` counts in seconds, and may round one process's start differently from one call to the next.
        return abs(_seconds(one) - _seconds(other)) <= 1.0
    except ValueError:
        return False


def _seconds(lstart: str) -> float:
    """`Sun Nov 15 19:52:37 2026`; the zone is no matter, for differences."""
    from datetime import datetime, timezone

    return datetime.strptime(lstart, "%a %b %d %H:%M:%S %Y").replace(tzinfo=timezone.utc).timestamp()


def open_process(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None: it is gone, or must be asked again and again."""
    if not LINUX:
        return None
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.EINVAL, errno.ENOSYS, errno.EPERM):
            return None
        raise


def send(pid: int, began: str, number: int) -> bool:
    """Sends a signal to exactly that process; False: it is gone, or its number is another's by now."""
    held = open_process(pid)
    try:
        if not same_start(start_time(pid), began):
            return False
        try:
            if LINUX and held is not None:
                # Held before it was looked at: its number cannot have passed to another in between.
                signal.pidfd_send_signal(held, number)
            else:
                os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True
    finally:
        if held is not None:
            os.close(held)


def _told(path: str) -> bytes:
    """What the kernel says there. A file object takes as long to make as all the rest."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        said = b""
        while piece := os.read(descriptor, 4096):  # it says less at a time than it could: no line is cut
            said += piece
        return said
    finally:
        os.close(descriptor)


def children(pid: int) -> list[int]:
    if LINUX:
        found: list[int] = []
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                found += [int(word) for word in _told(f"/proc/{pid}/task/{thread}/children").split()]
        except (FileNotFoundError, ProcessLookupError):
            return found
        return found
    return _families().get(pid, [])


def descendants(pid: int) -> list[int]:
    # `ps` takes as long for one as for all, and is asked once.
    families = None if LINUX else _families()
    found: list[int] = []
    todo = [pid]
    while todo:
        one = todo.pop()
        below = children(one) if families is None else families.get(one, [])
        found += below
        todo += below
    return found


def _families() -> dict[int, list[int]]:
    """Parent -> children, of all processes of this computer."""
    found: dict[int, list[int]] = {}
    for pid, parent in programs.ps(("-A",), "pid", "ppid"):
        found.setdefault(int(parent), []).append(int(pid))
    return found


def members(groups: Collection[int]) -> list[int]:
    """The living processes of these process groups."""
    rows = programs.ps(("-A",), "pid", "pgid", "stat")
    return [int(row[0]) for row in rows if int(row[1]) in groups and not row[2].startswith("Z")]


def below(pid: int, groups: Collection[int]) -> list[int]:
    """What a machine's init has to end, level by level: its children, orphans among them where it is their reaper."""
    return children(pid) if LINUX else [*descendants(pid), *members(groups)]


def carriers(mark: str, groups: Collection[int]) -> list[int]:
    """A machine's processes: those with `mark` (`NAME=value`) in their environment; elsewhere, those of its groups."""
    if not LINUX:
        return members(groups)
    wanted = b"\0" + mark.encode() + b"\0"
    found: list[int] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb", buffering=0) as file:
                # Between two NULs: the value of another variable may look like it.
                if wanted in b"\0" + file.read() + b"\0":
                    found.append(int(name))
        except OSError:
            continue
    return found


# How processes hang together.


def become_subreaper() -> bool:
    """Orphans below this process become its children. False: the system has no such thing."""
    return bool(LINUX and _libc().prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def die_with(parent: int) -> None:
    """This process is killed when its parent ends; where there is no such thing, it must notice by itself."""
    if LINUX:
        _libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


@functools.cache
def can_kill_with_me() -> bool:
    """Whether `kill_with_me` does what it says: asked once, and best before anybody is in a hurry."""
    if not LINUX:
        return False
    import threading

    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGURG,))
    try:
        read, write = os.pipe()
        try:
            _tell_of_end(read, signal.SIGURG, F_SETOWN_EX, struct.pack("ii", F_OWNER_TID, threading.get_native_id()))
        finally:
            os.close(write)
            os.close(read)
        return signal.sigtimedwait((signal.SIGURG,), 0) is not None
    except (OSError, AttributeError):
        return False
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def kill_with_me(group: int) -> None:
    """The kernel kills that process group when this process ends, however it ends; it no longer does so to the one before.

    Both ends of a pipe are held by nobody else. With this process one of them goes first, and whoever the other one belongs to is told of
    it: by SIGKILL. Unlike a death signal that a child must ask for itself, that needs no code between fork and exec.
    """
    for end in _pipe_of(os.getpid()):
        _tell_of_end(end, signal.SIGKILL, fcntl.F_SETOWN, -group)


@functools.lru_cache(maxsize=1)
def _pipe_of(pid: int) -> tuple[int, int]:
    """One in a process, and another one after a fork: a copy of an end that somebody else holds keeps it open."""
    return os.pipe()


def _tell_of_end(descriptor: int, number: int, kind: int, whom: int | bytes) -> None:
    """Sends that signal when the other end of the pipe is closed."""
    if not LINUX:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, number)
    fcntl.fcntl(descriptor, kind, whom)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)


def name_process(name: str) -> None:
    """What `top` shows, at most 15 bytes."""
    if LINUX:
        _libc().prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def close_from(lowest: int) -> None:
    """Closes all descriptors from that one on."""
    if LINUX:
        os.closerange(lowest, 1 << 20)
        return
    for name in os.listdir("/dev/fd"):
        if int(name) >= lowest:
            try:
                os.close(int(name))
            except OSError:
                pass


def cpus() -> int:
    """How many CPUs this process may use."""
    if LINUX:
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_to_share(share: int, shares: int) -> None:
    """From now on this process, and whatever it starts, uses its share of the CPUs that it may use now; a whole one at least."""
    if LINUX:
        usable = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, part(usable, share, shares))


def part(things: Sequence[T], share: int, shares: int) -> Sequence[T]:
    """As even as it can be. Where there are fewer things than shares, several have the same one."""
    begin, end = share * len(things) // shares, (share + 1) * len(things) // shares
    return things[begin : max(end, begin + 1)]


# Files.


def written(pids: Iterable[int], inodes: Collection[tuple[int, int]]) -> set[tuple[int, int]]:
    """Those of the (device, inode) that one of these processes may still write to; nothing where it cannot be seen."""
    found: set[tuple[int, int]] = set()
    for pid in pids if LINUX else ():
        try:
            found |= _written(pid, inodes)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def _written(pid: int, inodes: Collection[tuple[int, int]]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            seen = os.stat(f"/proc/{pid}/fd/{number}")
            if (seen.st_dev, seen.st_ino) in inodes and _flags(pid, number) & os.O_ACCMODE != os.O_RDONLY:
                found.add((seen.st_dev, seen.st_ino))
        except FileNotFoundError:
            continue
    # A memory map goes on being written after its descriptor was closed, as numpy.memmap does.
    with open(f"/proc/{pid}/maps", "rb") as file:
        mapped = {int(row.split(None, 5)[4]) for row in file if b" rw-s " in row}
    return found | {inode for inode in inodes if inode[1] in mapped}


def _flags(pid: int, number: str) -> int:
    with open(f"/proc/{pid}/fdinfo/{number}") as file:
        for row in file:
            if row.startswith("flags:"):
                return int(row.split()[1], 8)
    return 0


def spread_below(directory: os.PathLike[str]) -> None:
    """Tells the file system that directories in this one have nothing to do with each other (ext4: `chattr +T`), so that it
    puts them where there is room. Without a journal it is slow to create where many files were just deleted: beside them."""
    if not LINUX:
        return
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        flags = struct.unpack("i", fcntl.ioctl(descriptor, FS_IOC_GETFLAGS, bytes(4)))[0]
        fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, struct.pack("i", flags | FS_TOPDIR_FL))
    except OSError:
        pass  # another file system, with ways of its own
    finally:
        os.close(descriptor)


def punch_hole(descriptor: int, offset: int, length: int) -> bool:
    """Gives a part of a file back to the disk; it reads as zeros afterwards. False: not possible here."""
    if LINUX:
        return bool(_libc().fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) == 0)
    try:
        fcntl.fcntl(descriptor, F_PUNCHHOLE, struct.pack("IIqq", 0, 0, offset, length))
    except OSError:
        return False
    return True


def oom_kills() -> int:
    """How often the kernel has killed for want of memory since the boot, as far as one can see."""
    if not LINUX:
        return 0
    try:
        with open("/proc/vmstat", "rb", buffering=0) as file:
            found = file.read().partition(b"\noom_kill ")[2].split(maxsplit=1)
    except OSError:
        return 0
    return int(found[0]) if found else 0
