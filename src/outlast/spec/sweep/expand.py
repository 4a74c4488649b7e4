"""Which cells a document means, in which order: by arithmetic, so that ten thousand cells are nothing until they are looked at."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from outlast.spec.sweep.grammar import Axis, Place, axis_of, configs, entries, is_scalar

BLOCK_CELLS_MAX = 4096
"""So many combinations of the first keys are made once and used again for every combination of the others."""

Params = dict[str, Any]


class Grid:
    """The product of one configuration's axes: the first key changes fastest, and keys keep the order of the file."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axes)
        self.cell_count = math.prod(len(axis.values) for axis in self.axes)

    def __getitem__(self, index: int) -> Params:
        found: Params = {}
        for axis in self.axes:
            index, at = divmod(index, len(axis.values))
            found.update(zip(axis.names, axis.values[at], strict=True))
        return found

    def names(self) -> Iterable[str]:
        return [name for axis in self.axes for name in axis.names]

    def values(self, name: str) -> Sequence[Any]:
        """All values that a parameter takes."""
        return [values[axis.names.index(name)] for axis in self.axes if name in axis.names for values in axis.values]

    def __iter__(self) -> Iterator[Params]:
        if not self.cell_count:
            return
        block: list[Params] = [{}]
        rest = list(self.axes)
        while rest and (len(block) == 1 or len(block) * len(rest[0].values) <= BLOCK_CELLS_MAX):
            slower = _partial(rest.pop(0))
            block = [{**fast, **slow} for slow in slower for fast in block]
        if not rest:
            yield from block
            return
        for slow in _product(rest):
            for fast in block:
                yield {**fast, **slow}


class Constant:
    """A configuration without a list: one cell."""

    cell_count = 1

    def __init__(self, params: Params) -> None:
        self._params = params

    def __getitem__(self, index: int) -> Params:
        return dict(self._params)

    def __iter__(self) -> Iterator[Params]:
        yield dict(self._params)

    def names(self) -> Iterable[str]:
        return self._params

    def values(self, name: str) -> Sequence[Any]:
        return [self._params[name]] if name in self._params else []


def _partial(axis: Axis) -> list[Params]:
    return [dict(zip(axis.names, values, strict=True)) for values in axis.values]


def _product(axes: Sequence[Axis]) -> Iterator[Params]:
    """As Grid, without a block."""
    if len(axes) == 1:
        yield from _partial(axes[0])
        return
    names = [name for axis in axes for name in axis.names]
    for chosen in itertools.product(*(axis.values for axis in reversed(axes))):
        yield dict(zip(names, itertools.chain.from_iterable(reversed(chosen)), strict=True))


class Expansion(Sequence[Params]):
    """All cells of a document. Nothing is made before it is asked for; the values themselves are the document's, and not to be changed."""

    def __init__(self, grids: Sequence[Grid | Constant]) -> None:
        self.grids = tuple(grids)
        self._ends = list(itertools.accumulate(grid.cell_count for grid in self.grids))
        self.cell_count = self._ends[-1] if self._ends else 0
        """As `len`, also where there are more than a computer can count to."""

    def __len__(self) -> int:
        return self.cell_count

    def __bool__(self) -> bool:
        return self.cell_count > 0

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self.cell_count))]
        if index < 0:
            index += self.cell_count
        if not 0 <= index < self.cell_count:
            raise IndexError(f"cell {index} of {self.cell_count}")
        number = bisect_right(self._ends, index)
        return self.grids[number][index - (self._ends[number - 1] if number else 0)]

    def __iter__(self) -> Iterator[Params]:
        return itertools.chain.from_iterable(self.grids)

    def names(self) -> tuple[str, ...]:
        """Every parameter of any cell, in the order in which the file has them."""
        return tuple(dict.fromkeys(name for grid in self.grids for name in grid.names()))


def expansion(document: Any, where: str) -> Expansion:
    """`where`: what the document is called in errors; UsageError for whatever the grammar does not know."""
    return Expansion([_grid(config, place) for config, place in configs(document, Place(where))])


def _grid(config: dict[Any, Any], place: Place) -> Grid | Constant:
    if any(isinstance(value, list) for value in config.values()):
        return Grid([axis_of(key, names, value, place) for key, names, value in entries(config, place)])
    for key, names, value in entries(config, place):
        if key[0] == "[" or not is_scalar(value):
            axis_of(key, names, value, place)  # which says what is wrong with it
    return Constant(config)
