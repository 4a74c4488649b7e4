"""Keys as paths of the directory store, and back: no two keys share a path, and a path gives back its exact key.

a/model.pt          a/model.pt              an object that is written without condition
a/head.json         a/head.json~7           generation 7 of one that is written with conditions
a and a/b           a~0 and a/b             a plain object whose name a directory needed
a~b%c               a%7Eb%25c               `~` and `%` are ours; control characters cannot be typed
.nfs1               %2Enfs1                 names that a file system or a file manager leaves behind by itself
x * 300             x * 240 ~+ / + x * 60   what is too long for one name goes on in a directory
"""

from __future__ import annotations

import functools

from outlast.pattern import pattern
from outlast.store.keys import CHECKED_KEYS_MAX, check_key

MARK = "~"
DISPLACED = "~0"
"""Generations begin at 1, so this is free for a plain object whose name is a directory's."""

CONTINUED = "~+"
CONTINUATION = "+"
"""Before every piece but the first, so that none of them is `.` or `..`."""

NAME_BYTES_MAX = 240
"""Of the 255 that file systems allow; the rest is for `~` and a generation of up to 14 digits."""

TEMPORARY = ".tmp~"
"""The directory for what is being written. No key leads there: no encoded segment ends in `~`."""

FOREIGN = (".nfs", ".DS_Store", "._")
"""Beginnings of names that appear by themselves: NFS (unlinked while open) and macOS (Finder, AppleDouble)."""

_ODD = pattern(r"[%~\x00-\x1f\x7f]|(?:^|/)\.(?:nfs|DS_Store|_)|[^/]{60}")
"""Keys without any of this are their own paths (60 characters are at most `NAME_BYTES_MAX` bytes)."""

_SPECIAL = pattern(r"[%~\x00-\x1f\x7f]")
_ESCAPE = pattern(r"%([0-9A-F]{2})")


@functools.lru_cache(maxsize=CHECKED_KEYS_MAX)
def path_of(key: str) -> str:
    """The path, relative to the root, of the object's plain form. ValueError if it is no key."""
    check_key(key)
    if not _ODD.search(key):
        return key
    return "/".join(name_of(segment) for segment in key.split("/"))


def name_of(segment: str) -> str:
    """One segment's name; several joined by `/` if it is too long for one."""
    text = _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", segment)
    if text.startswith(FOREIGN):
        text = f"%2E{text[1:]}"
    pieces = []
    while len(text.encode()) > NAME_BYTES_MAX:
        # A character that the cut would split goes to the next piece.
        piece = text.encode()[:NAME_BYTES_MAX].decode(errors="ignore")
        pieces.append(f"{piece}{CONTINUED}/")
        text = f"{CONTINUATION}{text[len(piece) :]}"
    return f"{''.join(pieces)}{text}"


def segment_of(name: str) -> str | None:
    """The segment whose name this is, as `name_of` writes it; None if it is no such name."""
    if not name or name in (".", ".."):
        return None
    if len(name) <= NAME_BYTES_MAX and name.isascii() and not _SPECIAL.search(name) and not name.startswith(FOREIGN):
        return name
    joined = name.replace(f"{CONTINUED}/{CONTINUATION}", "")
    segment = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), joined)
    try:
        return segment if name_of(segment) == name else None
    except UnicodeEncodeError:  # a foreign file whose name is not UTF-8
        return None


def generation_of(suffix: str) -> int | None:
    """What stands after a name's `~`, as a generation (0: displaced); None if it is none."""
    if suffix.isascii() and suffix.isdigit() and str(int(suffix)) == suffix:
        return int(suffix)
    return None
