"""What a search may choose, and that its points follow from seed and number alone."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

from outlast.errors import UsageError
from outlast.spec.sweep.sobol import BITS, DIMENSIONS_MAX, shifted_sobol, sobol
from outlast.spec.sweep.space import Kind, Space, space
from tests.sweep_grammar.plain import UNHURRIED

DOCUMENT = {
    "lr": {"log": [1e-5, 1e-1]},
    "depth": {"int": [2, 9]},
    "drop": {"float": [0, 0.5]},
    "act": ["relu", "tanh", "gelu"],
    "[width,heads]": {"choice": [[64, 2], [128, 4]]},
    "data": "mnist",
    "fast": True,
}


def points(found: Space, search: str, count: int, seed: int = 0) -> list[dict[str, Any]]:
    return [getattr(found, search)(seed, index) for index in range(count)]


@pytest.mark.parametrize("search", ["random", "sobol"])
def test_every_point_lies_within_its_ranges_and_keys_keep_their_order(search: str) -> None:
    for point in points(space(DOCUMENT, "s.json"), search, 500):
        assert list(point) == ["lr", "depth", "drop", "act", "width", "heads", "data", "fast"]
        assert isinstance(point["lr"], float) and 1e-5 <= point["lr"] <= 1e-1
        assert type(point["depth"]) is int and 2 <= point["depth"] <= 9
        assert isinstance(point["drop"], float) and 0 <= point["drop"] <= 0.5
        assert (point["width"], point["heads"]) in ((64, 2), (128, 4))
        assert point["data"] == "mnist" and point["fast"] is True


@pytest.mark.parametrize("search", ["random", "sobol"])
def test_both_ends_and_every_choice_are_met(search: str) -> None:
    found = points(space(DOCUMENT, "s.json"), search, 300)
    assert {point["depth"] for point in found} == set(range(2, 10))
    assert {point["act"] for point in found} == {"relu", "tanh", "gelu"}
    assert {point["width"] for point in found} == {64, 128}


@pytest.mark.parametrize("search", ["random", "sobol"])
def test_a_logarithmic_range_gives_each_power_its_share(search: str) -> None:
    found = points(space(DOCUMENT, "s.json"), search, 400)
    shares = [sum(low <= point["lr"] < low * 10 for point in found) for low in (1e-5, 1e-4, 1e-3, 1e-2)]
    assert all(60 <= share <= 140 for share in shares), shares


@pytest.mark.parametrize("search", ["random", "sobol"])
def test_a_point_follows_from_seed_and_number_alone(search: str) -> None:
    """Another process, another order, a document that went through JSON: the same."""
    program = (
        "import json, sys; from outlast.spec.sweep.space import space; found = space(json.loads(sys.argv[1]), 's');"
        f"print(json.dumps([found.{search}(3, index) for index in (7, 2, 5)]))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, json.dumps(DOCUMENT)], capture_output=True, text=True, check=True
    )
    found = space(DOCUMENT, "s.json")
    assert json.loads(said.stdout) == [getattr(found, search)(3, index) for index in (7, 2, 5)]


@pytest.mark.parametrize("search", ["random", "sobol"])
def test_another_seed_gives_other_points(search: str) -> None:
    found = space(DOCUMENT, "s.json")
    assert points(found, search, 5) != points(found, search, 5, seed=1)


def test_one_more_key_leaves_the_random_values_of_the_others() -> None:
    less = space({"lr": {"log": [1e-5, 1e-1]}}, "s.json")
    assert [one["lr"] for one in points(space(DOCUMENT, "s.json"), "random", 9)] == [
        one["lr"] for one in points(less, "random", 9)
    ]


def test_the_sequence_is_scipys() -> None:
    """Joe and Kuo's direction numbers, in every dimension of the table."""
    theirs = qmc.Sobol(DIMENSIONS_MAX, scramble=False, bits=BITS).random(256)
    assert DIMENSIONS_MAX >= 21
    for index in range(256):
        assert [sobol(index, dimension) for dimension in range(DIMENSIONS_MAX)] == list(theirs[index])


def test_later_points_are_scipys_too() -> None:
    theirs = qmc.Sobol(21, scramble=False, bits=BITS)
    theirs.fast_forward(123_456)
    assert [sobol(123_456, dimension) for dimension in range(21)] == list(theirs.random(1)[0])


@UNHURRIED
@given(st.integers(0, 2**40), st.integers(0, DIMENSIONS_MAX - 1), st.integers(0, 6), st.integers(0, 50))
def test_a_shift_leaves_every_block_even(seed: int, dimension: int, bits: int, block: int) -> None:
    """Of 2**n points in a row, from a multiple on, one lies in each of 2**n equal parts."""
    size = 1 << bits
    found = [shifted_sobol(index, dimension, seed) for index in range(block * size, (block + 1) * size)]
    assert sorted(int(value * size) for value in found) == list(range(size))


def test_sobol_points_are_more_even_than_random_ones() -> None:
    found = space({"a": {"float": [0, 1]}, "b": {"float": [0, 1]}}, "s.json")

    def gap_max(search: str) -> float:
        values = sorted(point["b"] for point in points(found, search, 128))
        return max(later - earlier for earlier, later in pairwise([0.0, *values, 1.0]))

    assert gap_max("sobol") < 2.5 / 128 < gap_max("random")


def test_constants_use_up_no_dimension_and_keys_beyond_the_table_are_random() -> None:
    many = {f"c{number}": number for number in range(30)} | {f"k{number}": {"float": [0, 1]} for number in range(50)}
    found = space(many, "s.json")
    first = [found.sobol(0, index) for index in range(64)]
    for number in range(DIMENSIONS_MAX):
        assert sorted(int(point[f"k{number}"] * 64) for point in first) == list(range(64))
    assert len({point["k49"] for point in first}) == 64
    assert first[3]["k49"] == found.random(0, 3)["k49"]


@pytest.mark.parametrize(
    ("value", "share", "wanted"),
    [
        ({"int": [2, 9]}, 0.0, 2),
        ({"int": [2, 9]}, 1 - 2**-53, 9),
        ({"int": [-3, -1]}, 0.5, -2),
        ({"float": [-1e308, 1e308]}, 0.5, 0.0),
        ({"float": [1, 2]}, 0.25, 1.25),
        ({"log": [1, 10000]}, 0.5, 100.0),
        ({"log": [1e-300, 1e300]}, 0.0, 1e-300),
        ({"choice": [5, 6]}, 1 - 2**-53, 6),
        ([5, [6]], 0.5, [6]),
    ],
)
def test_a_share_of_a_range_is_a_value(value: Any, share: float, wanted: Any) -> None:
    (dimension,) = space({"a": value}, "s.json").dimensions
    assert dimension.at(share) == (wanted,)


def test_dimensions_say_what_they_are() -> None:
    kinds = [(one.kind, one.constant) for one in space(DOCUMENT, "s.json").dimensions]
    assert kinds == [(Kind.LOG, False), (Kind.INT, False), (Kind.FLOAT, False), (Kind.CHOICE, False), (Kind.CHOICE, False),
                     (Kind.CHOICE, True), (Kind.CHOICE, True)]  # fmt: skip
    assert space({"a": {"int": [3, 3]}, "b": [1, 2]}, "s.json").dimensions[0].constant


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "is no range"),
        ({"uniform": [0, 1]}, "is no range"),
        ({"log": [1, 2], "int": [1, 2]}, "is no range"),
        ({"int": [1]}, "has not two numbers"),
        ({"int": 3}, "has not two numbers"),
        ({"int": ["1", 2]}, "has not two numbers"),
        ({"int": [True, 2]}, "has not two numbers"),
        ({"float": [0, math.inf]}, "has not two numbers"),
        ({"int": [1, 2.5]}, "whole numbers"),
        ({"float": [2, 1]}, "above the second"),
        ({"log": [0, 1]}, "above 0"),
        ({"log": [-1, 1]}, "above 0"),
        ({"choice": 3}, "no list"),
        ({"choice": []}, "list is empty"),
        ({"choice": [None]}, "`null`"),
        ([], "list is empty"),
        (None, "`null`"),
        ([{"int": [1, 2]}], "an object"),
    ],
)
def test_what_is_no_range_is_answered_with_those_there_are(value: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        space({"b": [1, 2], "lr": value}, "s.json")
    assert said in caught.value.message and "`s.json`, key `lr`" in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([{"a": [1, 2]}], "one table of keys"),
        (3, "one table of keys"),
        ({"a": 1}, "nothing to choose"),
        ({}, "nothing to choose"),
        ({"[a,b]": {"int": [1, 2]}}, "a compound key has no range"),
        ({"a": [1, 2], "[a,b]": [1, 2]}, "is a key already"),
        ({"a b": [1, 2]}, "valid compound key"),
    ],
)
def test_a_document_that_no_search_can_use_is_refused(document: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        space(document, "s.json")
