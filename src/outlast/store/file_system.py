"""All that was written to a file system, made durable by one call: for many small files it takes a fraction of their own fsyncs.

Only where that call is as good as theirs: kernels tell it of failed writes since 5.8, and on file systems of others' making (FUSE,
network) it may end at this computer.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

TRUSTED = frozenset({0xEF53, 0x58465342, 0x9123683E, 0x01021994})
"""By `statfs`: ext4 and its elders, XFS, Btrfs, tmpfs."""

STATFS_BYTES = 256
"""More than any system's."""

KERNEL_MIN = (5, 8)


def sync_file_system(path: str) -> bool:
    """False: nothing was done, since it may not be enough here."""
    library = _library()
    if library is None:
        return False
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = ctypes.create_string_buffer(STATFS_BYTES)
        if library.fstatfs(file, found) != 0 or _kind(found) not in TRUSTED:
            return False
        if library.syncfs(file) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
        return True
    finally:
        os.close(file)


def _kind(found: ctypes.Array[ctypes.c_char]) -> int:
    """The first field, a word of the machine, of which 32 bits count."""
    return ctypes.cast(found, ctypes.POINTER(ctypes.c_long)).contents.value & 0xFFFFFFFF


@functools.cache
def _library() -> ctypes.CDLL | None:
    if sys.platform != "linux" or _kernel() < KERNEL_MIN:
        return None
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "syncfs") and hasattr(library, "fstatfs") else None


def _kernel() -> tuple[int, ...]:
    numbers = os.uname().release.split("-")[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdecimal())
