"""The operating system's calls that the directory store makes, and what their errors mean."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping

from outlast.errors import Damaged, Denied, OutlastError, StoreError, StoreFull, StoreUnavailable, UsageError
from outlast.spec.durable import make_durable
from outlast.store.direct import write_directly

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Disk:
    """What writes: one method per call, so that a test can fail, stop or kill a writer before any one of them."""

    def create(self, path: str) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)

    def write(self, file: int, data: bytes) -> None:
        view = memoryview(data)[write_directly(file, data) :]
        while view:
            view = view[os.write(file, view) :]

    def stamp(self, file: int, nanoseconds: int) -> None:
        os.utime(file, ns=(nanoseconds, nanoseconds))

    def sync(self, file: int) -> None:
        make_durable(file)

    def sync_all(self, path: str) -> bool:
        """Makes durable all that was written to the file system on which this is; False: it is not known to, here."""
        from outlast.store.file_system import sync_file_system  # its module is for those who write many at a time

        return sync_file_system(path)

    def close(self, file: int) -> None:
        os.close(file)

    def link(self, source: str, target: str) -> None:
        os.link(source, target)

    def symlink(self, text: str, path: str) -> None:
        os.symlink(text, path)

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def make_directory(self, path: str) -> None:
        os.mkdir(path, DIRECTORY_MODE)

    def remove_directory(self, path: str) -> None:
        os.rmdir(path)

    def sync_directory(self, path: str) -> None:
        file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sync(file)
        except OSError as error:
            if error.errno not in NO_SYNC:
                raise
        finally:
            os.close(file)


def read_file(path: str) -> tuple[bytes, os.stat_result] | None:
    """A regular file's content; None if there is none."""
    found = _open_regular(path)
    if found is None:
        return None
    file, status = found
    try:
        data = os.read(file, status.st_size)
        while len(data) < status.st_size and (more := os.read(file, status.st_size - len(data))):
            data += more
        return data, status
    finally:
        os.close(file)


def open_file(path: str) -> int | None:
    """A regular file, for reading; None if there is none: what is something else is not ours. Never waits, as a pipe would."""
    found = _open_regular(path)
    return None if found is None else found[0]


def _open_regular(path: str) -> tuple[int, os.stat_result] | None:
    try:
        file = os.open(path, READ_FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in IS_SYMLINK:
            return None
        raise
    status = os.fstat(file)
    if stat.S_ISREG(status.st_mode):
        return file, status
    os.close(file)
    return None


def status_of(path: str) -> os.stat_result | None:
    """None if the name is not there. Any other trouble is raised: taking it for absence would lose a generation."""
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def size_of(path: str) -> int | None:
    status = status_of(path)
    return None if status is None else status.st_size


def is_regular(path: str) -> bool:
    status = status_of(path)
    return status is not None and stat.S_ISREG(status.st_mode)


def is_same(path: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.lstat(other))
    except FileNotFoundError:
        return False


IS_SYMLINK = frozenset({errno.ELOOP, errno.EMLINK})
"""What O_NOFOLLOW answers (FreeBSD: EMLINK)."""

NO_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
"""Some network file systems have no fsync for directories, because they are always in sync."""

NO_LINK = frozenset(
    {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}  # link(2) and FUSE
)
"""What link() answers where there are no hard links."""


def _numbers(*names: str) -> tuple[int, ...]:
    """Those of the names that this operating system has."""
    return tuple(getattr(errno, name) for name in names if hasattr(errno, name))


MEANINGS: Mapping[type[Exception], tuple[int, ...]] = {
    StoreFull: _numbers("ENOSPC", "EDQUOT", "EFBIG"),
    Denied: _numbers("EACCES", "EPERM", "EROFS", "ETXTBSY"),
    ValueError: _numbers("ENAMETOOLONG", "EILSEQ", "EINVAL"),
    Damaged: _numbers("ELOOP", "EUCLEAN", "EBADMSG", "EOVERFLOW"),
    StoreError: _numbers("EXDEV", "EMLINK", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EBADF", "EFAULT", "ENOTTY"),
    StoreUnavailable: _numbers(
        # The disk, or the way to it.
        "EIO", "ESTALE", "ETIMEDOUT", "EREMOTEIO", "ENOTCONN", "ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "EPIPE",
        "EHOSTDOWN", "EHOSTUNREACH", "ENETDOWN", "ENETUNREACH", "ENETRESET", "ENOLINK", "ENODEV", "ENXIO", "EPROTO",
        "ENOMEDIUM", "ESHUTDOWN", "ECOMM", "EREMOTE", "EKEYEXPIRED", "ENOKEY", "EKEYREVOKED", "EKEYREJECTED",
        # This machine, for now.
        "EAGAIN", "EWOULDBLOCK", "EINTR", "EBUSY", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "ENOLCK", "EDEADLK",
        "ECANCELED", "ENOTBLK",
        # Somebody else changed the directory under our hands more often than we try.
        "ENOENT", "EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY",
    ),
}  # fmt: skip
"""THE table: every errno that the calls above, and open, read, stat and scandir, are known to raise."""

_MEANING: Mapping[int, type[Exception]] = {
    number: meaning for meaning, numbers in MEANINGS.items() for number in numbers
}

_HINTS: Mapping[type[Exception], str] = {
    StoreFull: "free some space there, or choose another home with `--home`",
    Denied: "look at its owner and mode (`ls -ld`), or choose another home with `--home`",
    Damaged: "something else than outlast has changed this home",
    StoreError: "choose a home on another file system with `--home`",
    StoreUnavailable: "try again; if it lasts, look at the disk or the network file system (`dmesg`, `mount`)",
}


def translated(error: OSError, doing: str, path: str) -> Exception:
    """The error to raise instead. `doing`: `read`, `write`, ...; an unknown errno is a StoreError, which nobody retries."""
    number = error.errno or 0
    meaning = _MEANING.get(number, StoreError)
    text = f"cannot {doing} `{path}`: {os.strerror(number)} ({errno.errorcode.get(number, number)})"
    if issubclass(meaning, OutlastError):
        return meaning(text, hint=_HINTS[meaning])
    return meaning(text)


def no_links(error: OSError, root: str) -> StoreError:
    return StoreError(
        f"the home `{root}` is on a file system without hard links: {os.strerror(error.errno or 0)}",
        hint="choose a home on a local disk (ext4, xfs, btrfs, APFS) or on NFS with `--home`",
    )


def not_a_directory(root: str) -> UsageError:
    return UsageError(f"the home `{root}` is not a directory", hint="choose another one with `--home`")
