"""Whatever a document says, its cells are those of the plain implementation, in its order, however they are asked for."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings

from outlast.errors import UsageError
from outlast.spec.sweep.expand import expansion
from outlast.spec.sweep.flags import to_flags
from tests.sweep_grammar import plain
from tests.sweep_grammar.plain import UNHURRIED


def typed(cells: Any) -> str:
    """`1`, `1.0` and `True` are equal to Python, and not to a script; the order of keys counts too."""
    return repr([list(cell.items()) for cell in cells])


@UNHURRIED
@given(plain.DOCUMENTS)
def test_the_cells_are_those_of_the_plain_implementation(document: Any) -> None:
    found = expansion(document, "grid.json")
    wanted = plain.expand(document)
    assert typed(found) == typed(wanted)
    assert len(found) == found.cell_count == len(wanted)
    assert bool(found) == bool(wanted)


@settings(UNHURRIED, max_examples=400)
@given(plain.ANY_DOCUMENTS)
def test_what_the_plain_implementation_refuses_is_refused_and_nothing_else(document: Any) -> None:
    try:
        found = expansion(document, "grid.json")
    except UsageError as error:
        assert not plain.is_legal(document), error.message
        assert "`grid.json`" in error.message and error.hint
    else:
        assert plain.is_legal(document)
        assert typed(found) == typed(plain.expand(document))


@UNHURRIED
@given(plain.DOCUMENTS)
def test_a_cell_is_the_same_by_its_number_as_in_turn(document: Any) -> None:
    found = expansion(document, "grid.json")
    in_turn = list(found)
    assert typed(found[number] for number in range(len(found))) == typed(in_turn)
    assert typed(found[-number - 1] for number in range(len(found))) == typed(reversed(in_turn))
    assert typed(found[1:3]) == typed(in_turn[1:3])


@UNHURRIED
@given(plain.DOCUMENTS)
def test_flags_are_those_of_the_plain_implementation(document: Any) -> None:
    for cell in expansion(document, "grid.json"):
        assert list(to_flags(cell)) == plain.flags(cell)


@UNHURRIED
@given(plain.DOCUMENTS)
def test_what_went_through_json_means_the_same(document: Any) -> None:
    """A sweep's record is JSON: what a machine expands is what was submitted."""
    again = json.loads(json.dumps(document))
    assert typed(expansion(again, "grid.json")) == typed(expansion(document, "grid.json"))


@UNHURRIED
@given(plain.DOCUMENTS)
def test_names_are_all_that_any_cell_may_have(document: Any) -> None:
    found = expansion(document, "grid.json")
    assert {name for cell in found for name in cell} <= set(found.names())


def test_a_cell_that_is_not_there_is_an_index_error() -> None:
    found = expansion({"a": [1, 2]}, "grid.json")
    for number in (2, -3, 10**30):
        with pytest.raises(IndexError):
            found[number]


@pytest.mark.parametrize("first", [3, 500, 5000], ids=["one block", "several keys in a block", "a list above a block"])
def test_grids_of_many_blocks_are_in_order(first: int) -> None:
    """Blocks are an inner matter: beyond their size everything goes on as before."""
    document = {
        "a": list(range(first)),
        "b": list("xyz"),
        "[c,d]": [[1, 2], [3, 4]],
        "e": [0, 1],
        "f": 0,
    }
    found = expansion(document, "grid.json")
    assert typed(found) == typed(plain.expand(document))
    assert typed(found[number] for number in range(0, len(found), 97)) == typed(itertools.islice(found, 0, None, 97))


def test_more_cells_than_can_be_counted_cost_nothing_until_they_are_looked_at() -> None:
    document = {f"k{number}": list(range(10)) for number in range(40)}
    found = expansion(document, "grid.json")
    assert found.cell_count == 10**40
    assert list(found[10**39 + 7].values()) == [7] + [0] * 38 + [1]
    assert [cell["k0"] for cell in itertools.islice(found, 12)] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    assert [cell["k1"] for cell in itertools.islice(found, 12)] == [0] * 10 + [1, 1]


def test_cells_are_dicts_of_their_own() -> None:
    """Whoever changes one changes no other, nor the document."""
    document = [{"a": [1, 2], "b": 3}, {"c": 4}]
    found = expansion(document, "grid.json")
    for cell in (*found, found[0], found[2]):
        cell.clear()
    assert list(found) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}, {"c": 4}]
