"""What a search may choose from: ranges and lists by key; the points of a random or Sobol search follow from seed and number alone."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from outlast.dataclass import dataclass
from outlast.spec.sweep.expand import Params
from outlast.spec.sweep.grammar import Place, axis_of, entries, kind_of, written
from outlast.spec.sweep.sobol import DIMENSIONS_MAX, shifted_sobol

RANGES_ALLOWED = (
    '`{"log": [1e-5, 1e-1]}`, `{"float": [0, 1]}`, `{"int": [2, 9]}` (both ends count), `{"choice": ["a", "b"]}`, '
    "a list (one of it) or a single value (always)"
)


SIGNIFICANT_DIGITS = 12
"""Of a chosen number: two computers need not agree on the last bit of a logarithm, and all must see the same parameters."""


class Kind(enum.Enum):
    LOG = "log"
    FLOAT = "float"
    INT = "int"
    CHOICE = "choice"


@dataclass(frozen=True)
class Dimension:
    """One key: a range of numbers, or choices, each with a value for every one of its names."""

    names: tuple[str, ...]
    kind: Kind
    low: float = 0
    high: float = 0
    choices: tuple[tuple[Any, ...], ...] = ()

    @property
    def constant(self) -> bool:
        return len(self.choices) == 1 if self.kind is Kind.CHOICE else self.low == self.high

    def at(self, share: float) -> tuple[Any, ...]:
        """The values at this share, in [0, 1), of the way from one end to the other."""
        if self.kind is Kind.CHOICE:
            return self.choices[int(share * len(self.choices))]
        if self.kind is Kind.INT:
            low, high = int(self.low), int(self.high)
            return (min(high, low + int(share * (high - low + 1))),)
        if self.kind is Kind.LOG:
            value = math.exp(math.log(self.low) * (1 - share) + math.log(self.high) * share)
        else:
            value = self.low * (1 - share) + self.high * share
        rounded = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
        return (min(float(self.high), max(float(self.low), rounded)),)


@dataclass(frozen=True)
class Space:
    dimensions: tuple[Dimension, ...]
    """In the order of the file, those with a single value too."""

    def random(self, seed: int, index: int) -> Params:
        """Each parameter by itself: one more in the file leaves the others as they were."""
        return self._point(lambda one, _: _random(seed, index, one))

    def sobol(self, seed: int, index: int) -> Params:
        """Points that fill the space evenly, however many of them are taken; keys beyond the table's dimensions are random."""
        return self._point(
            lambda one, number: (
                shifted_sobol(index, number, seed) if number < DIMENSIONS_MAX else _random(seed, index, one)
            )
        )

    def names(self) -> tuple[str, ...]:
        return tuple(name for one in self.dimensions for name in one.names)

    def params(self, values: Iterable[Sequence[Any]]) -> Params:
        """A cell's parameters from the values of every dimension."""
        found: Params = {}
        for one, chosen in zip(self.dimensions, values, strict=True):
            found.update(zip(one.names, chosen, strict=True))
        return found

    def _point(self, share: Callable[[Dimension, int], float]) -> Params:
        values = []
        number = 0
        for one in self.dimensions:
            values.append(one.at(0.0 if one.constant else share(one, number)))
            number += not one.constant
        return self.params(values)


def _random(seed: int, index: int, dimension: Dimension) -> float:
    return Random(f"random {seed} {index} {','.join(dimension.names)}").random()


def space(document: Any, where: str) -> Space:
    """`where`: what the document is called in errors."""
    place = Place(where)
    if not isinstance(document, dict):
        raise place.error(
            f"it is {kind_of(document)}; a search chooses from one table of keys",
            'write one object: `{"lr": {"log": [1e-5, 1e-1]}, "depth": {"int": [2, 9]}}`',
        )
    dimensions = [_dimension(key, names, value, place) for key, names, value in entries(document, place)]
    found = Space(tuple(dimensions))
    if all(one.constant for one in found.dimensions):
        raise place.error("there is nothing to choose: every trial would be the same", RANGES_ALLOWED)
    return found


def _dimension(key: str, names: tuple[str, ...], value: Any, place: Place) -> Dimension:
    if isinstance(value, dict):
        return _range(key, names, value, place.at(key))
    axis = axis_of(key, names, value, place)
    if not axis.values:
        raise place.at(key).error("the list is empty, and nothing can be chosen from it", RANGES_ALLOWED)
    return Dimension(names, Kind.CHOICE, choices=axis.values)


def _range(key: str, names: tuple[str, ...], value: dict[Any, Any], place: Place) -> Dimension:
    kinds = {kind.value: kind for kind in Kind}
    if len(value) != 1 or next(iter(value)) not in kinds:
        raise place.error(f"{written(value)} is no range", RANGES_ALLOWED)
    ((word, ends),) = value.items()
    kind = kinds[word]
    if kind is Kind.CHOICE:
        if not isinstance(ends, list):
            raise place.error(f"{written(value)}: the choices are no list", RANGES_ALLOWED)
        return _dimension(key, names, ends, place)
    if key.startswith("["):
        raise place.error("a compound key has no range", '`{"choice": [[1, 2], [3, 4]]}`, or two keys')
    if not isinstance(ends, list) or len(ends) != 2 or not all(_is_number(end) for end in ends):
        raise place.error(f"{written(value)} has not two numbers", RANGES_ALLOWED)
    low, high = ends
    if kind is Kind.INT and not all(isinstance(end, int) for end in ends):
        raise place.error(
            f"{written(value)}: both ends are whole numbers", f'`{{"int": [{math.floor(low)}, {math.floor(high)}]}}`'
        )
    if low > high:
        raise place.error(f"{written(value)}: the first end is above the second", f'`{{"{word}": [{high}, {low}]}}`')
    if kind is Kind.LOG and low <= 0:
        raise place.error(
            f"{written(value)}: a logarithmic range is above 0", f'`{{"log": [1e-6, {high}]}}`, or `float`'
        )
    return Dimension(names, kind, low, high)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
