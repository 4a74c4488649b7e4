"""The generations of one object in a directory: a row of files `<path>~1`, `<path>~2`, ... to which everybody may add.

Numbers have no gaps and are never unlinked (a writer that slept would take one again), except when all of them go for ever.
So the newest is found by doubling and halving, without reading the directory. What it holds:

    <the object>\\n     alive; whatever does not end in a newline was cut off
    deleted            gone, and the next writer goes on counting
    nothing            superseded: look further up
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from outlast.errors import Damaged, StoreUnavailable
from outlast.store.directories import Directories
from outlast.store.disk import is_regular, read_file, size_of, status_of
from outlast.store.files import Files
from outlast.store.paths import MARK

END = b"\n"
DELETED = b"deleted"

GENERATIONS_KEPT = 2
"""The newest ones; older ones are emptied. Two, because a reader may have taken the second newest for the newest."""

HINTS_MAX = 10_000
"""How many objects' last seen generations are remembered; then all are forgotten, which costs some microseconds each."""

TRIES_MAX = 1_000
"""How often a call begins again because others wrote; each time, somebody else has got on."""


class Generations:
    def __init__(self, files: Files, directories: Directories) -> None:
        self._files = files
        self._directories = directories
        self._hints: dict[str, int] = {}

    def read(self, path: str) -> tuple[bytes, int]:
        """The newest one's raw content. `DELETED` if the object is gone; and 0 if there never was a generation."""
        low = self._hints.get(path, 0)
        if low == 0:
            # Most objects are written once, or never.
            first = read_file(_name(path, 1))
            if first is None and status_of(_name(path, 1)) is None:
                return DELETED, 0
            if first is not None and first[0] and size_of(_name(path, 2)) is None:
                self._remember(path, 1)
                return first[0], 1
        for _ in range(TRIES_MAX):
            newest = newest_of(path, low)
            found = read_file(_name(path, newest)) if newest else None
            if found is None:
                if newest and status_of(_name(path, newest)) is not None and not is_regular(_name(path, newest)):
                    raise Damaged(
                        f"`{_name(path, newest)}` is no file", hint="something else than outlast has put it there"
                    )
                self._hints.pop(path, None)
                if newest == 0:
                    return DELETED, 0
                low = 0  # purged since we saw it
            elif found[0]:
                self._remember(path, newest)
                return found[0], newest
            elif newest_of(path, newest) == newest:
                # The newest is emptied by nobody but a purge, which marks the first one before (and may have been killed).
                return (DELETED if _is_deleted(path, 1) else b""), newest
            else:
                low = newest
        raise StoreUnavailable(f"cannot read `{path}`: it was rewritten {TRIES_MAX} times meanwhile")

    def base(self, path: str, if_generation: int) -> int | None:
        """The generation to write upon; None if it is seen already that this cannot succeed."""
        if if_generation == 0:
            raw, newest = self.read(path)
            return newest if raw == DELETED else None
        size = size_of(_name(path, if_generation)) if if_generation > 0 else None
        if not size or size_of(_name(path, if_generation + 1)) is not None:
            return None
        return None if size == len(DELETED) and _is_deleted(path, if_generation) else if_generation

    def append(self, path: str, base: int, raw: bytes) -> bool:
        """Writes generation `base + 1`; False if somebody else did."""
        return self.append_many([(path, base, raw)])[0]

    def append_many(self, many: Sequence[tuple[str, int, bytes]]) -> list[bool]:
        """The same of each (path, base, raw), made durable together."""
        made = self._files.link_many((raw, _name(path, base + 1)) for path, base, raw in many)
        for (path, base, _), done in zip(many, made, strict=True):
            if done:
                self._remember(path, base + 1)
                self._empty_older(path, base + 1)
        return made

    def bury(self, path: str) -> None:
        """Deletes, whatever its generation."""
        for _ in range(TRIES_MAX):
            raw, newest = self.read(path)
            if raw == DELETED or self.append(path, newest, DELETED):
                return
        raise StoreUnavailable(f"cannot delete `{path}`: it was rewritten {TRIES_MAX} times meanwhile")

    def purge(self, path: str) -> None:
        """From the newest down, so that what a killed purge leaves has no gaps; and it reads as deleted at every moment."""
        self._hints.pop(path, None)
        newest = newest_of(path, 0)
        if newest > 1:
            self.bury(path)
            newest = newest_of(path, newest)
            self._files.replace_hastily(DELETED, _name(path, 1))
            for generation in range(2, newest):
                if size_of(_name(path, generation)):
                    self._files.replace_hastily(b"", _name(path, generation))
            self._directories.sync(os.path.dirname(path))
        for generation in range(newest, 0, -1):
            self._files.unlink(_name(path, generation))
        self._hints.pop(path, None)

    def _empty_older(self, path: str, newest: int) -> None:
        """Down to the first empty one: what a writer that died here has left over is done by the next.

        Generation 1 keeps its content: its name is then never renamed over, so that every list of the directory finds it.
        """
        try:
            for generation in range(newest - GENERATIONS_KEPT, 1, -1):
                if not size_of(_name(path, generation)):
                    return
                self._files.replace_hastily(b"", _name(path, generation))
        except OSError:
            pass  # the write is done; old content does nothing but take space

    def _remember(self, path: str, generation: int) -> None:
        if len(self._hints) >= HINTS_MAX:
            self._hints.clear()
        self._hints[path] = generation


def newest_of(path: str, low: int) -> int:
    """The highest generation there is, if `low` is one (or 0).

    Somebody may write meanwhile; the answer was the highest at some moment of this call, because names only ever appear.
    """
    step = 1
    while size_of(_name(path, low + step)) is not None:
        low += step
        step *= 2
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        if size_of(_name(path, middle)) is not None:
            low = middle
        else:
            high = middle
    return low


def listed(path: str, seen: int) -> tuple[int, int] | None:
    """(generation, bytes) of an object that has had generation `seen`; None if it is gone."""
    for _ in range(TRIES_MAX):
        newest = newest_of(path, seen)
        size = size_of(_name(path, newest))
        if size is None or (size == len(DELETED) and _is_deleted(path, newest)):
            return None
        if size:
            return newest, size - len(END)
        if newest_of(path, newest) == newest:
            # Purged, or damaged: a read will tell.
            return None if _is_deleted(path, 1) else (newest, 0)
        seen = newest
    raise StoreUnavailable(f"cannot list `{path}`: it was rewritten {TRIES_MAX} times meanwhile")


def _is_deleted(path: str, generation: int) -> bool:
    found = read_file(_name(path, generation))
    return found is None or found[0] == DELETED


def _name(path: str, generation: int) -> str:
    return f"{path}{MARK}{generation}"
