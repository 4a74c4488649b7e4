"""Every error of the operating system has a meaning, and whichever strikes, nothing is lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from outlast.errors import (
    Damaged,
    Denied,
    OutlastError,
    PreconditionFailed,
    StoreError,
    StoreFull,
    StoreUnavailable,
    UsageError,
)
from outlast.store.directory import DirectoryStore
from outlast.store.disk import MEANINGS, NO_LINK, Disk, translated
from outlast.store.paths import TEMPORARY
from tests.store.steps import CALLS, HastyDisk, SteppingDisk

OPEN = (
    "EACCES EBUSY EDQUOT EEXIST EFAULT EFBIG EINTR EINVAL EISDIR ELOOP EMFILE ENAMETOOLONG ENFILE ENODEV ENOENT ENOMEM "
    "ENOSPC ENOTDIR ENXIO EOPNOTSUPP EOVERFLOW EPERM EROFS ETXTBSY EWOULDBLOCK EBADF EIO ESTALE"
)
DOCUMENTED: dict[str, str] = {
    "open": OPEN,
    "read": "EAGAIN EBADF EFAULT EINTR EINVAL EIO EISDIR ENOBUFS ENOMEM ENXIO ESTALE ETIMEDOUT",
    "write": "EAGAIN EBADF EDQUOT EFAULT EFBIG EINTR EINVAL EIO ENOSPC EPERM EPIPE ENOBUFS ENXIO ENETDOWN ENETUNREACH ESTALE",
    "fsync": "EBADF EINTR EIO ENOSPC EROFS EINVAL EDQUOT ESTALE ENOTSUP",
    "close": "EBADF EINTR EIO ENOSPC EDQUOT",
    "utime": "EACCES EINVAL ENOENT EPERM EROFS EBADF EFAULT ELOOP ENAMETOOLONG ENOMEM ENOTDIR ESRCH",
    "link": (
        "EACCES EDQUOT EEXIST EFAULT EIO ELOOP EMLINK ENAMETOOLONG ENOENT ENOMEM ENOSPC ENOTDIR EPERM EROFS EXDEV "
        "EBADF EINVAL ENOSYS EOPNOTSUPP ESTALE"
    ),
    "symlink": (
        "EACCES EBADF EDQUOT EEXIST EFAULT EIO ELOOP ENAMETOOLONG ENOENT ENOMEM ENOSPC ENOTDIR EPERM EROFS EILSEQ"
    ),
    "rename": (
        "EACCES EBUSY EDQUOT EFAULT EINVAL EISDIR ELOOP EMLINK ENAMETOOLONG ENOENT ENOMEM ENOSPC ENOTDIR ENOTEMPTY "
        "EEXIST EPERM EROFS EXDEV EBADF EIO ETXTBSY ESTALE"
    ),
    "unlink": "EACCES EBUSY EFAULT EIO EISDIR ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EPERM EROFS EBADF EINVAL ETXTBSY",
    "mkdir": (
        "EACCES EBADF EDQUOT EEXIST EFAULT EINVAL ELOOP EMLINK ENAMETOOLONG ENOENT ENOMEM ENOSPC ENOTDIR EPERM EROFS "
        "EILSEQ EIO"
    ),
    "rmdir": "EACCES EBUSY EFAULT EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR ENOTEMPTY EPERM EROFS EEXIST EIO",
    "stat": "EACCES EBADF EFAULT ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EOVERFLOW EIO EINVAL ESTALE",
    "opendir": "EACCES EBADF EMFILE ENFILE ENOENT ENOMEM ENOTDIR ELOOP ENAMETOOLONG",
    "readdir": "EBADF EFAULT EINVAL ENOENT ENOTDIR EOVERFLOW EIO",
    "any, on FUSE and network file systems": (
        "ENOTCONN ECONNREFUSED ECONNRESET ECONNABORTED EHOSTDOWN EHOSTUNREACH ENETDOWN ENETUNREACH ETIMEDOUT ESTALE "
        "EREMOTEIO EIO ENOSYS EPROTO ENOLINK EBADMSG EUCLEAN EKEYEXPIRED ENOKEY ECANCELED ENOLCK EDEADLK"
    ),
}
"""What the manual pages of Linux (sections 2 and 3), POSIX and macOS name for every call that the store makes."""

NO_SUCH_PROCESS = "ESRCH"
"""Named for utime, where /proc is changed."""


def table() -> dict[int, type[Exception]]:
    return {number: meaning for meaning, numbers in MEANINGS.items() for number in numbers}


def test_the_table_has_a_meaning_for_every_errno_that_the_calls_are_known_to_raise() -> None:
    names = {name for names in DOCUMENTED.values() for name in names.split()} - {NO_SUCH_PROCESS}
    missing = sorted(name for name in names if getattr(errno, name) not in table())
    assert missing == []


def test_no_errno_has_two_meanings() -> None:
    for number, meaning in table().items():
        assert [one for one, numbers in MEANINGS.items() if number in numbers] == [meaning]


def test_every_errno_of_this_system_is_translated_into_an_error_that_says_what_and_where() -> None:
    for number, name in errno.errorcode.items():
        error = translated(OSError(number, "text that nobody reads"), "write", "/home/key")
        assert isinstance(error, (OutlastError, ValueError))
        assert "cannot write `/home/key`" in str(error)
        assert name in str(error)
        if isinstance(error, OutlastError):
            assert error.hint


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.EACCES, Denied),
        (errno.EPERM, Denied),
        (errno.EROFS, Denied),
        (errno.EIO, StoreUnavailable),
        (errno.ESTALE, StoreUnavailable),
        (errno.ETIMEDOUT, StoreUnavailable),
        (errno.EMFILE, StoreUnavailable),
        (errno.ENAMETOOLONG, ValueError),
        (getattr(errno, "EUCLEAN", errno.EBADMSG), Damaged),
        (errno.EXDEV, StoreError),
    ],
)
def test_these_errnos_mean_this(number: int, expected: type[Exception]) -> None:
    assert type(translated(OSError(number, ""), "read", "k")) is expected


class FailingDisk(SteppingDisk):
    """Fails one call, by its number; `strikes` says whether it came so far."""

    def __init__(self, call: int, number: int) -> None:
        super().__init__(self.fail)
        self.left = call
        self.number = number
        self.name = ""

    def fail(self, name: str) -> None:
        self.left -= 1
        if self.left == -1:
            self.name = name
            raise OSError(self.number, os.strerror(self.number))


ERRNOS = (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO, errno.EINVAL, errno.EXDEV, errno.ENOSYS)
"""ENOENT, EEXIST and their like are answers, which the operating system does not give when they are not true."""

OPERATIONS: dict[str, Any] = {
    "swap": lambda store: store.put("job/head", b"new", if_generation=4),
    "create": lambda store: store.put("new/job/spec", b"new", if_generation=0),
    "put": lambda store: store.put("job/beat", b"new"),
    "upload": lambda store: store.upload("job/part", [b"n", b"ew"]),
    "make room": lambda store: store.put("job/beat/x", b"new"),
    "delete": lambda store: store.delete("job/head"),
    "delete plain": lambda store: store.delete("job/beat"),
    "delete displaced": lambda store: store.delete("job/moved"),
    "purge": lambda store: store.purge(["job/head", "job/moved", "job/beat"]),
}

BEFORE = {"job/head": b"3", "job/beat": b"old", "job/part": b"old", "job/moved": b"old", "job/moved/x": b"x"}
AFTER: dict[str, dict[str, bytes | None]] = {
    "swap": {"job/head": b"new"},
    "create": {"new/job/spec": b"new"},
    "put": {"job/beat": b"new"},
    "upload": {"job/part": b"new"},
    "make room": {"job/beat/x": b"new"},
    "delete": {"job/head": None},
    "delete plain": {"job/beat": None},
    "delete displaced": {"job/moved": None},
    "purge": {"job/head": None, "job/moved": None, "job/beat": None},
}


def home_of(root: Path) -> None:
    store = DirectoryStore(root, disk=HastyDisk())
    for number in range(4):
        store.put("job/head", b"%d" % number, if_generation=number)
    for key, data in BEFORE.items():
        if key != "job/head":
            store.put(key, data)


def contents(root: Path) -> dict[str, bytes]:
    store = DirectoryStore(root)
    return {entry.key: store.get(entry.key).data for entry in store.list("")}


def effect(name: str) -> dict[str, bytes]:
    return {key: data for key, data in {**BEFORE, **AFTER[name]}.items() if data is not None}


@pytest.mark.parametrize("name", OPERATIONS)
def test_whichever_call_fails_the_home_stays_whole_and_the_error_tells_the_truth(name: str, tmp_path: Path) -> None:
    """A promise that nothing was written is kept; what is not promised may have been done; nothing else is touched."""
    struck = set()
    for number in ERRNOS:
        for call in range(100):
            root = tmp_path / f"{errno.errorcode[number]}-{call}"
            home_of(root)
            disk = FailingDisk(call, number)
            try:
                OPERATIONS[name](DirectoryStore(root, disk=disk))
                outcome = None
            except (OutlastError, ValueError, PreconditionFailed) as error:
                outcome = error
            if disk.left >= 0:
                break
            struck.add(disk.name)
            check_outcome(root, name, outcome)
    assert {"sync_directory"} <= struck <= set(CALLS)


def check_outcome(root: Path, name: str, outcome: Exception | None) -> None:
    found = contents(root)
    if outcome is None:
        assert found == effect(name)
    elif isinstance(outcome, StoreUnavailable) or name == "purge":
        for key in AFTER[name]:
            assert found.get(key) in (BEFORE.get(key), AFTER[name][key])
    else:
        assert found == BEFORE, f"{outcome!r}, but something was written"
    assert {key: data for key, data in found.items() if key not in AFTER[name]} == {
        key: data for key, data in BEFORE.items() if key not in AFTER[name]
    }
    store = DirectoryStore(root, disk=HastyDisk())
    store.put("job/beat", b"next")  # life goes on
    generation = store.get("job/head").generation if "job/head" in found else 0
    store.put("job/head", b"next", if_generation=generation)
    assert contents(root)["job/head"] == b"next"


def test_a_write_that_is_in_place_but_not_known_to_last_has_an_unknown_outcome(tmp_path: Path) -> None:
    class NoSpaceForTheDirectory(Disk):
        def sync_directory(self, path: str) -> None:
            raise OSError(errno.ENOSPC, "")

    home_of(tmp_path)
    store = DirectoryStore(tmp_path, disk=NoSpaceForTheDirectory())
    with pytest.raises(StoreUnavailable):
        store.put("job/head", b"new", if_generation=4)
    assert contents(tmp_path)["job/head"] == b"new"


def test_a_link_whose_answer_was_lost_is_known_by_its_inode(tmp_path: Path) -> None:
    class Forgetful(Disk):
        """NFS: the link was made, the answer got lost, the request was sent again."""

        def link(self, source: str, target: str) -> None:
            super().link(source, target)
            super().link(source, target)

    store = DirectoryStore(tmp_path, disk=Forgetful())
    (tmp_path / TEMPORARY).mkdir()
    assert store.put("k", b"1", if_generation=0) == 1
    assert store.put("k", b"2", if_generation=1) == 2
    assert store.get("k").data == b"2"


@pytest.mark.parametrize("number", sorted(NO_LINK), ids=lambda number: errno.errorcode[number])
def test_a_file_system_without_hard_links_is_refused_at_the_first_write(number: int, tmp_path: Path) -> None:
    class NoLinks(Disk):
        def link(self, source: str, target: str) -> None:
            raise OSError(number, os.strerror(number))

    for _ in range(2):
        with pytest.raises(StoreError, match="without hard links") as caught:
            DirectoryStore(tmp_path / "home", disk=NoLinks()).upload("packs/1", [b"x"])
        assert "local disk" in caught.value.hint
        assert list(DirectoryStore(tmp_path / "home").list("")) == []


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a home")
    for home in (tmp_path / "file", tmp_path / "file/below"):
        store = DirectoryStore(home)
        assert list(store.list("")) == []
        with pytest.raises(UsageError, match="is not a directory"):
            store.put("k", b"", if_generation=0)
    assert (tmp_path / "file").read_text() == "not a home"
