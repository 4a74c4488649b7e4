"""A directory as a store: no locks, no server, safe against writers that stop at any moment and wake up later.

An object that is written with conditions is a row of generations (`generations.py`): a write links a complete file to the
next number, which fails if the number is taken. An object that is written without condition is one file, renamed into place,
which a person can open.

A network file system must show new names at once: mount NFS with `lookupcache=none` or `positive`. Where a file system folds
case (macOS), two keys that differ in nothing else are one.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from outlast.clock import SYSTEM, Clock
from outlast.errors import Damaged, KeyMissing, PreconditionFailed
from outlast.pattern import pattern
from outlast.store.directories import Directories
from outlast.store.disk import Disk, is_regular, open_file, read_file, size_of, status_of, translated
from outlast.store.files import ChunksFailed, Files, Staged
from outlast.store.generations import DELETED, END, Generations, listed
from outlast.store.one_by_one import OneByOne, Watched, unwatched
from outlast.store.paths import DISPLACED, MARK, path_of
from outlast.store.store import CHUNK_BYTES, Entry, Stored, Upload
from outlast.store.walk import walk

_CREATED = pattern(r"[A-Za-z0-9_-]{1,100}~1")
"""A name that is its own segment, in its first generation."""


TOGETHER_MAX = 16
TOGETHER_BYTES_MAX = 8 << 20
"""So many uploads of many are made durable and put in place at once; whoever is killed loses no more of them."""


class DirectoryStore(OneByOne):
    poll_seconds: float = 0.05
    rewrite_seconds: float = 0.0

    def __init__(
        self, root: str | os.PathLike[str], *, made: bool = False, clock: Clock = SYSTEM, disk: Disk | None = None
    ) -> None:
        """`made`: see `registry.open_store`."""
        self._root = os.path.abspath(root)
        self.url = self._root
        self._clock = clock
        disk = disk or Disk()
        self._directories = Directories(self._root, disk, made=made)
        self._files = Files(self._root, clock, disk, self._directories)
        self._generations = Generations(self._files, self._directories)
        self._writes = itertools.count()

    def get(self, key: str) -> Stored:
        found = self._find(key)
        if found is None and self._directories.made:
            # It may have been missed because its file system was away, and is back: one that is there is asked once more.
            self._check_there()
            found = self._find(key)
            self._check_there()
        if found is None:
            raise KeyMissing(key)
        self._directories.made = True
        return found

    def _find(self, key: str) -> Stored | None:
        path, there = self._reach(key)
        if not there:
            return None
        try:
            raw, generation = self._generations.read(path)
            if generation == 0 and (plain := read_file(path) or read_file(path + DISPLACED)) is not None:
                return Stored(plain[0], plain[1].st_mtime_ns)
        except OSError as error:
            raise translated(error, "read", path) from error
        if raw == DELETED:
            return None
        if not raw.endswith(END):
            raise Damaged(
                f"`{path}{MARK}{generation}` is not what was written: its end is missing",
                hint="something else than outlast has changed this home, or it was copied incompletely",
            )
        return Stored(raw[: -len(END)], generation)

    def download(self, key: str) -> Iterator[bytes]:
        path = self._path(key)
        try:
            file = open_file(path)
            if file is None:
                file = open_file(path + DISPLACED)
            if file is None:
                data = self.get(key).data
                for offset in range(0, len(data), CHUNK_BYTES):
                    yield data[offset : offset + CHUNK_BYTES]
                return
            try:
                while chunk := os.read(file, CHUNK_BYTES):
                    yield chunk
            finally:
                os.close(file)
        except OSError as error:
            raise translated(error, "read", path) from error

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Iterator[Entry]:
        return itertools.islice(self._list(prefix, after), limit)

    def names_written_once(self, prefix: str) -> Sequence[str]:
        """As `list`, for keys right below `prefix` (which ends in `/`) that are created once and purged: without looking into each."""
        names: list[str] = []
        try:
            found = os.listdir(f"{self._root}/{path_of(prefix[:-1])}")
        except (FileNotFoundError, NotADirectoryError):
            self._check_there()
            return names
        except OSError as error:
            raise translated(error, "list", f"{self._root}/{prefix}") from error
        for name in found:
            if _CREATED.fullmatch(name):
                names.append(prefix + name[:-2])
            else:
                return [entry.key for entry in self.list(prefix)]  # something else has happened here
        names.sort()
        return names

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        path = self._path(key)
        try:
            if if_generation is None:
                return self._replace(key, path, (data,))[1]
            return self._append(key, path, if_generation, data + END)
        except OSError as error:
            raise translated(error, "write", path) from error

    def create_many(self, objects: Sequence[tuple[str, bytes]]) -> Sequence[bool]:
        """Seen and durable together: they wait as long as one of them."""
        made = [False] * len(objects)
        new: list[tuple[str, int, bytes]] = []
        numbers: list[int] = []
        path = self._root
        try:
            for number, (key, data) in enumerate(objects):
                path, there = self._reach(key)
                base = self._base(key, path, 0) if there else 0
                if base is not None:
                    new.append((path, base, data + END))
                    numbers.append(number)
            for number, done in zip(numbers, self._generations.append_many(new), strict=True):
                made[number] = done
        except OSError as error:
            raise translated(error, "write", path) from error
        return made

    def upload(self, key: str, chunks: Iterable[bytes]) -> int:
        path = self._path(key)
        try:
            return self._replace(key, path, chunks)[0]
        except ChunksFailed as failed:
            raise failed.error from None
        except OSError as error:
            raise translated(error, "write", path) from error

    def upload_many(self, uploads: Iterable[Upload], between: Callable[[int], None] = unwatched) -> None:
        """Small ones are made durable and seen a few at a time: together they wait as long as one of them."""
        watched = Watched(between)
        staged: list[Staged] = []
        path = self._root
        try:
            for upload in uploads:
                path = self._path(upload.key)
                staged.append(self._files.stage(watched.chunks(upload), self._stamp(upload.key, path), path))
                if len(staged) == TOGETHER_MAX or sum(one.bytes for one in staged) >= TOGETHER_BYTES_MAX:
                    self._files.place(staged)
            self._files.place(staged)
        except ChunksFailed as failed:
            raise failed.error from None
        except OSError as error:
            raise translated(error, "write", path) from error
        finally:
            # Where many end in the middle, those that are whole need not be sent again; nothing stays staged.
            with suppress(OSError):
                self._files.place(staged)

    def delete(self, key: str, *, if_generation: int | None = None) -> None:
        path = self._path(key)
        try:
            if if_generation == 0:
                raise PreconditionFailed(key)
            if if_generation is not None:
                self._append(key, path, if_generation, DELETED)
            elif self._files.remove(path):
                self._directories.sync(os.path.dirname(path))
            else:
                self._generations.bury(path)
            self._check_there()
        except OSError as error:
            raise translated(error, "delete", path) from error

    def purge(self, keys: Iterable[str]) -> None:
        directories: dict[str, None] = {}
        for key in keys:
            path = self._path(key)
            try:
                if not self._files.purge(path):
                    self._generations.purge(path)
            except OSError as error:
                raise translated(error, "delete", path) from error
            directories[os.path.dirname(path)] = None
        for directory in directories:
            self._directories.sync(directory)
        self._directories.prune(directories)
        self._check_there()

    def now(self) -> float:
        return self._clock.now()

    def _append(self, key: str, path: str, if_generation: int, raw: bytes) -> int:
        base = self._base(key, path, if_generation)
        if base is None or not self._generations.append(path, base, raw):
            raise PreconditionFailed(key)
        return base + 1

    def _base(self, key: str, path: str, if_generation: int) -> int | None:
        """The generation to write upon; None: this cannot succeed."""
        base = self._generations.base(path, if_generation)
        if not base and (is_regular(path) or is_regular(path + DISPLACED)):
            raise ValueError(f"key {key!r} was written without a condition before")
        return base

    def _replace(self, key: str, path: str, chunks: Iterable[bytes]) -> tuple[int, int]:
        """(bytes, generation). The generation is the file's time, made unique in this process by its last three digits."""
        return self._files.replace(chunks, path, self._stamp(key, path))

    def _stamp(self, key: str, path: str) -> int:
        if size_of(f"{path}{MARK}1") is not None:
            raise ValueError(f"key {key!r} was written with a condition before")
        return int(self._clock.now() * 1_000_000) * 1000 + next(self._writes) % 999 + 1  # never 0

    def _list(self, prefix: str, after: str) -> Iterator[Entry]:
        try:
            _, there = self._reach(f"{prefix.rpartition('/')[0]}/x".lstrip("/"))
        except ValueError:
            return  # no key begins like this
        try:
            for key, seen in walk(self._root, prefix, after) if there else ():
                entry = _entry(key, self._path(key), seen)
                if entry is not None:
                    yield entry
            self._check_there()
        except OSError as error:
            raise translated(error, "list", f"{self._root}/{prefix}") from error

    def _check_there(self) -> None:
        try:
            self._directories.check_there()
        except OSError as error:
            raise translated(error, "reach", self._root) from error

    def _path(self, key: str) -> str:
        return self._reach(key)[0]

    def _reach(self, key: str) -> tuple[str, bool]:
        """Its path, and whether all directories above it are there."""
        path = f"{self._root}/{path_of(key)}"
        try:
            return path, self._directories.check_way(path)
        except OSError as error:
            raise translated(error, "reach", path) from error


def _entry(key: str, path: str, seen: int) -> Entry | None:
    if seen:
        found = listed(path, seen)
        return None if found is None else Entry(key, *found)
    for name in (path, path + DISPLACED):
        status = status_of(name)
        if status is not None and stat.S_ISREG(status.st_mode):
            return Entry(key, status.st_mtime_ns, status.st_size)
    return None
