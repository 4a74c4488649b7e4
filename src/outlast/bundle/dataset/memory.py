"""What a push has seen, row by row in the user's cache: only ever a shortcut. Missing, damaged or foreign, it is as if there were none.

One line for each row in the order of the paths, so that a walk and a memory of a million files are compared without holding either.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from outlast.bundle.dataset.listing import Piece
from outlast.bundle.dataset.walk import Entry
from outlast.bundle.tree import RACY_NANOSECONDS, Marks
from outlast.dataclass import dataclass

MAGIC = "outlast dataset cache 1"
KEPT_MAX = 64
"""How many directories are remembered."""

READ_BYTES = 1 << 20


class Known(NamedTuple):
    path: bytes
    mode: str
    marks: Marks
    trusted: bool
    """False: the file was so new when it was read that it may have changed since without a new time."""

    pieces: tuple[Piece, ...] | None
    """None: it is a credential by its content, and was left out."""

    def fits(self, entry: Entry) -> bool:
        return (self.path, self.mode, self.marks) == (entry.path, entry.mode, entry.marks)


@dataclass(frozen=True)
class Head:
    home: str
    digest: str
    prune: int
    files: int
    bytes: int


class Memory:
    """One file for each path that was ever pushed."""

    def __init__(self, cache: Path, path: Path) -> None:
        self._folder = cache / "pushes"
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._path = self._folder / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
        self.begun_ns = self._kernel_now_ns()

    def head(self) -> Head | None:
        """None: nothing is remembered. The whole file is checked, without being held."""
        try:
            with open(self._path, "rb") as file:
                sha256 = bytes.fromhex(file.readline(80).decode("ascii").strip())
                check = hashlib.sha256()
                at = file.tell()
                while data := file.read(READ_BYTES):
                    check.update(data)
                if check.digest() != sha256:
                    return None
                file.seek(at)
                magic, *values = json.loads(file.readline())
                return Head(*values) if magic == MAGIC else None
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    def rows(self) -> Iterator[Known]:
        """Of a memory whose head was read."""
        yield from read_rows(self._path, lines=2)

    def writer(self) -> Writer:
        return Writer(self._folder / f".rows-{self._path.name}-{os.getpid()}", self.begun_ns)

    def keep(self, writer: Writer, head: Head) -> None:
        """Without a sync: what a power cut damages is seen by its checksum. Where there is no room, nothing is remembered."""
        temporary = self._folder / f".{self._path.name}-{os.getpid()}"
        first = json.dumps([MAGIC, *vars(head).values()]).encode() + b"\n"
        try:
            check = hashlib.sha256(first)
            with open(writer.path, "rb") as rows:
                while data := rows.read(READ_BYTES):
                    check.update(data)
                rows.seek(0)
                with open(temporary, "xb", opener=_private) as file:
                    file.write(check.hexdigest().encode() + b"\n" + first)
                    while data := rows.read(READ_BYTES):
                        file.write(data)
            temporary.replace(self._path)
            self._forget_oldest()
        except OSError:
            temporary.unlink(missing_ok=True)

    def _forget_oldest(self) -> None:
        kept = sorted(
            (path for path in self._folder.iterdir() if not path.name.startswith(".")),
            key=lambda one: one.stat().st_mtime_ns,
        )
        for path in kept[:-KEPT_MAX]:
            path.unlink(missing_ok=True)

    def _kernel_now_ns(self) -> int:
        """The time that a file written now gets: to be compared with other files' times, whatever any clock says."""
        path = self._folder / f".now-{os.getpid()}"
        path.write_bytes(b"")
        now_ns = path.stat().st_ctime_ns
        path.unlink()
        return now_ns


class Writer:
    """The rows of the push that is under way."""

    def __init__(self, path: Path, begun_ns: int) -> None:
        self.path = path
        self._begun_ns = begun_ns
        path.unlink(missing_ok=True)
        self._file = open(path, "x", encoding="utf-8", errors="surrogateescape", opener=_private)  # noqa: SIM115
        self._pack = ""

    def add(self, entry: Entry, pieces: tuple[Piece, ...] | None) -> None:
        """A pack is named when it is another than before."""
        trusted = entry.marks[1] < self._begun_ns - RACY_NANOSECONDS
        places: list[tuple[str, int, str, int]] | None = None if pieces is None else []
        for sha256, size, pack, offset in pieces or ():
            assert places is not None
            places.append((sha256, size, pack if pack != self._pack else "", offset))
            self._pack = pack
        path = entry.path.decode("utf-8", "surrogateescape")
        self._file.write(
            json.dumps((path, entry.mode, *entry.marks, int(trusted), places), separators=(",", ":")) + "\n"
        )

    def rows(self) -> Iterator[Known]:
        self._file.flush()
        yield from read_rows(self.path, lines=0)

    def close(self) -> None:
        self._file.close()

    def discard(self) -> None:
        self._file.close()
        self.path.unlink(missing_ok=True)


def read_rows(path: Path, lines: int) -> Iterator[Known]:
    """`lines`: how many stand before the rows."""
    current = ""
    decode = json.JSONDecoder().decode
    with open(path, "rb") as file:
        for _ in range(lines):
            file.readline()
        for line in file:
            name, mode, mtime, ctime, size, inode, status, trusted, places = decode(line.decode())
            pieces = []
            for sha256, count, pack, offset in places or ():
                current = pack or current
                pieces.append(Piece(sha256, count, current, offset))
            marks = (mtime, ctime, size, inode, status)
            yield Known(
                name.encode("utf-8", "surrogateescape"),
                mode,
                marks,
                bool(trusted),
                None if places is None else tuple(pieces),
            )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
