"""The memory that a snapshot is taken into: kept from save to save, so that its pages are there already."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from pathlib import Path

RESERVE_SHARE = 0.1
RESERVE_BYTES_MAX = 1 << 30
"""What a snapshot leaves free for the training itself: a tenth of the machine's memory, a GiB at most."""

TOUCH_BYTES = 16 << 20


class Arena:
    """One block of memory. It only grows, in the background, and is used by one save at a time."""

    def __init__(self) -> None:
        self._memory: mmap.mmap | None = None
        self._growing: threading.Thread | None = None
        self._failed_bytes = 0

    def reserve(self, size: int) -> None:
        """Begins to make room for so many bytes; `ready` tells when it is there."""
        if self.ready(size) or self._growing is not None:
            return
        self._memory = None
        # A little more than asked for: an optimiser's averages come with the first steps.
        thread = threading.Thread(target=self._grow, args=(size + size // 16,), name="outlast-memory", daemon=True)
        self._growing = thread
        thread.start()

    def _grow(self, size: int) -> None:
        try:
            memory = mmap.mmap(-1, max(size, mmap.PAGESIZE))
        except (OSError, MemoryError, OverflowError):
            self._failed_bytes = size
            self._growing = None
            return
        if hasattr(mmap, "MADV_HUGEPAGE"):
            try:
                memory.madvise(mmap.MADV_HUGEPAGE)  # fewer, larger pages: copying into them is faster
            except OSError:  # a kernel without them
                pass
        # Touching a page for the first time costs more than copying into it. memset runs without the interpreter's lock.
        view = (ctypes.c_char * len(memory)).from_buffer(memory)
        address = ctypes.addressof(view)
        for offset in range(0, len(memory), TOUCH_BYTES):
            ctypes.memset(address + offset, 0, min(TOUCH_BYTES, len(memory) - offset))
        del view
        self._memory = memory
        self._growing = None

    def ready(self, size: int) -> bool:
        return self._memory is not None and len(self._memory) >= size

    def growing(self) -> bool:
        return self._growing is not None

    def refused(self, size: int) -> bool:
        """The system would not give so much memory."""
        return 0 < self._failed_bytes <= size + size // 16

    def wait(self, seconds: float | None = None) -> None:
        """Until the memory that was asked for last is there, or refused."""
        thread = self._growing
        if thread is not None:
            thread.join(seconds)

    def view(self, size: int) -> memoryview:
        assert self._memory is not None and len(self._memory) >= size
        return memoryview(self._memory)[:size]

    def release(self) -> None:
        self.wait(60.0)
        self._memory = None  # given back when nobody looks at it any more
        self._failed_bytes = 0


def fits(size: int, root: Path = Path("/")) -> bool:
    """Whether so many bytes can be had without pressing the training. Where nothing can be found out: yes."""
    total, available = system_bytes(root)
    address_space = _address_space_left()
    if address_space is not None and size > address_space:
        return False
    if available is None:
        return True
    reserve = min(RESERVE_BYTES_MAX, int(RESERVE_SHARE * (total or 0)))
    return size + reserve <= available


def system_bytes(root: Path = Path("/")) -> tuple[int | None, int | None]:
    """Total and available bytes: the machine's, or the control group's where that is less. None: nobody tells."""
    if not (root / "proc").is_dir():
        return _mac_bytes(root / "usr/bin/vm_stat")
    meminfo = _numbers(root / "proc/meminfo", 1024)
    total, available = meminfo.get("MemTotal:"), meminfo.get("MemAvailable:")
    for limit_path, usage_path, stat_path in _control_groups(root):
        limit, usage = _number(limit_path), _number(usage_path)
        if limit is None or usage is None or (total is not None and limit >= total):
            continue
        stat = _numbers(stat_path, 1)
        cache = stat.get("inactive_file", stat.get("total_inactive_file", 0))  # given back by the kernel when needed
        left = max(0, limit - usage + cache)
        total = limit
        available = left if available is None else min(available, left)
    return total, available


def _mac_bytes(vm_stat: Path) -> tuple[int | None, int | None]:
    """Where there is no /proc. Available is what is free, read ahead, or not used lately."""
    import subprocess

    try:
        # Spawned, and not forked: the fork of a process with much memory takes its time.
        told = subprocess.run(
            [str(vm_stat)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
            close_fds=False,
        ).stdout
        page_bytes = int(told.partition("page size of ")[2].split()[0])
        rows = (line.rpartition(":") for line in told.splitlines()[1:])
        pages = {name: int(count.strip(" .")) for name, _, count in rows if count.strip(" .").isdigit()}
        available = sum(pages[f"Pages {kind}"] for kind in ("free", "speculative", "inactive")) * page_bytes
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), available
    except (OSError, subprocess.SubprocessError, ValueError, IndexError, KeyError):
        return None, None


def _address_space_left() -> int | None:
    """Under `ulimit -v`."""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return None if limit == resource.RLIM_INFINITY else max(0, limit - pages * mmap.PAGESIZE)


def _control_groups(root: Path) -> list[tuple[Path, Path, Path]]:
    """Limit, usage and statistics of this process's memory group, in both versions, and at the root as containers see it."""
    folders = [root / "sys/fs/cgroup"]
    old = [root / "sys/fs/cgroup/memory"]
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            folders.append(root / "sys/fs/cgroup" / path.lstrip("/"))
        elif "memory" in controllers.split(","):
            old.append(root / "sys/fs/cgroup/memory" / path.lstrip("/"))
    return [
        *((folder / "memory.max", folder / "memory.current", folder / "memory.stat") for folder in folders),
        *(
            (folder / "memory.limit_in_bytes", folder / "memory.usage_in_bytes", folder / "memory.stat")
            for folder in old
        ),
    ]


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # absent, or "max"
        return None


def _numbers(path: Path, unit: int) -> dict[str, int]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    words = (line.split() for line in lines)
    return {word[0]: int(word[1]) * unit for word in words if len(word) >= 2 and word[1].isdigit()}
