"""The files of a working directory as they were seen: each with the marks by which a change of its content is noticed."""

from __future__ import annotations

import os
import stat
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

from outlast.bundle.listing import EXECUTABLE, PLAIN, File
from outlast.dataclass import dataclass

Marks = tuple[int, int, int, int, int]
"""Times of content and status in nanoseconds, size, inode, mode: while none of them changes, the content does not."""

UNTRUSTED: Marks = (0, 0, 0, 0, 0)
"""Equal to no file's: the content must be read again."""

RACY_NANOSECONDS = 2_000_000_000
"""A file that changed so shortly before it was read may have changed once more since without a new time. FAT counts in two seconds."""


def marks_of(status: os.stat_result) -> Marks:
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode)


def lasting(marks: Marks, begun_ns: int) -> Marks:
    """The marks, if they can be relied on later. `begun_ns` is the kernel's time before anything was read; 0: unknown."""
    return marks if marks[1] < begun_ns - RACY_NANOSECONDS else UNTRUSTED


class Watch(NamedTuple):
    """A name that is not shipped as it is: a link, a pipe, a file that is not there. If it changes its kind, all is looked at anew."""

    path: bytes
    kind: int
    real: bytes
    """Where a link leads."""

    real_kind: int


def watch(path: bytes) -> Watch:
    kind = kind_of(path)
    if kind != stat.S_IFLNK:
        return Watch(path, kind, b"", 0)
    real = os.path.realpath(path)
    return Watch(path, kind, real, kind_of(real))


def kind_of(path: bytes) -> int:
    """As in a mode; 0 if there is nothing."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return 0


def mode_of(status_mode: int) -> str:
    return EXECUTABLE if status_mode & stat.S_IXUSR else PLAIN


@dataclass
class Tree:
    """Rows of several columns, in the order of the paths. A sha256 that is empty is not known yet."""

    paths: list[bytes] = field(default_factory=list)
    sources: list[bytes] = field(default_factory=list)
    """Absolute paths of where the content is read."""

    marks: list[Marks] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)
    sha256s: list[str] = field(default_factory=list)
    directories: list[bytes] = field(default_factory=list)
    """Absolute; each must stay a directory, or the paths below it lead elsewhere."""

    watches: list[Watch] = field(default_factory=list)
    rest: Callable[[Tree], None] | None = None
    """Fills in the columns that a glance does not need."""

    def complete(self) -> Tree:
        rest, self.rest = self.rest, None
        if rest is not None:
            rest(self)
        return self

    def rows(self) -> Iterator[tuple[bytes, str, int, str]]:
        """As `File`s, without making any."""
        return zip(self.paths, self.modes, self.sizes, self.sha256s, strict=True)

    def row_of(self, path: bytes) -> int | None:
        row = bisect_left(self.paths, path)
        return row if row < len(self.paths) and self.paths[row] == path else None

    def file(self, row: int) -> File:
        return File(self.paths[row], self.modes[row], self.sizes[row], self.sha256s[row])

    def files(self) -> dict[bytes, File]:
        return {row[0]: File(*row) for row in self.rows()}

    def drop(self, rows: Sequence[int]) -> None:
        for row in sorted(rows, reverse=True):
            for column in (self.paths, self.sources, self.marks, self.sizes, self.modes, self.sha256s):
                del column[row]

    def glance(self) -> list[int] | None:
        """The rows whose content may have changed; None if more than contents has changed, so that all must be looked at."""
        changed = []
        lstat, is_regular = os.lstat, stat.S_ISREG
        try:
            for directory in self.directories:
                if not stat.S_ISDIR(lstat(directory).st_mode):
                    return None
            for row, (source, marks) in enumerate(zip(self.sources, self.marks, strict=True)):
                now = lstat(source)
                # Written out: a call per file would cost a tenth of the whole.
                if (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino, now.st_mode) != marks:
                    if not is_regular(now.st_mode):
                        return None
                    changed.append(row)
        except OSError:
            return None
        if any(watch(one.path) != one for one in self.watches):
            return None
        return changed
