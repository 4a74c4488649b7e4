"""A file system that takes names for one that differ by case or by how a letter is composed, and keeps them as they were first written;
and has none that is not UTF-8.

A Mac's own does so, and few kernels of Linux can. Here it is between Python and the kernel: below a directory, each of Python's calls that
takes a path is given the name that is there in whatever spelling. Needs the standard library alone, so that a `sitecustomize` can have it.
"""

from __future__ import annotations

import builtins
import errno
import functools
import io
import os
from collections.abc import Callable
from typing import Any
from unicodedata import normalize

ONE_PATH = (
    "access", "chdir", "chmod", "chown", "lchown", "listdir", "lstat", "mkdir", "mkfifo", "open", "readlink", "remove", "rmdir", "scandir",
    "stat", "statvfs", "truncate", "unlink", "utime",
)  # fmt: skip
TWO_PATHS = ("link", "rename", "replace")
SUPPORTED = ("supports_dir_fd", "supports_fd", "supports_follow_symlinks", "supports_effective_ids")
"""Sets of functions, by which others ask what they may be given."""

Put = Callable[[Any, str, Any], None]


def folded(name: bytes) -> str:
    text = os.fsdecode(name)
    return normalize("NFD", normalize("NFD", text).casefold())


def _is_unicode(path: bytes) -> bool:
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True


class Names:
    """Where a path leads, by the names that are there."""

    def __init__(self, root: str) -> None:
        self.roots = tuple({os.fsencode(find(root)) + b"/" for find in (os.path.abspath, os.path.realpath)})
        self._lstat, self._listdir = os.lstat, os.listdir

    def found(self, path: Any, dir_fd: int | None = None) -> Any:
        if isinstance(path, int) or path is None:
            return path
        given = os.fspath(path)
        try:
            base = os.readlink(f"/proc/self/fd/{dir_fd}") if dir_fd is not None else os.getcwd()
        except OSError:
            return path
        whole = os.path.join(os.fsencode(base), os.fsencode(given))
        root = next((one for one in self.roots if whole.startswith(one)), None)
        if root is not None and not _is_unicode(whole):
            raise OSError(errno.EILSEQ, os.strerror(errno.EILSEQ), given)
        if root is None or self._is_there(whole):
            return path
        at = root.rstrip(b"/")
        for part in whole[len(root) :].split(b"/"):
            at = os.path.join(at, self._spelled(at, part))
        return os.fsdecode(at) if isinstance(given, str) else at

    def _spelled(self, directory: bytes, part: bytes) -> bytes:
        if part in (b"", b".", b"..") or self._is_there(os.path.join(directory, part)):
            return part
        try:
            names = self._listdir(directory)
        except OSError:
            return part
        return next((name for name in names if folded(name) == folded(part)), part)

    def _is_there(self, path: bytes) -> bool:
        try:
            self._lstat(path)
        except (OSError, ValueError):
            return False
        return True


def install(root: str, put: Put = setattr) -> None:
    """`put`: sets an attribute of a module."""
    names = Names(root)
    for name in ONE_PATH:
        _replace(name, _one(names, getattr(os, name)), put)
    for name in TWO_PATHS:
        _replace(name, _two(names, getattr(os, name)), put)
    _replace("symlink", _symlink(names, os.symlink), put)
    real = io.open

    @functools.wraps(real)
    def opened(file: Any, *args: Any, **options: Any) -> Any:
        return real(names.found(file), *args, **options)

    put(io, "open", opened)
    put(builtins, "open", opened)


def _replace(name: str, wrapper: Any, put: Put) -> None:
    real = getattr(os, name)
    for members in (getattr(os, one) for one in SUPPORTED):
        if real in members:
            members.add(wrapper)
    put(os, name, wrapper)


def _one(names: Names, real: Any) -> Any:
    @functools.wraps(real)
    def call(path: Any = ".", *args: Any, **options: Any) -> Any:
        return real(names.found(path, options.get("dir_fd")), *args, **options)

    return call


def _two(names: Names, real: Any) -> Any:
    @functools.wraps(real)
    def call(source: Any, target: Any, **options: Any) -> Any:
        source = names.found(source, options.get("src_dir_fd"))
        there = names.found(target, options.get("dst_dir_fd"))
        # The same under another spelling: a rename spells it anew.
        spelled = os.path.join(os.path.dirname(there), os.path.basename(target)) if there == source else there
        return real(source, spelled, **options)

    return call


def _symlink(names: Names, real: Any) -> Any:
    @functools.wraps(real)
    def call(text: Any, path: Any, *args: Any, **options: Any) -> Any:
        return real(text, names.found(path, options.get("dir_fd")), *args, **options)

    return call
