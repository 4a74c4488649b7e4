"""The YAML that is read is read as everybody reads it; the rest is refused by its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.spec.yaml import YamlError, read_yaml

READ: list[tuple[str, Any]] = [
    ("", None),
    ("# nothing\n\n", None),
    ("a: 1\nb: two words\n", {"a": 1, "b": "two words"}),
    ("---\na: -1\nb: +2\nc: 0x1f\nd: 0o17\n", {"a": -1, "b": 2, "c": 31, "d": 15}),
    ("a: 1e-3\nb: .5\nc: 1.\nd: 6.02E23\n", {"a": 0.001, "b": 0.5, "c": 1.0, "d": 6.02e23}),
    ("a: true\nb: False\nc: null\nd: ~\ne:\n", {"a": True, "b": False, "c": None, "d": None, "e": None}),
    ("a: 'yes'\nb: \"no\"\n", {"a": "yes", "b": "no"}),
    ("a: 'it''s'\nb: \"q\\\"\\n\\u00e9\\x41\"\n", {"a": "it's", "b": 'q"\né' + "A"}),
    ("a: x # comment\nb: x#y\nc: '# no'\nd: http://h/p#f\n", {"a": "x", "b": "x#y", "c": "# no", "d": "http://h/p#f"}),
    ("a:\n  b:\n    c: 1\n  d: 2\n", {"a": {"b": {"c": 1}, "d": 2}}),
    ("a:\n- 1\n- x: 1\n  y: 2\n-\n  - deep\n  - - deeper\n", {"a": [1, {"x": 1, "y": 2}, ["deep", ["deeper"]]]}),
    ("- a\n- b: [1, 2, {c: d}]\n", ["a", {"b": [1, 2, {"c": "d"}]}]),
    ("a: [1,\n    2, # two\n    3]\nb: {}\nc: []\n", {"a": [1, 2, 3], "b": {}, "c": []}),
    ("a: {b: 'x, y', \"c d\": [~]}\n", {"a": {"b": "x, y", "c d": [None]}}),
    ("t: |\n  one\n    two\n\n  three\nu: |-\n  x\n", {"t": "one\n  two\n\nthree\n", "u": "x"}),
    ("t: >-\n  one\n  two\n\n  three\n", {"t": "one two\n\nthree"}),
    ("day: 2024-01-01\ntime: 12.30 h\nversion: 1.2.3\n", {"day": "2024-01-01", "time": "12.30 h", "version": "1.2.3"}),
    ("1: a\ntrue: b\n'': c\n", {"1": "a", "true": "b", "": "c"}),
    ("a: -\nb: - x\n".replace("b: - x\n", ""), {"a": "-"}),
    ("\ufeffa: ü\r\nb: 2\r\n", {"a": "ü", "b": 2}),
]

REFUSED = [
    ("a: yes", 1, "different things"),
    ("a: 1\nb: [x, off]", 2, "different things"),
    ("a: 0123", 1, "different things"),
    ("a: 1_000", 1, "different things"),
    ("a: 12:30", 1, "different things"),
    ("a: &x 1", 1, "anchors"),
    ("a: *x", 1, "aliases"),
    ("a:\n  <<: {b: 1}", 2, "merge keys"),
    ("a: !!python/object/apply:os.system [id]", 1, "tags"),
    ("a: 1\na: 2", 2, "twice"),
    ("a: {b: 1, b: 2}", 1, "twice"),
    ("a:\n\tb: 1", 2, "tab"),
    ("a: 1\n   b: 2", 2, "goes on in the next line"),
    ("a:\n    b: 1\n  c: 2", 3, "not indented"),
    ("a: [1, 2", 1, "not closed"),
    ("a: 'x", 1, "not closed"),
    ("a: b: c", 1, "two colons"),
    ('a: "x" y', 1, "closing quote"),
    ("a: [1] 2", 1, "closing bracket"),
    ('a: "\\q"', 1, "no escape"),
    ("a: {b}", 1, "no value"),
    ("a: [1 2, ,]", 1, "missing"),
    ("a: .inf", 1, "no number that JSON has"),
    ("a: 1e999", 1, "larger than any number"),
    ("a: 1\n---\nb: 2", 2, "one document"),
    ("%YAML 1.2\na: 1", 1, "one document"),
    ("? a\n: b", 1, "begin with `?`"),
    ("a: 1\nb", 2, "is no `key: value`"),
    ("a: " + "[" * 200 + "]" * 200, 1, "nested deeper"),
    ("\n".join(" " * n + f"k{n}:" for n in range(200)), 51, "nested deeper"),
    ("a: @x", 1, "quotes"),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_what_configurations_are_written_in_is_read(text: str, value: Any) -> None:
    assert read_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "line", "words"), REFUSED, ids=[words + str(n) for n, (_, _, words) in enumerate(REFUSED)]
)
def test_the_rest_is_refused_by_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(YamlError, match=words) as refused:
        read_yaml(text)
    assert abs(refused.value.line - line) <= (1 if "nested" in words else 0)


@given(st.text(alphabet="ab:-#[]{}\"'\n ,|>&*!?%\\0.1", max_size=60))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    try:
        read_yaml(text)
    except YamlError:
        return


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=8), PLAIN, max_size=4))
def test_json_is_yaml(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    assert read_yaml(text) == (document if document else {})
