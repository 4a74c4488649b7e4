"""Which objects around a data loader want to know the epoch or count it, and which random generators drawing a batch may draw from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from outlast.training import generators

ITEMS_MAX = 1000
"""A longer list is data, or a history of something, and no set of generators."""

OBJECTS_MAX = 5000
DEPTH_MAX = 6
"""How much is looked through for generators, and how deep: a dataset in a dataset, with transforms in a list."""


COUNTERS = ("epoch", "seed", "round", "iteration")
"""In the names of whole numbers by which a dataset or a sampler that has no `set_epoch` tells its epochs apart (`self.epoch += 1`)."""


def counters_of(loader: Any) -> dict[str, int]:
    """By where they were found. Other numbers (of files that are open, of processes) mean nothing in another life."""
    return {
        f"{number}.{name}": value
        for number, holder in enumerate(holders(loader))
        for name, value in _attributes(holder)
        if type(value) is int and any(word in name.lower() for word in COUNTERS)
    }


def set_counters(loader: Any, saved: Mapping[str, int]) -> None:
    for number, holder in enumerate(holders(loader)):
        for place, value in saved.items():
            at, _, name = place.partition(".")
            now = getattr(holder, name, None)  # a class may have its first value
            if at == str(number) and type(now) is int and now != value:
                with suppress(AttributeError, TypeError):  # it counts by another way than by being assigned
                    setattr(holder, name, value)


def holders(loader: Any) -> list[Any]:
    """The objects around a loader that may have a generator, or want to know the epoch; each one once."""
    batch_sampler, dataset = getattr(loader, "batch_sampler", None), getattr(loader, "dataset", None)
    candidates = [
        loader,
        getattr(loader, "sampler", None),
        batch_sampler,
        getattr(batch_sampler, "sampler", None),
        dataset,
        getattr(dataset, "dataset", None),
    ]
    found: list[Any] = []
    for candidate in candidates:
        if candidate is not None and all(candidate is not one for one in found):
            found.append(candidate)
    return found


def generators_of(loader: Any) -> dict[str, Any]:
    """The generators of a loader and of what it consists of, by where they were found. A search through all of its data's objects."""
    around = holders(loader)
    search = _Search(around)
    for number, holder in enumerate(around):
        search.look_into(f"loader.{number}", _attributes(holder), 0)
    return search.found


def generators_of_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the state, of which we cannot know what they are for: drawing a batch may draw from them too."""
    return {place: one for name, value in parts.items() for place, one in _in_part(f"state.{name}", value).items()}


class _Search:
    """Through attributes and containers; each object once, and those that are known already not at all."""

    def __init__(self, known: list[Any]) -> None:
        self.found: dict[str, Any] = {}
        self._seen = {id(one) for one in known}

    def look_into(self, place: str, items: list[tuple[str, Any]], depth: int) -> None:
        for name, value in items:
            if generators.kind_of(value) is not None:
                self.found[f"{place}.{name}"] = value
            elif depth < DEPTH_MAX and id(value) not in self._seen and len(self._seen) < OBJECTS_MAX:
                inner = _items(value) if type(value) in (dict, list, tuple) else _attributes(value)
                if inner:
                    self._seen.add(id(value))
                    self.look_into(f"{place}.{name}", inner, depth + 1)


def _in_part(place: str, value: Any) -> dict[str, Any]:
    """A part that is an object saves itself, with whatever it has."""
    if generators.kind_of(value) is not None:
        return {place: value}
    items = _items(value) if type(value) in (list, tuple) else list(value.items()) if type(value) is dict else []
    return {name: one for key, item in items for name, one in _in_part(f"{place}.{key}", item).items()}


def _items(value: Any) -> list[tuple[str, Any]]:
    if len(value) > ITEMS_MAX:
        return []
    return [(str(key), item) for key, item in (value.items() if type(value) is dict else enumerate(value))]


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """Not of a class or a module, which everybody shares, nor workers that stay: what they have drawn is not to be found here."""
    if isinstance(value, (type, type(sys))):
        return []
    return [(name, one) for name, one in getattr(value, "__dict__", {}).items() if name != "_iterator"]
