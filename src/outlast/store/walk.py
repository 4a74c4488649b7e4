"""What lies below a directory store's root, as keys in order."""

from __future__ import annotations

import os
from collections.abc import Iterator

from outlast.store.paths import CONTINUED, MARK, generation_of, path_of, segment_of

SCANS_MAX = 4
"""How often a directory is read again because it changed meanwhile."""


class Listing:
    """One directory's segments. A segment may be all three: objects `a` of both kinds exclude each other, `a/b` may be there too."""

    def __init__(self) -> None:
        self.newest: dict[str, int] = {}
        """The highest generation seen, 0 for a plain object."""

        self.directories: set[str] = set()


def walk(root: str, prefix: str, after: str) -> Iterator[tuple[str, int]]:
    """(key, a generation it has had, or 0 for a plain object), in the order of the keys; each directory is read when reached."""
    base = prefix[: prefix.rfind("/") + 1]
    try:
        start = path_of(base[:-1]) if base else ""
    except ValueError:
        return  # no key begins like this
    stack: list[tuple[str, int]] = [(base, 0)]
    while stack:
        key, generation = stack.pop()
        if key and not key.endswith("/"):
            yield key, generation
            continue
        below = start if key == base else path_of(key[:-1])
        listing = scan(f"{root}/{below}" if below else root)
        found = [(f"{key}{segment}", newest) for segment, newest in listing.newest.items()]
        found += [(f"{key}{segment}/", 0) for segment in listing.directories]
        stack += sorted((one for one in found if _wanted(one[0], prefix, after)), reverse=True)


def _wanted(key: str, prefix: str, after: str) -> bool:
    if key.endswith("/"):
        # All that is below begins with `key`: it comes after `after` unless `after` lies beyond all of it.
        return key.startswith(prefix) and (key > after or after.startswith(key))
    return key.startswith(prefix) and key > after


def scan(path: str) -> Listing:
    """A directory that is not there is empty.

    A name that is renamed over while the directory is read can be missed (btrfs: nearly always), although it was there all
    the time. So a directory that changed meanwhile is read again, and what any of the readings saw counts: whoever uses it
    looks whether it is still there.
    """
    listing = Listing()
    try:
        for _ in range(SCANS_MAX):
            before = os.stat(path).st_mtime_ns
            _scan_once(path, "", listing)
            if os.stat(path).st_mtime_ns == before:
                break
    except (FileNotFoundError, NotADirectoryError):
        pass
    return listing


def _scan_once(path: str, pieces: str, listing: Listing) -> None:
    with os.scandir(path) as entries:
        for entry in entries:
            text, mark, suffix = entry.name.partition(MARK)
            if entry.is_dir(follow_symlinks=False):
                if mark + suffix == CONTINUED:
                    _scan_once(entry.path, f"{pieces}{entry.name}/", listing)
                elif not mark and (segment := segment_of(pieces + text)) is not None:
                    listing.directories.add(segment)
            elif entry.is_file(follow_symlinks=False):
                generation = generation_of(suffix) if mark else 0
                if generation is not None and (segment := segment_of(pieces + text)) is not None:
                    listing.newest[segment] = max(generation, listing.newest.get(segment, 0))
