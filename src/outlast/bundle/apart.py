"""What lies in a directory and is not shipped with it: our own places, secrets, and what reaches the machine in another way."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


class Apart:
    """Names below one root, of files and directories; a directory stands for all that is in it.

    A path that is no absolute one, or lies outside of the root, has no name there; nor has the root itself.
    """

    def __init__(self, root: str | bytes | Path, paths: Iterable[Path]) -> None:
        self.names = sorted({name for path in paths for name in _names(os.path.abspath(os.fsdecode(root)), path)})
        self._exactly = frozenset(self.names)
        self._below = tuple(name + b"/" for name in self.names)

    def __contains__(self, name: bytes) -> bool:
        return name in self._exactly or name.startswith(self._below)


def _names(root: str, path: Path) -> Iterable[bytes]:
    """By the path as it was given, since a link is a name too, and by where it leads."""
    if not path.is_absolute():
        return
    for above, below in ((root, os.path.abspath(path)), (os.path.realpath(root), os.path.realpath(path))):
        inside = os.path.relpath(below, above)
        if inside != os.curdir and inside.split("/", 1)[0] != os.pardir:
            yield os.fsencode(inside)
