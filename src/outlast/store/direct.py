"""Large chunks to the disk without a stay in the page cache, where the system and the file system can.

Written the usual way, a gigabyte is copied into the cache, and then the sync that makes it durable waits while all of it is found and
sent again, beside whatever else the computer has not written yet. It took four times the CPU, and up to ten times as long.
"""

from __future__ import annotations

import errno
import os

DIRECT_BYTES_MIN = 4 << 20
"""Who hands over less at a time is served by the cache: what is small is often read again soon."""

BLOCK_BYTES = 4096
"""What memory, length and place in the file are multiples of. A disk that asks for more says so."""

BUFFER_BYTES = 4 << 20
FLAG: int = getattr(os, "O_DIRECT", 0)
"""0: there is no such thing here (macOS)."""

UNABLE = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


def write_directly(file: int, data: bytes) -> int:
    """Writes the beginning of the data, and answers how many bytes that were: 0 where it cannot be. The rest is the caller's."""
    wanted = len(data) - len(data) % BLOCK_BYTES
    if not FLAG or len(data) < DIRECT_BYTES_MIN or os.lseek(file, 0, os.SEEK_CUR) % BLOCK_BYTES:
        return 0
    import fcntl
    import mmap

    flags = fcntl.fcntl(file, fcntl.F_GETFL)
    try:
        fcntl.fcntl(file, fcntl.F_SETFL, flags | FLAG)
    except OSError as error:
        if error.errno in UNABLE:
            return 0
        raise
    written = 0
    source = memoryview(data)
    # Memory that begins where a page does; bytes never do. Given back when nobody looks at it, an error's trace included.
    buffer = memoryview(mmap.mmap(-1, BUFFER_BYTES))
    try:
        while written < wanted:
            size = min(BUFFER_BYTES, wanted - written)
            buffer[:size] = source[written : written + size]
            written += os.write(file, buffer[:size])
    except OSError as error:
        if error.errno not in UNABLE:
            raise
    finally:
        fcntl.fcntl(file, fcntl.F_SETFL, flags)
    return written
