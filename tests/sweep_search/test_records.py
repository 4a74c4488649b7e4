"""What a search writes down: rungs in names, trials as values of their space."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.agent.study_trials import dimensions_of, params_of, values_of
from outlast.folder.rungs import POINTS_MAX, Rungs, decode_name, encode_name, rung_of
from outlast.spec.sweep.space import space
from outlast.store.memory import MemoryStore

SPACE = space(
    {
        "lr": {"log": [1e-5, 1e-1]},
        "depth": {"int": [2, 9]},
        "momentum": {"float": [0, 1]},
        "[a,b]": [[1, True], [True, 1], [1.0, "x"]],
        "kind": ["adam", "sgd", "none"],
        "epochs": 3,
    },
    "test",
)


@given(
    st.integers(1, 999_999),
    st.dictionaries(st.integers(1, 2**40), st.floats(allow_nan=False), min_size=1, max_size=POINTS_MAX),
)
def test_the_values_of_a_cell_are_read_out_of_a_name(cell: int, points: dict[int, float]) -> None:
    decoded = decode_name(encode_name(cell, points))
    assert decoded is not None
    assert decoded[0] == cell
    assert decoded[1] == {step: pytest.approx(value, rel=1e-8) for step, value in points.items()}


def test_a_value_that_is_no_number_is_kept_as_such() -> None:
    decoded = decode_name(encode_name(3, {4: math.nan, 8: math.inf}))
    assert decoded is not None and math.isnan(decoded[1][4]) and decoded[1][8] == math.inf


@pytest.mark.parametrize(
    "name", ["", "notes.txt", "000001", "000001-", "000001-4", "000001-4=", "x-4=1", "000001-4=1,", "-1=2"]
)
def test_a_foreign_file_among_the_rungs_is_none(name: str) -> None:
    assert decode_name(name) is None
    store = MemoryStore()
    rungs = Rungs(store, "lr", 1)
    rungs.add(7, {4: 0.5})
    if name:
        store.put(f"jobs/lr/rungs/000001/{name}", b"")
    assert rungs.read() == {7: {4: 0.5}}


def test_what_was_measured_first_counts_and_twice_is_as_good_as_once() -> None:
    rungs = Rungs(MemoryStore(), "lr", 1)
    rungs.add(7, {4: 0.5})
    rungs.add(7, {4: 0.5})
    rungs.add(7, {4: 0.7, 8: 0.25})
    assert rungs.read() == {7: {4: 0.5, 8: 0.25}}
    assert Rungs(rungs.store, "lr", 2).read() == {}, "another turn begins anew"


def test_a_step_counts_for_the_power_of_two_at_or_below_it() -> None:
    assert [rung_of(step) for step in (-3, 0, 1, 2, 3, 4, 7, 8, 1000)] == [0, 0, 1, 2, 2, 4, 4, 8, 512]


@pytest.mark.parametrize("number", range(20))
def test_parameters_become_values_and_come_back(number: int) -> None:
    params = SPACE.random(5, number)
    values = values_of(SPACE, params)
    assert values is not None and len(values) == len(dimensions_of(SPACE)) == 5
    assert params_of(SPACE, values) == params


def test_true_is_another_choice_than_one() -> None:
    params = {**SPACE.random(1, 1), "a": True, "b": 1}
    values = values_of(SPACE, params)
    assert values is not None and values[3] == 1


@pytest.mark.parametrize(
    "change", [{"depth": 10}, {"lr": 1.0}, {"kind": "rmsprop"}, {"epochs": 4}, {"depth": "3"}, {"momentum": True}]
)
def test_parameters_of_other_ranges_teach_nothing(change: dict[str, Any]) -> None:
    assert values_of(SPACE, {**SPACE.random(1, 1), **change}) is None
    missing = {name: value for name, value in SPACE.random(1, 1).items() if name not in change}
    assert values_of(SPACE, missing) is None


def test_an_answer_outside_of_its_range_is_brought_back_into_it() -> None:
    params = params_of(SPACE, [1.0, 99, -0.5, 0, 0])
    assert params is not None
    assert (params["lr"], params["depth"], params["momentum"]) == (0.1, 9, 0.0)


@pytest.mark.parametrize(
    "answer",
    [
        [],
        [1e-3, 3, 0.5, 0],
        [1e-3, 3, 0.5, 0, 0, 0],
        [1e-3, 3, 0.5, 9, 0],
        ["1", 3, 0.5, 0, 0],
        [1e-3, None, 0.5, 0, 0],
    ],
)
def test_an_answer_to_something_else_is_none(answer: list[Any]) -> None:
    assert params_of(SPACE, answer) is None


def test_every_name_fits_into_a_key() -> None:
    chance = Random(1)
    points = {2**number: -chance.random() * 1e-300 for number in range(40)}
    name = encode_name(999_999, points)
    decoded = decode_name(name)
    assert len(name) < 400 and decoded is not None and max(decoded[1]) == 2**39
