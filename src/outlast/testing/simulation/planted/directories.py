"""Planted in the directory store: how generations are written, found and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from outlast.store import generations
from outlast.store.files import Files
from outlast.store.generations import Generations
from outlast.testing.simulation.directory import try_directory
from outlast.testing.simulation.planted.plant import DIRECTORY, Planted

_name = generations._name


def _call(name: str) -> Callable[[str], Any]:
    """As the module has it now: the simulation slows it down."""
    call: Callable[[str], Any] = vars(generations)[name]
    return call


def _unlink_older(self: Generations, path: str, newest: int) -> None:
    """Old generations are removed: a writer that slept takes one of their names again."""
    for generation in range(newest - 1, 0, -1):
        self._files.unlink(_name(path, generation))


def _no_look_upward(path: str, low: int) -> int:
    """What was seen last is believed to be the newest."""
    return low or _highest(path)


def _highest(path: str) -> int:
    generation = 0
    while _call("size_of")(_name(path, generation + 1)) is not None:
        generation += 1
    return generation


def _rename_over(self: Files, many: Iterable[tuple[bytes, str]]) -> list[bool]:
    """Renamed, not linked: nobody is told that somebody else was faster."""
    return [bool(self.replace((data,), path, None)) for data, path in many]


def _look_then_rename(self: Files, many: Iterable[tuple[bytes, str]]) -> list[bool]:
    """Check, then write."""
    return [_call("size_of")(path) is None and bool(self.replace((data,), path, None)) for data, path in many]


def _empty_the_newest_too(self: Generations, path: str, newest: int) -> None:
    for generation in range(newest - 1, 0, -1):
        self._files.replace_hastily(b"", _name(path, generation))


def _read_once(self: Generations, path: str) -> tuple[bytes, int]:
    """An empty file is taken for an object."""
    newest = generations.newest_of(path, 0)
    found = _call("read_file")(_name(path, newest)) if newest else None
    return (generations.DELETED, 0) if found is None else (found[0] or generations.DELETED, newest)


def _plant(name: str, rule: str, source: str, *replacements: tuple[Any, str, Any]) -> Planted:
    return Planted(name, rule, f"{DIRECTORY}: {source}", replacements, try_directory)


ALL = (
    _plant("old names unlinked", "names are never unlinked", "unlink", (Generations, "_empty_older", _unlink_older)),
    _plant(
        "no probing upward",
        "a read probes upward until the next is absent",
        "stale read",
        (generations, "newest_of", _no_look_upward),
    ),
    _plant("renamed over", "a write is a link to generation + 1", "EEXIST = 412", (Files, "link_many", _rename_over)),
    _plant(
        "looked, then renamed",
        "a write is a link to generation + 1",
        "EEXIST = 412",
        (Files, "link_many", _look_then_rename),
    ),
    _plant(
        "emptied too soon",
        "all but the newest two are emptied, and empty means go on",
        "reader sees no generation",
        (Generations, "_empty_older", _empty_the_newest_too),
        (Generations, "read", _read_once),
    ),
)
