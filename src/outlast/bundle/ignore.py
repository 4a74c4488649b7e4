"""Which paths a file in gitignore syntax leaves out. Paths are bytes, as the file system has them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from outlast.dataclass import dataclass
from outlast.pattern import pattern

PATTERN_BYTES_MAX = 4096
"""A longer line is no pattern but an accident; it matches nothing."""

_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": rb"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t\n\r\x0b\x0c",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
_SPECIAL = pattern(rb"[*?[\\]")
_CLASS = pattern(rb"\[:([^\]]*):\]")


@dataclass(frozen=True)
class Pattern:
    regex: re.Pattern[bytes]
    negated: bool
    directories_only: bool
    anchored: bool
    """Matched against the whole path below the file's directory; otherwise against the last segment alone."""


class Ignore:
    """The patterns of one file, which speaks of paths below `base` (empty, or ending in `/`)."""

    def __init__(self, text: bytes, base: bytes = b"") -> None:
        self.base = base
        self.patterns = [pattern for line in _lines(text) if (pattern := _pattern(line)) is not None]

    def decides(self, path: bytes, is_directory: bool) -> bool | None:
        """Left out, kept, or nothing said: the last pattern that matches decides. The path's parents are the caller's affair."""
        inside = path[len(self.base) :]
        name = inside.rpartition(b"/")[2]
        for rule in reversed(self.patterns):
            if rule.directories_only and not is_directory:
                continue
            if rule.regex.fullmatch(inside if rule.anchored else name):
                return not rule.negated
        return None


class Ignores:
    """Several files, the later ones stronger; what lies in a directory that is left out is left out whatever else is said."""

    def __init__(self, files: Iterable[Ignore]) -> None:
        self.files = [file for file in files if file.patterns]
        self._directories: dict[bytes, bytes] = {b"": b""}

    def leaves_out(self, path: bytes) -> bool:
        """For a file, whose parents are looked at too."""
        return bool(self.files) and (bool(self.left_out_parent(path)) or self.decides(path, False))

    def decides(self, path: bytes, is_directory: bool) -> bool:
        for file in reversed(self.files):
            if path.startswith(file.base):
                decided = file.decides(path, is_directory)
                if decided is not None:
                    return decided
        return False

    def left_out_parent(self, path: bytes) -> bytes:
        """The outermost directory above the path that is left out, or nothing."""
        parent = path.rpartition(b"/")[0]
        if parent not in self._directories:
            self._directories[parent] = self.left_out_parent(parent) or (parent if self.decides(parent, True) else b"")
        return self._directories[parent]


def _lines(text: bytes) -> Iterable[bytes]:
    for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        yield line.removesuffix(b"\r")


def _pattern(line: bytes) -> Pattern | None:
    line = _without_trailing_spaces(line)
    if not line or line.startswith(b"#") or len(line) > PATTERN_BYTES_MAX:
        return None
    negated = line.startswith(b"!")
    glob = line[1:] if negated else line
    directories_only = glob.endswith(b"/")
    glob = glob[:-1] if directories_only else glob
    anchored = b"/" in glob
    translated = _translate(glob.removeprefix(b"/"), anchored)
    if translated is None:
        return None
    return Pattern(re.compile(translated, re.DOTALL), negated, directories_only, anchored)


def _without_trailing_spaces(line: bytes) -> bytes:
    kept = line.rstrip(b" ")
    escapes = len(kept) - len(kept.rstrip(b"\\"))
    return kept + b" " if escapes % 2 and len(kept) < len(line) else kept


def _translate(glob: bytes, anchored: bool) -> bytes | None:
    """The regular expression that matches what the glob matches; None if it can match nothing."""
    if not glob:
        return None
    out = b""
    at = 0
    while at < len(glob):
        one = glob[at : at + 1]
        if one == b"*":
            piece, at = _stars(glob, at, anchored)
        elif one == b"?":
            piece, at = b"[^/]", at + 1
        elif one == b"[":
            bracket = _bracket(glob, at)
            if bracket is None:
                return None
            piece, at = bracket
        elif one == b"\\":
            if at + 1 == len(glob):
                return None
            piece, at = re.escape(glob[at + 1 : at + 2]), at + 2
        else:
            piece, at = re.escape(one), at + 1
        out += piece
    return out


def _stars(glob: bytes, at: int, anchored: bool) -> tuple[bytes, int]:
    end = at
    while glob[end : end + 1] == b"*":
        end += 1
    # Git compares what stands before the first special character by itself, so that what follows begins there for it.
    begins = at == 0 or glob[at - 1 : at] == b"/" or not _SPECIAL.search(glob, 0, at)
    alone = end - at >= 2 and begins
    if anchored and alone and glob[end : end + 1] == b"/":
        return b"(?:.*/)?", end + 1
    if anchored and alone and end == len(glob):
        return b".*", end
    return b"[^/]*", end


def _bracket(glob: bytes, at: int) -> tuple[bytes, int] | None:
    """`[...]` as a regular expression's set, and where it ends; None if it never does. It never matches `/`."""
    at += 1
    negated = glob[at : at + 1] in (b"!", b"^")
    at += negated
    members = b""
    first = True
    while first or glob[at : at + 1] != b"]":
        first = False
        if at >= len(glob):
            return None
        named = _CLASS.match(glob, at)
        if named is not None:
            if named[1] not in _CLASSES:
                return None
            members += _CLASSES[named[1]]
            at = named.end()
            continue
        low, at = _member(glob, at)
        high = low
        if glob[at : at + 1] == b"-" and glob[at + 1 : at + 2] not in (b"]", b""):
            high, at = _member(glob, at + 1)
        if not low or not high:
            return None
        # Of `z-a` git has compared `z` before it sees that it is a range, and one without an end.
        members += re.escape(low) + b"-" + re.escape(max(low, high))
    if negated:
        return b"[^/" + members + b"]", at + 1
    return b"(?!/)[" + members + b"]", at + 1


def _member(glob: bytes, at: int) -> tuple[bytes, int]:
    if glob[at : at + 1] == b"\\":
        return glob[at + 1 : at + 2], at + 2
    return glob[at : at + 1], at + 1
