"""The grammar once more, in the plainest way: a second opinion on what a document means."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy with something else."""


def expand(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, list):
        found = []
        for one in document:
            found += expand(one)
        return found
    return product(list(document.items()))


def product(items: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """The last key is the slowest: for each of its values, all that the keys before it mean."""
    if not items:
        return [{}]
    key, value = items[-1]
    found = []
    for chosen in choices(key, value):
        for before in product(items[:-1]):
            found.append({**before, **chosen})
    return found


def choices(key: str, value: Any) -> list[dict[str, Any]]:
    if key[0] != "[":
        return [{key: one} for one in value] if isinstance(value, list) else [{key: value}]
    names = [name.strip() for name in key[1:-1].split(",")]
    many = value if isinstance(value[0], list) else [value]
    return [{name: one[place] for place, name in enumerate(names)} for one in many]


def flags(cell: dict[str, Any]) -> list[str]:
    words = []
    for key, value in cell.items():
        if isinstance(value, bool):
            words += ["--" + key] if value else []
        else:
            words += ["--" + key, str(value)]
    return words


def is_legal(document: Any) -> bool:
    """Every rule once more, as a yes or no."""
    if isinstance(document, list):
        return all(is_legal(one) for one in document)
    if not isinstance(document, dict):
        return False
    names: list[str] = []
    for key, value in document.items():
        own = names_in(key)
        if not own or not is_legal_value(value):
            return False
        names += own
        if key[0] == "[":
            if not isinstance(value, list) or not value:
                return False
            many = value if isinstance(value[0], list) else [value]
            if not all(isinstance(one, list) and len(one) == len(own) for one in many):
                return False
    return len(set(names)) == len(names)


def names_in(key: str) -> list[str]:
    """Empty: it is no key."""
    inner = key[1:-1] if key[:1] == "[" and key[-1:] == "]" and len(key) > 1 else None
    names = [key] if inner is None else [name.strip() for name in inner.split(",")]
    wrong = any(not name or "\0" in name or any(one.isspace() or one in ",[]" for one in name) for name in names)
    return [] if wrong else names


def is_legal_value(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(is_legal_value, value))
    if isinstance(value, str):
        return "\0" not in value
    return isinstance(value, (bool, int)) or (isinstance(value, float) and value - value == 0)


NAMES = st.sampled_from(["a", "lr", "batch_size", "no-aug", "x.y", "é", "K=1", "-d", "{b}", '"q"', "0", "long" * 9])
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
SCALARS = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
ELEMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2), max_leaves=4)
PLAIN_VALUES = st.one_of(SCALARS, st.lists(ELEMENTS, max_size=4))
SPACES = st.sampled_from(["", " ", "\t "])


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """An expansion with up to four keys, some of them compound."""
    names = draw(st.lists(NAMES, unique=True, max_size=6))
    table: dict[str, Any] = {}
    while names and len(table) < 4:
        arity = draw(st.integers(0, min(3, len(names))))
        if arity == 0:
            table[names.pop(0)] = draw(PLAIN_VALUES)
            continue
        chosen, names = names[:arity], names[arity:]
        key = "[" + ",".join(draw(SPACES) + name + draw(SPACES) for name in chosen) + "]"
        exactly = st.lists(ELEMENTS, min_size=arity, max_size=arity)
        one = exactly.filter(lambda values: not isinstance(values[0], list))
        table[key] = draw(st.one_of(one, st.lists(exactly, min_size=1, max_size=3)))
    return table


DOCUMENTS = st.recursive(tables(), lambda inner: st.lists(inner, max_size=3), max_leaves=4)

ANY_KEYS = st.one_of(
    NAMES,
    st.sampled_from(
        [
            "",
            " ",
            "a b",
            "a,b",
            "[a",
            "a]",
            "[]",
            "[a,]",
            "[[a]]",
            " [a]",
            "[a,a]",
            "[a,b]",
            "[ lr , a ]",
            "[0]",
            "a\0",
            "\u00a0",
        ]
    ),
    st.text("ab[], \t", max_size=6),
)
ANY_VALUES = st.recursive(
    st.one_of(SCALARS, st.none(), st.floats(), st.sampled_from(["\0", {}, {"log": [1, 2]}])),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@st.composite
def doubtful_tables(draw: st.DrawFn) -> dict[str, Any]:
    """One key among right ones that may be wrong, have a wrong value, or stand there twice."""
    items = list(draw(tables()).items())
    odd = draw(
        st.one_of(
            st.tuples(ANY_KEYS, st.sampled_from([1, [1, 2], [[1, 2], [3, 4]]])),
            st.tuples(NAMES, st.sampled_from([None, [1, None], [[None]], {}, [{}], math.nan, [math.inf], "\0", []])),
            st.tuples(ANY_KEYS, ANY_VALUES),
        )
    )
    items.insert(draw(st.integers(0, len(items))), odd)
    return dict(items)


ANY_DOCUMENTS = st.one_of(
    doubtful_tables(),
    doubtful_tables(),
    st.lists(st.one_of(doubtful_tables(), st.lists(tables(), max_size=2), SCALARS, st.none()), max_size=2),
    st.one_of(SCALARS, st.none()),
)
"""Right ones and wrong ones."""
