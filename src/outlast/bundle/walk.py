"""The files of a directory that git does not look after."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from outlast.bundle.apart import Apart
from outlast.bundle.ignore import Ignore, Ignores
from outlast.bundle.rules import why_never
from outlast.errors import Denied, UsageError

IGNORE_BYTES_MAX = 1 << 20
DEPTH_MAX = 100
ENTRIES_MAX = 1_000_000
"""A walk that meets more was begun in the wrong place, in `/` perhaps."""

BY_GITIGNORE = "ignored by `.gitignore`"
BY_OUTLASTIGNORE = "listed in `.outlastignore`"

_ENVIRONMENT_MARKS = frozenset({b"pyvenv.cfg", b"conda-meta"})


class Walk:
    """`names`: paths below the root, links and oddities among them. `skipped`: what ignore files left out, directories as one.

    What never travels is passed over. Directories are not followed through links. One that cannot be read is an error.
    """

    def __init__(self, root: Path, ours: Ignores, *, honour_gitignore: bool = True, apart: Apart | None = None) -> None:
        """`apart`: what is passed over; its directories are not looked into."""
        self._apart = apart or Apart(root, ())
        self.names: list[bytes] = []
        self.skipped: list[tuple[bytes, str]] = []
        self._root = os.fsencode(root)
        self._ours = ours
        self._honour_gitignore = honour_gitignore
        self._entries_seen = 0
        self._enter(b"", [], 0)

    def _enter(self, base: bytes, above: list[Ignore], depth: int) -> None:
        entries = self._entries(base)
        names = {entry.name for entry in entries}
        if base and names & _ENVIRONMENT_MARKS:
            return
        files = above
        if self._honour_gitignore and b".gitignore" in names:
            files = [*above, Ignore(read_ignore_file(os.path.join(self._root, base, b".gitignore")), base)]
        gits = Ignores(files)
        for entry in entries:
            path = base + entry.name
            is_directory = entry.is_dir(follow_symlinks=False)
            if path in self._apart or (is_directory and why_never(path + b"/")):
                continue
            if gits.decides(path, is_directory):
                self.skipped.append((path, BY_GITIGNORE))
            elif self._ours.decides(path, is_directory):
                self.skipped.append((path, BY_OUTLASTIGNORE))
            elif not is_directory:
                self.names.append(path)
            elif depth < DEPTH_MAX:
                self._enter(path + b"/", files, depth + 1)

    def _entries(self, base: bytes) -> list[os.DirEntry[bytes]]:
        path = os.path.join(self._root, base)
        try:
            with os.scandir(path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except FileNotFoundError:
            return []
        except OSError as error:
            shown = os.fsdecode(path)
            raise Denied(
                f"`{shown}` cannot be read: {error.strerror}", hint="`chmod u+rx` it, or list it in `.outlastignore`"
            ) from error
        self._entries_seen += len(entries)
        if self._entries_seen > ENTRIES_MAX:
            raise UsageError(
                f"`{os.fsdecode(self._root)}` holds more than {ENTRIES_MAX:,} files",
                hint="stand in the project's own directory, or list its data in `.outlastignore`",
            )
        return entries


def read_ignore_file(path: bytes) -> bytes:
    """The text of a file of patterns; empty if there is no such regular file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, IGNORE_BYTES_MAX) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(handle)
