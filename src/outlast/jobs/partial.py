"""A file on its way to its place: beside it, nobody else's while its writer lives, and removed by the next one if that has died."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import BinaryIO

WRITERS_MAX = 64
"""So many may write the same file at once: each beside the others, and the last one's stays."""

NAME_BYTES_MAX = 200


def partial(target: Path, number: int = 0) -> Path:
    name = os.fsdecode(os.fsencode(target.name)[:NAME_BYTES_MAX])
    return target.with_name(f".{name}{f'.{number}' if number else ''}.pulling")


def begin(target: Path) -> tuple[Path, BinaryIO]:
    """A new file, locked: whoever renames or removes it does so before it is closed."""
    for number in range(WRITERS_MAX):
        path = partial(target, number)
        if not _is_free(path):
            continue
        try:
            stream = path.open("xb")
        except FileExistsError:
            continue
        if _is_mine(path, stream.fileno()):
            return path, stream
        stream.close()
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _is_free(path: Path) -> bool:
    """Nothing is there any more. What a writer left that was killed is removed, and a link that was laid there, not what it leads to."""
    try:
        left = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return _removed(path)
    try:
        return _is_mine(path, left) and _removed(path)
    finally:
        os.close(left)


def _removed(path: Path) -> bool:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _is_mine(path: Path, descriptor: int) -> bool:
    """Nobody else has the lock, and it is still the one of this name: its writer may have renamed it before it let go."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system that has no locks: as if nobody else were there
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
