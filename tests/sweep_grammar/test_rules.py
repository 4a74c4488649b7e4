"""Every rule of the grammar, one by one: what is read, and how what is not read is answered."""

from __future__ import annotations

from typing import Any

import pytest

from outlast.errors import EXIT_USAGE, UsageError
from outlast.spec.sweep.expand import expansion
from outlast.spec.sweep.flags import to_flags


def cells(document: Any) -> list[dict[str, Any]]:
    return list(expansion(document, "grid.json"))


def refused(document: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        expansion(document, "grid.json")
    assert caught.value.exit_code == EXIT_USAGE
    assert "`grid.json`" in caught.value.message and caught.value.hint
    return caught.value


def test_the_first_key_changes_fastest() -> None:
    assert cells({"a": [1, 2], "b": [3, 4]}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}, {"a": 1, "b": 4}, {"a": 2, "b": 4}]


def test_keys_keep_the_order_of_the_file() -> None:
    assert [list(cell) for cell in cells({"z": [1, 2], "a": 3, "[m,b]": [1, 2]})] == [["z", "a", "m", "b"]] * 2


def test_a_scalar_is_the_same_in_every_cell() -> None:
    assert cells({"a": [1, 2], "b": "x"}) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]


def test_lists_of_configurations_are_concatenated_however_deep_they_are() -> None:
    assert cells([{"a": [1, 2]}, [[{"b": 3}], []], {"c": 4}]) == [{"a": 1}, {"a": 2}, {"b": 3}, {"c": 4}]


def test_an_empty_object_is_one_cell_without_flags() -> None:
    assert cells({}) == [{}] and to_flags({}) == ()


def test_an_empty_list_of_configurations_is_no_cell() -> None:
    assert cells([]) == [] and not expansion([], "grid.json")


def test_an_empty_list_of_values_is_no_cell_of_that_configuration() -> None:
    assert cells([{"a": [], "b": [1, 2]}, {"c": 3}]) == [{"c": 3}]


def test_a_compound_key_is_one_axis() -> None:
    document = {"[a,b]": [[1, 2], [3, 4]], "c": [5, 6]}
    assert [tuple(cell.values()) for cell in cells(document)] == [(1, 2, 5), (3, 4, 5), (1, 2, 6), (3, 4, 6)]


def test_a_list_without_lists_is_the_one_tuple_of_a_compound_key() -> None:
    assert cells({"[a,b]": [1, 2]}) == [{"a": 1, "b": 2}]
    assert cells({"[a,b]": [1, [2, 3]]}) == [{"a": 1, "b": [2, 3]}]


def test_a_compound_key_may_have_one_name() -> None:
    assert cells({"[a]": [1]}) == [{"a": 1}]
    assert cells({"[a]": [[1], [2]]}) == [{"a": 1}, {"a": 2}]


def test_spaces_are_allowed_around_the_names_of_a_compound_key() -> None:
    assert cells({"[ a ,\tb ]": [1, 2]}) == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("name", ["a", "a-b", "a_b", "a.b", "A", "é", "--a", "a=b", "{a}", "0", "a:b"])
def test_a_name_is_anything_without_spaces_commas_and_brackets(name: str) -> None:
    assert cells({name: 1}) == [{name: 1}] == cells({f"[{name}]": [1]})


@pytest.mark.parametrize(
    "key", ["", " ", "a b", " a", "a,b", "[a", "a]", "[]", "[a,]", "[,a]", "[a b]", "[[a]]", " [a]", "a\n"]
)
def test_any_other_key_is_refused(key: str) -> None:
    error = refused([{"x": 1}, {key: 1}])
    assert "neither a name nor a valid compound key" in error.message and "config 2" in error.message
    assert "`[width,depth]`" in error.hint


@pytest.mark.parametrize("key", [1, None, True, (1, 2)])
def test_a_key_is_text(key: Any) -> None:
    assert "a key is text" in refused({key: 1}).message


def test_nested_lists_stay_lists_and_are_given_as_text() -> None:
    assert cells({"a": [[1, 2], [], 3]}) == [{"a": [1, 2]}, {"a": []}, {"a": 3}]
    assert to_flags({"a": [1, "x"], "b": [], "c": [True]}) == ("--a", "[1, 'x']", "--b", "[]", "--c", "[True]")


@pytest.mark.parametrize(
    ("value", "flags"),
    [
        (True, ["--a"]),
        (False, []),
        (0, ["--a", "0"]),
        (1, ["--a", "1"]),
        (-3, ["--a", "-3"]),
        (0.1, ["--a", "0.1"]),
        (1e-5, ["--a", "1e-05"]),
        (1.0, ["--a", "1.0"]),
        (10**30, ["--a", "1" + "0" * 30]),
        ("", ["--a", ""]),
        ("x y", ["--a", "x y"]),
        ("--b", ["--a", "--b"]),
        ("true", ["--a", "true"]),
    ],
)
def test_a_value_becomes_words(value: Any, flags: list[str]) -> None:
    assert list(to_flags({"a": value})) == flags


def test_booleans_in_a_list_are_flags_that_come_and_go() -> None:
    assert [to_flags(cell) for cell in cells({"v": [True, False], "a": 1})] == [("--v", "--a", "1"), ("--a", "1")]


@pytest.mark.parametrize("document", [3, "x", None, True, 1.5])
def test_a_document_is_an_object_or_a_list(document: Any) -> None:
    assert "where keys with values are expected" in refused(document).message
    assert "config 2" in refused([{}, document]).message


def test_where_in_a_list_of_lists_something_is_wrong_is_said() -> None:
    assert "config 2.1.3, key `lr`:" in refused([{}, [[{}, {}, {"lr": None}]]]).message


@pytest.mark.parametrize("value", [None, [1, None], [[None]]])
def test_null_is_no_value(value: Any) -> None:
    error = refused({"lr": value})
    assert "key `lr`" in error.message and "`null`" in error.message and "a list of these" in error.hint


@pytest.mark.parametrize("value", [{}, {"x": 1}, [1, {"x": 1}]])
def test_an_object_is_no_value_and_ranges_are_pointed_to(value: Any) -> None:
    error = refused({"lr": value})
    assert "key `lr`" in error.message and "an object" in error.message and "--search" in error.hint


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1.0, float("-inf")]])
def test_numbers_that_json_has_not_are_refused(value: Any) -> None:
    assert "no number that JSON has" in refused({"lr": value}).message


@pytest.mark.parametrize("value", ["a\0b", "\ud800", ["x", "\0"]])
def test_text_that_no_program_can_be_given_is_refused(value: Any) -> None:
    assert "key `lr`" in refused({"lr": value}).message
    assert "half a character" in refused({"l\0r": 1}).message
    assert "half a character" in refused({"l\udfffr": 1}).message


@pytest.mark.parametrize("value", [1, "x", True, 2.5])
def test_a_scalar_for_a_compound_key_is_refused(value: Any) -> None:
    assert "compound, but its value is not" in refused({"[a,b]": value}).message


def test_an_empty_list_for_a_compound_key_is_refused() -> None:
    assert "the list is empty" in refused({"[a,b]": []}).message


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("[a,b]", [1], "1 value for 2 names"),
        ("[a,b]", [1, 2, 3], "3 values for 2 names"),
        ("[a,b]", [[1, 2], [3]], "1 value for 2 names"),
        ("[a]", [1, 2], "2 values for 1 name"),
        ("[a,b]", [[]], "0 values for 2 names"),
    ],
)
def test_as_many_values_as_names(key: str, value: Any, said: str) -> None:
    error = refused({key: value})
    assert "incompatible arities" in error.message and said in error.message and f"key `{key}`" in error.message


def test_what_stands_among_the_lists_of_a_compound_key_is_a_list() -> None:
    assert "stands among lists" in refused({"[a,b]": [[1, 2], 3]}).message


@pytest.mark.parametrize(
    "document", [{"a": 1, "[a,b]": [1, 2]}, {"[b,a]": [1, 2], "a": 1}, {"[a,b]": [1, 2], "[b,c]": [1, 2]}]
)
def test_a_parameter_stands_in_one_key_only(document: Any) -> None:
    assert "is a key already" in refused(document).message


def test_a_name_stands_in_a_compound_key_once() -> None:
    assert "twice" in refused({"[a,b,a]": [1, 2, 3]}).message


def test_nesting_without_end_is_refused() -> None:
    document: Any = {"a": 1}
    for _ in range(60):
        document = [document]
    assert "nested deeper" in refused(document).message
    assert "nested deeper" in refused({"a": document[0][0]}).message
