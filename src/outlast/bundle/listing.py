"""A bundle's listing: which files, how they are named for ever (the digest), and what may stand in one at all."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from outlast.pattern import pattern

FILES_MAX = 200_000
BYTES_MAX = 8 << 30
PATH_BYTES_MAX = 4000

PLAIN = "644"
EXECUTABLE = "755"
MODES = {PLAIN: 0o644, EXECUTABLE: 0o755}

EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
DIGEST_FORM = pattern(r"[0-9a-f]{64}")

_CANONICAL = pattern(
    rb"(?!/)(?:(?!\.{1,2}(?:/|\Z)|\.[gG][iI][tT](?:/|\Z))[^/\0\\]{1,255}(?:/(?!\Z)|\Z))+",
    re.DOTALL,
)
_NOT_CANONICAL = pattern(rb"(?:^|[/\0])(?:\.{0,2}|\.[gG][iI][tT])(?=[/\0]|\Z)|\\")


class File(NamedTuple):
    path: bytes
    """Relative and canonical, as the file system has it: not always text."""

    mode: str
    bytes: int
    sha256: str


class Place(NamedTuple):
    """Where a content lies in the home."""

    pack: str
    offset: int


def is_canonical(path: bytes) -> bool:
    """A relative path that means the same everywhere: no empty, `.` or `..` segment, no NUL, no backslash, no `.git`."""
    return len(path) <= PATH_BYTES_MAX and _CANONICAL.fullmatch(path) is not None


def all_canonical(paths: Sequence[bytes]) -> bool:
    """The same for many, as they come from a file system, which has limits of its own for lengths."""
    joined = b"\0".join(paths)
    return not paths or (joined.count(b"\0") == len(paths) - 1 and _NOT_CANONICAL.search(joined) is None)


def digest_of(files: Iterable[tuple[bytes, str, int, str]]) -> str:
    """Of the whole listing in the order of its paths, so that equal directories have equal digests however they are stored."""
    lines = [b"%s %d %s %s\0" % (mode.encode(), size, sha256.encode(), path) for path, mode, size, sha256 in files]
    return hashlib.sha256(b"outlast bundle 1\n" + b"".join(lines)).hexdigest()


def problem_of(files: Mapping[bytes, File]) -> str:
    """Why what somebody wrote cannot be a listing; empty if it can."""
    sizes: dict[str, int] = {}
    for path, file in files.items():
        if not is_canonical(path):
            return f"it lists {path[:80]!r}, which is no path inside a directory"
        if file.mode not in MODES or not DIGEST_FORM.fullmatch(file.sha256) or file.bytes < 0:
            return f"mode, size or sha256 of {path[:80]!r} cannot be"
        if (file.bytes == 0) != (file.sha256 == EMPTY_SHA256):
            return f"size and sha256 of {path[:80]!r} do not go together"
        if sizes.setdefault(file.sha256, file.bytes) != file.bytes:
            return f"{path[:80]!r} has the sha256 of a file of another size"
    return excess_of(files)


def excess_of(files: Mapping[bytes, File]) -> str:
    """Why these files are too many, too large or in each other's way; empty if they are not."""
    if len(files) > FILES_MAX:
        return f"{len(files):,} files are above the limit of {FILES_MAX:,}"
    total_bytes = sum(file.bytes for file in files.values())
    if total_bytes > BYTES_MAX:
        return f"{total_bytes:,} bytes are above the limit of {BYTES_MAX:,}"
    for directory in directories_of(files):
        if directory in files:
            return f"{directory[:80]!r} is both a file and a directory"
    return ""


def directories_of(paths: Iterable[bytes]) -> list[bytes]:
    """All directories above the paths, each after the one that it lies in."""
    found: set[bytes] = set()
    for path in paths:
        parent = path.rpartition(b"/")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition(b"/")[0]
    return sorted(found)
