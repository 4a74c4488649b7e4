"""Notices arrays that are tracked but never change: most often the script has rebound a name instead of the part."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from outlast.training.encode import Leaf
from outlast.training.say import say

FIRST_LOOK_BYTES_MAX = 16 << 20
"""So much is looked at before the first step; the rest first in its first save, where it costs the training nothing."""

STEPS_MIN = 10
"""Fewer prove nothing: the first steps of a warm-up change little or nothing. At a loop's end they are all there is."""


class Unchanged:
    """Compares checksums from save to save, until one array of a part has changed, or the part has been complained about."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self._settled: set[str] = set()

    def watched(self, leaves: Iterable[Leaf]) -> Iterator[Leaf]:
        for leaf in leaves:
            if leaf.plain and leaf.layout.nbytes and part_of(leaf) not in self._settled:
                yield leaf

    def first_look(self, leaves: Iterable[Leaf], step: int) -> None:
        left = FIRST_LOOK_BYTES_MAX
        for leaf in self.watched(leaves):
            left -= leaf.layout.nbytes
            if left >= 0:
                self._seen[leaf.name] = (zlib.crc32(leaf.library.raw(leaf.value)), step)

    def look(self, contents: Iterable[tuple[Leaf, memoryview]], step: int, *, last: bool) -> None:
        """At a save: all arrays that are watched, with their bytes. `last`: the loop is over."""
        same: dict[str, int] = {}
        for leaf, content in contents:
            part = part_of(leaf)
            if part in self._settled:
                continue
            checksum = zlib.crc32(content)
            before, since = self._seen.setdefault(leaf.name, (checksum, step))
            if before != checksum:
                self._settled.add(part)
            elif step - since >= (1 if last else STEPS_MIN):
                same[part] = max(same.get(part, 0), since)
        for part, since in same.items():
            if part not in self._settled:
                self._settled.add(part)
                say(
                    f"warning: the array `state.{part}` has not changed from step {since} to step {step}; "
                    f"a script that makes new arrays must assign them to the state: `state.{part} = ...`"
                )


def part_of(leaf: Leaf) -> str:
    return leaf.name.partition(".")[0]
