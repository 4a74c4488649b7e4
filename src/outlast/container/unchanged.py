"""Whether anything has changed since a build, by the stamps of all files that it may depend on: cheap, and on the safe side.

Whoever is not sure builds: a build of what has not changed pushes nothing, and takes a few times as long.
"""

from __future__ import annotations

import os
import stat

try:
    from _blake2 import (
        blake2b,
    )  # `hashlib` brings it with all of OpenSSL: a tenth of what a command takes that finds nothing changed
except ImportError:  # a Python that is made otherwise
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

COMMANDS = "commands"
"""Where it is kept what builds have depended on, beside the layers."""

FILES_MAX = 20_000
"""More are not looked at: then looking costs what it is to save."""

SETTLED_NS = 50_000_000
"""A file that was changed so lately might change once more within what its stamps can tell."""

SKIPPED = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
GIT_FILES = ("index", "HEAD", "config", "info/exclude")
VOLATILE = frozenset({"_", "SHLVL", "OLDPWD", "COLUMNS", "LINES"})
"""Variables that differ from one command of a shell to the next."""


Stamps = tuple[str, int]
"""(a digest of all stamps, the newest of them in nanoseconds)."""


def stamps_of(roots: Iterable[str], files: Iterable[str]) -> Stamps | None:
    """Of everything below the roots, and of single files, there or not. None: nobody can tell."""
    digest = blake2b(digest_size=32)
    newest = seen = 0
    waiting = [os.path.abspath(root) for root in roots]
    names = list(files)
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                found = sorted(entries, key=_name_of)
        except OSError:
            return None
        if any(entry.name == "pyvenv.cfg" for entry in found):
            names.append(os.path.join(directory, "pyvenv.cfg"))  # an environment: nothing in it is shipped
            continue
        lines = [f"{directory}\n"]
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                if entry.name == ".git":
                    names += (os.path.join(entry.path, name) for name in GIT_FILES)
                elif entry.name not in SKIPPED:
                    waiting.append(entry.path)
                continue
            seen += 1
            if seen > FILES_MAX or (entry.is_symlink() and entry.is_dir()):
                return None
            status = entry.stat()
            newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
            lines.append(_stamp(entry.name, status))
        digest.update("".join(lines).encode(errors="surrogateescape"))
    for name in names:
        line = f"{name} -\n"
        try:
            status = os.stat(name)
            if not stat.S_ISDIR(status.st_mode):
                newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
                line = _stamp(name, status)
        except OSError:
            pass  # that it is not there is what is noted
        digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest(), newest


def _name_of(entry: os.DirEntry[str]) -> str:
    return entry.name


def _stamp(name: str, status: os.stat_result) -> str:
    return f"{name} {status.st_mode} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}\n"


def command_key(arguments: Iterable[str], directory: str, environ: Mapping[str, str]) -> str:
    """Of a command line as it was typed, where, and with which variables."""
    parts = [directory, *arguments, ""]
    parts += [f"{name}={value}" for name, value in sorted(environ.items()) if name not in VOLATILE]
    return blake2b("\0".join(parts).encode(errors="surrogateescape"), digest_size=32).hexdigest()
