"""From a dataset in the home to a fresh directory, by rules of our own: whoever wrote the home, nothing is written elsewhere.

Every directory is made and every file created here, in the order of the paths, so that no link can lead anything astray. A content counts
when its sha256 is right, the whole when its digest is. So many rows of the listing are in memory at a time, and one content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from outlast.bundle.dataset.listing import DIRECTORY, Digest, Row
from outlast.bundle.dataset.record import DatasetRecord, read_record, read_shards
from outlast.bundle.listing import EXECUTABLE
from outlast.bundle.unpack import PackGone, open_pack, write_pieces
from outlast.errors import Damaged, OutlastError
from outlast.folder import layout
from outlast.host.files import NO_NAME, remove_tree
from outlast.spec.durable import make_durable
from outlast.store.store import Store

FILE_MODE = 0o400
EXECUTABLE_MODE = 0o500
DIRECTORY_MODE = 0o500
FILLED_MODE = 0o600
"""Of what is being filled, or was left by somebody who died: nobody may take it for whole."""

SYNCED_FILES_MAX = 1000
"""More are not synced one by one, but all at once."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class Target(NamedTuple):
    path: bytes
    at: int


class Wanted(NamedTuple):
    """A content of a pack, and where it goes."""

    offset: int
    bytes: int
    sha256: str
    targets: list[Target]


def unpack(store: Store, record: DatasetRecord, to: Path) -> None:
    """`to` is not there yet. Read-only and durable when this returns; after an error, throw it away."""
    while True:
        try:
            _unpack(store, record, to)
        except PackGone as gone:
            # A prune and another push may have given the same dataset other packs since its record was read.
            again = read_record(store, record.digest)
            if again == record:
                raise Damaged(f"`{gone.key}` is gone from `{store.url}`", hint="push the dataset again") from None
            record = again
            remove_tree(to)
        else:
            return


def _unpack(store: Store, record: DatasetRecord, to: Path) -> None:
    os.mkdir(to, 0o700)
    root = os.fsencode(to)
    digest = Digest(record.file)
    directories = Directories(root)
    last = b""
    for rows in read_shards(store, record):
        for row in rows:
            if row.path <= last:
                raise _damaged(record, f"{row.path[:80]!r} is not in order")
            last = row.path
            digest.add(row)
            directories.make(row.path if row.mode == DIRECTORY else os.path.dirname(row.path))
        files = [row for row in rows if row.mode != DIRECTORY]
        for row in files:
            _create(root, row)
        for pack, contents in _by_pack(files).items():
            _unpack_pack(store, pack, contents, root)
        for row in files:
            os.chmod(os.path.join(root, row.path), EXECUTABLE_MODE if row.mode == EXECUTABLE else FILE_MODE)
    if digest.finish() != record.digest:
        raise _damaged(record, "its files do not have the digest in its name")
    seal(root, record.files)


class Directories:
    """Those on the way to the path at hand. In the order of the paths, what was left is never met again."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._current: list[bytes] = []

    def make(self, path: bytes) -> None:
        wanted = path.split(b"/") if path else []
        same = 0
        while same < min(len(wanted), len(self._current)) and wanted[same] == self._current[same]:
            same += 1
        for count in range(same + 1, len(wanted) + 1):
            try:
                os.mkdir(os.path.join(self._root, *wanted[:count]), 0o700)
            except OSError as error:
                raise _no_place(error, b"/".join(wanted[:count])) from None
        self._current = wanted


def _create(root: bytes, row: Row) -> None:
    try:
        os.close(os.open(os.path.join(root, row.path), _CREATE, FILLED_MODE))
    except OSError as error:
        raise _no_place(error, row.path) from None


def _by_pack(rows: list[Row]) -> dict[str, list[Wanted]]:
    """The contents of each pack in the order in which they lie there, so that a pack is read once."""
    packs: dict[str, dict[str, Wanted]] = {}
    for row in rows:
        at = 0
        for sha256, size, pack, offset in row.pieces:
            wanted = packs.setdefault(pack, {}).setdefault(sha256, Wanted(offset, size, sha256, []))
            wanted.targets.append(Target(row.path, at))
            at += size
    return {pack: sorted(contents.values()) for pack, contents in packs.items()}


def _unpack_pack(store: Store, pack: str, contents: list[Wanted], root: bytes) -> None:
    stream = open_pack(store, pack)
    for offset, size, sha256, targets in contents:
        stream.skip_to(offset)
        first, *others = targets
        if not others:
            _write(root, first, stream.pieces(size, sha256, first.path))
            continue
        data = b"".join(stream.pieces(size, sha256, first.path))
        for target in targets:
            _write(root, target, iter((data,)))


def _write(root: bytes, target: Target, pieces: Iterator[memoryview] | Iterator[bytes]) -> None:
    handle = os.open(os.path.join(root, target.path), _OPEN)
    try:
        if target.at:
            os.lseek(handle, target.at, os.SEEK_SET)
        write_pieces(handle, pieces)
    finally:
        os.close(handle)


def seal(root: bytes, files: int) -> None:
    """Read-only, and on disk: a power cut after it has its final name must not leave empty files under that name."""
    if files > SYNCED_FILES_MAX:
        os.sync()
    for directory, _, names in os.walk(root, topdown=False):
        for name in names if files <= SYNCED_FILES_MAX else ():
            _sync(os.path.join(directory, name))
        os.chmod(directory, DIRECTORY_MODE)
        _sync(directory)


def _sync(path: bytes) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        make_durable(handle)
    finally:
        os.close(handle)


def _no_place(error: OSError, path: bytes) -> Exception:
    """What it means that something cannot be made there, if that is a matter of names."""
    if isinstance(error, FileExistsError):
        return Damaged(
            f"`{os.fsdecode(path)}` is there already: this file system takes two names of the dataset for one, or it is damaged",
            hint="rename one of the files, and push again",
        )
    if error.errno in NO_NAME:
        return OutlastError(
            f"`{os.fsdecode(path)}` is in the dataset, and this file system has no such name",
            hint="rename it, and push again",
        )
    return error


def _damaged(record: DatasetRecord, what: str) -> Damaged:
    return Damaged(f"`{layout.dataset(record.digest)}` is damaged: {what}", hint="push the dataset again")
