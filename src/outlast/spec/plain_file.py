"""Reads a regular file of bounded size, and nothing else: no pipe is waited for, no device is read without end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_plain(path: str | os.PathLike[str], bytes_max: int) -> bytes:
    """`OSError` for what is no regular file, or larger."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        if seen.st_size > bytes_max:
            raise OSError(errno.EFBIG, f"it is above {bytes_max:,} bytes", str(path))
        pieces = []
        left = bytes_max
        while left > 0 and (piece := os.read(descriptor, min(left, max(seen.st_size + 1, 4096)))):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """For this user alone, whatever the umask and the directory allow."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
    except OSError:
        os.unlink(path)  # half of it, on a disk that is full, is nothing to read
        raise
