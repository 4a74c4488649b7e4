"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

from outlast.spec.durable import make_durable
from outlast.spec.plain_file import read_plain

AnyPath: TypeAlias = "str | os.PathLike[str]"

READ_BYTES_MAX = 64 << 20
"""No record of ours is a fraction of it."""

SMALL_ENTRIES_MAX = 64
SMALL_BYTES_MAX = 256 << 10

NO_FILE = frozenset(
    (
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ELOOP,
        errno.ENXIO,
        errno.EOPNOTSUPP,
        errno.EINVAL,
        errno.EFBIG,
        errno.ENAMETOOLONG,
    )
)
"""What opening and reading says of a name that is not there, or no regular file, or no record's size. Of a socket Linux says ENXIO, and
others EOPNOTSUPP."""

NO_NAME = frozenset((errno.EILSEQ, errno.EINVAL, errno.ENAMETOOLONG))
"""What a file system says of a name that it cannot have: a Mac's none that is not UTF-8, that of a stick none with a colon."""


def put(path: AnyPath, data: bytes, *, durable: bool = False) -> None:
    """In place by rename. `durable`: also after a power cut; without it, only after the death of whoever wrote."""
    temporary = _temporary(path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _write_all(descriptor, data)
        if durable:
            make_durable(descriptor)
    except OSError:
        os.unlink(temporary)  # what it has taken of a disk that is full is somebody else's room
        raise
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
    if durable:
        sync_directory(os.path.dirname(path))


def put_json(path: AnyPath, document: object, *, durable: bool = False) -> None:
    put(path, json.dumps(document, separators=(",", ":")).encode(), durable=durable)


def create(path: AnyPath, data: bytes = b"") -> bool:
    """Create-only: False if it is there already. Nobody reads a part of it."""
    temporary = _temporary(path) if data else os.fspath(path)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    try:
        _write_all(descriptor, data)
    finally:
        os.close(descriptor)
    if not data:
        return True
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    return True


def share(path: AnyPath, to: AnyPath) -> bool:
    """One file under two names, instead of another one like it: some file systems are slow to make new ones. Neither is
    ever written in place. False: something is there, or it cannot be."""
    try:
        os.link(path, to)
    except OSError:
        return False
    return True


def read(path: AnyPath) -> bytes | None:
    """None: it is not there, or no file of ours. Never waits, as a pipe that a trainer has put there would have it."""
    try:
        return read_plain(path, READ_BYTES_MAX)
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise


def read_end(path: AnyPath, size: int) -> bytes:
    """The last bytes of a file that may be long; empty: there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in NO_FILE:
            return b""
        raise
    try:
        seen = os.fstat(descriptor)
        return os.pread(descriptor, size, max(0, seen.st_size - size)) if stat.S_ISREG(seen.st_mode) else b""
    finally:
        os.close(descriptor)


def read_json(path: AnyPath) -> Any:
    """None: it is not there, or a power cut tore it."""
    data = read(path)
    if not data:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def remove(path: AnyPath) -> None:
    """A file, or a directory with all that is in it; what is gone is no error, nor what cannot be removed yet."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError:
        remove_tree(path)


def make_empty(path: AnyPath, keeping: Collection[str] = ()) -> None:
    """A private directory without anything in it: the one that is there, if it is one. `keeping`: of directories in it that are private and
    empty too, the names of those that stay, since new ones are dear."""
    try:
        os.mkdir(path, 0o700)
        return
    except FileExistsError:
        pass
    try:
        if not os.path.islink(path):
            _empty(os.fspath(path), keeping)
            os.chmod(path, 0o700)
            return
    except OSError:
        pass  # what is not a directory, or may not be changed: another way, and a new one
    remove(path)
    os.mkdir(path, 0o700)


def remove_tree(path: AnyPath) -> None:
    if os.path.islink(path) or not os.path.isdir(path):
        try:
            os.unlink(path)  # rmtree would open it, and wait for whoever writes into a pipe
        except FileNotFoundError:
            pass
        return
    try:
        _remove_below(os.fspath(path))
        return
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
    if not os.path.exists(path):
        return
    # Directories without write permission, as package managers like to leave them.
    for directory, _, _ in os.walk(path):
        try:
            os.chmod(directory, 0o700)
        except OSError:
            continue
    shutil.rmtree(path, ignore_errors=True)


def _remove_below(path: str) -> None:
    """A third of the calls that `shutil.rmtree` makes; nobody changes what is removed here meanwhile."""
    _empty(path)
    os.rmdir(path)


def _empty(path: str, keeping: Collection[str] = ()) -> None:
    with os.scandir(path) as found:
        entries = list(found)  # all of them first: a Mac passes over some where others are removed meanwhile
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in keeping or not _is_vacant(entry):
                _remove_below(entry.path)
        else:
            os.unlink(entry.path)


def _is_vacant(entry: os.DirEntry[str]) -> bool:
    return stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode) == 0o700 and not os.listdir(entry.path)


def sync_directory(path: AnyPath) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        make_durable(descriptor)
    finally:
        os.close(descriptor)


def _temporary(path: AnyPath) -> str:
    directory, slash, name = os.fspath(path).rpartition("/")
    return f"{directory}{slash}.{name}.{os.getpid()}"


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def is_small(paths: Iterable[AnyPath]) -> bool:
    """Whether in all these directories together there is next to nothing; one that is not there has nothing."""
    entries, size = 0, 0
    waiting = [os.fspath(path) for path in paths if not os.path.islink(path)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
                    if entries > SMALL_ENTRIES_MAX or size > SMALL_BYTES_MAX:
                        return False
        except OSError as error:
            if error.errno not in NO_FILE:
                return False
    return True


def tree_bytes(path: AnyPath) -> int:
    """How much lies there, as far as it can be seen; links are not followed."""
    total = 0
    for directory, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size
            except OSError:
                continue
    if not total:
        try:
            seen = os.lstat(path)
        except OSError:
            return 0
        return 0 if stat.S_ISDIR(seen.st_mode) else seen.st_size
    return total
