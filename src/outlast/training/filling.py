"""Saved arrays into those of the script: what was one array is one again, and what were two are two.

`State(w=zeros, best=zeros)` gives one array twice, and `state.w = state.w - g` makes it two. Filled in place, both parts of the next
life would have what was filled in last.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

from outlast.training.arrays import Layout, Library
from outlast.training.fielded import fielded


class Mismatch(Exception):
    """What was saved does not fit into what the script has now; the text says where and how."""


class TensorSource(Protocol):
    def bytes_of(self, name: str) -> memoryview:
        """`decode.Malformed` if there is no such tensor."""
        ...


@fielded(frozen=True)
class Filled:
    """An array of the script, with what was copied into it."""

    path: str
    library: Library
    live: Any
    source: memoryview


class Filling:
    """One restore. Arrays are known by the name of what was saved: two places with one name were one array."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._owners: dict[Hashable, str] = {}
        self._filled: list[Filled] = []

    def put(
        self, name: str, layout: Layout, source: memoryview, live: Any, path: str, library: Library, made: Any
    ) -> Any:
        """What stands at that place from now on: `live`, filled; or a new array, `made` if somebody has one already."""
        fits = self._fill(name, layout, source, live, path, library)
        if name not in self._values:
            if fits and library.is_laid_out(live, layout):
                made = live  # else it is filled all the same, for a script that has a name of its own for it
            self._values[name] = library.build_like(live, layout, source) if made is None else made
        return self._values[name]

    def _fill(self, name: str, layout: Layout, source: memoryview, live: Any, path: str, library: Library) -> bool:
        if not library.holds(live):
            return False
        identity = library.identity(live)
        owner = self._owners.get(identity)
        if owner is not None:
            return owner == name
        if not library.assign(live, layout, source):
            return False
        self._owners[identity] = name
        if layout.nbytes:
            self._filled.append(Filled(path, library, live, source))
        return True

    def check(self) -> None:
        """At the end: Mismatch if one array has been written over by another, of which it is a part."""
        spans = sorted(
            ((*one.library.span(one.live), one) for one in self._filled),
            key=lambda span: span[:3],
        )
        reach, last = ("", 0), None
        for device, begin, end, one in spans:
            if last is not None and (device, begin) < reach:
                for both in (last, one):
                    if both.library.raw(both.live) != both.source:
                        raise Mismatch(
                            f"`{last.path}` and `{one.path}` share memory now, and did not when they were saved; "
                            "give the state a copy of one of them"
                        )
            if (device, end) > reach:
                reach, last = (device, end), one
