"""The files of a dataset's directory in the order of their paths, one at a time, and what is no file of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from outlast.bundle.dataset.listing import DIRECTORY, is_legal
from outlast.bundle.look import KINDS, LINK_AROUND, LINK_TO_NOTHING
from outlast.bundle.rules import CREDENTIAL, REPOSITORY, why_never
from outlast.bundle.tree import UNTRUSTED, Marks, marks_of, mode_of
from outlast.errors import Denied, OutlastError, UsageError

DEPTH_MAX = 100

LINK_OUTSIDE = "a link to outside of the dataset"
LINK_TWICE = "a link to a directory, behind another one"

LeaveOut = Callable[[bytes, str], None]
"""Told the path and why."""


class Entry(NamedTuple):
    path: bytes
    source: bytes
    """Where the content is: elsewhere in the dataset if it is a link."""

    mode: str
    marks: Marks


class Walk:
    """What is not yielded is told to `leave_out`. A directory that changes while it is walked is an error."""

    def __init__(self, root: bytes, leave_out: LeaveOut) -> None:
        self._root = root
        self._leave_out = leave_out

    def __iter__(self) -> Iterator[Entry]:
        return self._enter(b"", self._root, 0, linked=False)

    def _enter(self, base: bytes, source: bytes, depth: int, *, linked: bool) -> Iterator[Entry]:
        before = _status(source, base)
        names = _names(source, base)
        if base and not names:
            yield Entry(base[:-1], source, DIRECTORY, UNTRUSTED)
        # A directory's place in the order is that of its name with a slash.
        for name, status in _ordered(source, base, names):
            path = base + name
            kind = stat.S_IFMT(status.st_mode)
            why = why_never(path + b"/" if kind == stat.S_IFDIR else path)
            if not is_legal(path):
                raise UsageError(f"{path[:120]!r} cannot be in a dataset: its path is too long", hint="shorten it")
            if why in (CREDENTIAL, REPOSITORY):
                self._leave_out(path, why)
            elif kind == stat.S_IFREG:
                yield Entry(path, source + b"/" + name, mode_of(status.st_mode), marks_of(status))
            elif kind == stat.S_IFDIR:
                yield from self._below(path, source + b"/" + name, depth, linked=linked)
            elif kind == stat.S_IFLNK:
                yield from self._follow(path, source + b"/" + name, depth, linked=linked)
            else:
                self._leave_out(path, KINDS.get(kind, "no file"))
        after = _status(source, base)
        if (before.st_mtime_ns, before.st_ino) != (after.st_mtime_ns, after.st_ino):
            raise changed(base or b".")

    def _below(self, path: bytes, source: bytes, depth: int, *, linked: bool) -> Iterator[Entry]:
        if depth >= DEPTH_MAX:
            raise UsageError(f"`{os.fsdecode(path)[:120]}` lies {DEPTH_MAX} directories deep", hint="flatten it")
        yield from self._enter(path + b"/", source, depth + 1, linked=linked)

    def _follow(self, path: bytes, source: bytes, depth: int, *, linked: bool) -> Iterator[Entry]:
        """A link to somewhere else in the dataset is what it leads to; links inside of a linked directory lead to files only."""
        real = os.path.realpath(source)
        root = os.path.realpath(self._root)
        try:
            status = os.lstat(real)
        except (OSError, ValueError):
            self._leave_out(path, LINK_TO_NOTHING)
            return
        if not (real + b"/").startswith(root + b"/"):
            self._leave_out(path, LINK_OUTSIDE)
        elif why_never(real[len(root) + 1 :]) in (CREDENTIAL, REPOSITORY):
            self._leave_out(path, CREDENTIAL)
        elif stat.S_ISREG(status.st_mode):
            yield Entry(path, real, mode_of(status.st_mode), marks_of(status))
        elif not stat.S_ISDIR(status.st_mode):
            self._leave_out(path, LINK_TO_NOTHING)
        elif linked or (os.path.realpath(os.path.dirname(source)) + b"/").startswith(real + b"/"):
            self._leave_out(path, LINK_TWICE if linked else LINK_AROUND)
        else:
            yield from self._below(path, real, depth, linked=True)


def changed(path: bytes) -> OutlastError:
    return OutlastError(
        f"`{os.fsdecode(path)[:200]}` changed while the dataset was read",
        state="nothing was named or submitted; what was uploaded is not uploaded again",
        hint="stop what writes it, and try again",
    )


def _status(source: bytes, base: bytes) -> os.stat_result:
    try:
        return os.stat(source)
    except FileNotFoundError:
        raise changed(base or b".") from None
    except OSError as error:
        raise _denied(source, error) from error


def _names(source: bytes, base: bytes) -> list[bytes]:
    try:
        return os.listdir(source)
    except (FileNotFoundError, NotADirectoryError):
        raise changed(base or b".") from None
    except OSError as error:
        raise _denied(source, error) from error


def _ordered(source: bytes, base: bytes, names: list[bytes]) -> Iterator[tuple[bytes, os.stat_result]]:
    """By the bytes of whole paths: `a.txt`, `a/b`, `a0`."""
    names.sort()
    waiting: list[tuple[bytes, bytes, os.stat_result]] = []
    for name in names:
        while waiting and waiting[0][0] < name:
            yield waiting.pop(0)[1:]
        try:
            status = os.lstat(source + b"/" + name)
        except FileNotFoundError:
            raise changed(base + name) from None
        except OSError as error:
            raise _denied(source + b"/" + name, error) from error
        if _is_directory(source + b"/" + name, status):
            waiting.append((name + b"/", name, status))
            waiting.sort(key=lambda one: one[0])
        else:
            yield name, status
    for _, name, status in waiting:
        yield name, status


def _is_directory(path: bytes, status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode) or (stat.S_ISLNK(status.st_mode) and os.path.isdir(path))


def _denied(path: bytes, error: OSError) -> Denied:
    shown = os.fsdecode(path)
    return Denied(f"`{shown[:200]}` cannot be read: {error.strerror}", hint=f"`ls -ld {shown[:200]}`")
