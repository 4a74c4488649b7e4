"""The Sobol sequence by Joe and Kuo's direction numbers: its point of any number, at once."""

from __future__ import annotations

from functools import cache, lru_cache
from random import Random

BITS = 30
"""Of every coordinate; after 2**30 points the sequence begins anew."""

_INITIAL: tuple[tuple[int, tuple[int, ...]], ...] = (
    (3, (1,)),
    (7, (1, 3)),
    (11, (1, 3, 1)),
    (13, (1, 1, 1)),
    (19, (1, 1, 3, 3)),
    (25, (1, 3, 5, 13)),
    (37, (1, 1, 5, 5, 17)),
    (41, (1, 1, 5, 5, 5)),
    (47, (1, 1, 7, 11, 19)),
    (55, (1, 1, 5, 1, 1)),
    (59, (1, 1, 1, 3, 11)),
    (61, (1, 3, 5, 5, 31)),
    (67, (1, 3, 3, 9, 7, 49)),
    (91, (1, 1, 1, 15, 21, 21)),
    (97, (1, 3, 1, 13, 27, 49)),
    (103, (1, 1, 1, 15, 7, 5)),
    (109, (1, 3, 1, 15, 13, 25)),
    (115, (1, 1, 5, 5, 19, 61)),
    (131, (1, 3, 7, 11, 23, 15, 103)),
    (137, (1, 3, 7, 13, 13, 15, 69)),
    (143, (1, 1, 3, 13, 7, 35, 63)),
    (145, (1, 3, 5, 9, 1, 25, 53)),
    (157, (1, 3, 1, 13, 9, 35, 107)),
    (167, (1, 3, 1, 5, 27, 61, 31)),
    (171, (1, 1, 5, 11, 19, 41, 61)),
    (185, (1, 3, 5, 3, 3, 13, 69)),
    (191, (1, 1, 7, 13, 1, 19, 1)),
    (193, (1, 3, 7, 5, 13, 19, 59)),
    (203, (1, 1, 3, 9, 25, 29, 41)),
    (211, (1, 3, 5, 13, 23, 1, 55)),
    (213, (1, 3, 7, 3, 13, 59, 17)),
    (229, (1, 3, 1, 3, 5, 53, 69)),
    (239, (1, 1, 5, 5, 23, 33, 13)),
    (241, (1, 1, 7, 7, 1, 61, 123)),
    (247, (1, 1, 7, 9, 13, 61, 49)),
    (253, (1, 3, 3, 5, 3, 55, 33)),
)
"""For the second dimension and those behind it: a primitive polynomial, its coefficients as bits, and the first direction numbers."""

DIMENSIONS_MAX = 1 + len(_INITIAL)


def sobol(index: int, dimension: int) -> float:
    """One coordinate, in [0, 1), of point `index`; both count from 0."""
    return _bits(index, dimension) / (1 << BITS)


def shifted_sobol(index: int, dimension: int, seed: int) -> float:
    """As `sobol`, each dimension flipped by bits of its own that follow from the seed: as even, and another sequence for each seed."""
    return (_bits(index, dimension) ^ _shift(dimension, seed)) / (1 << BITS)


def _bits(index: int, dimension: int) -> int:
    found = 0
    gray = index ^ (index >> 1)
    for direction in _directions(dimension):
        if gray & 1:
            found ^= direction
        gray >>= 1
    return found


@cache
def _directions(dimension: int) -> tuple[int, ...]:
    if dimension == 0:
        return tuple(1 << (BITS - 1 - place) for place in range(BITS))
    polynomial, initial = _INITIAL[dimension - 1]
    degree = len(initial)
    numbers = list(initial)
    for place in range(degree, BITS):
        number = numbers[place - degree] ^ (numbers[place - degree] << degree)
        for back in range(1, degree):
            if polynomial >> (degree - back) & 1:
                number ^= numbers[place - back] << back
        numbers.append(number)
    return tuple(number << (BITS - 1 - place) for place, number in enumerate(numbers))


@lru_cache(maxsize=1024)
def _shift(dimension: int, seed: int) -> int:
    return Random(f"sobol {seed} {dimension}").getrandbits(BITS)
