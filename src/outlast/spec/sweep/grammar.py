"""What may stand in a sweep's file, rule by rule; a mistake is answered with the file, the key, what is wrong and what is allowed.

config    = expansion | [config, ...]          lists nest, and are concatenated
expansion = {key: value, ...}
key       = name | "[" name ("," name)* "]"
name      = one or more characters other than white space , [ ]
value     = scalar | list                      scalar = text, number, true, false
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown

DEPTH_MAX = 50
VALUES_ALLOWED = "a value is text, a number, `true`, `false`, or a list of these"
KEYS_ALLOWED = (
    "a key is a flag's name without its dashes, `learning_rate`, or several that change together, `[width,depth]`; "
    "in a name there is no space, comma or bracket"
)
COMPOUND_ALLOWED = "`[a,b]` takes a list of lists, one value for each name: `[[1, 2], [3, 4]]`"

_NAME = r"[^\s,\[\]\0]+"
_PLAIN = pattern(_NAME)
_COMPOUND = pattern(rf"\[\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*\]")


@dataclass(frozen=True)
class Place:
    """Where in a document something stands, for people."""

    file: str
    config: tuple[int, ...] = ()
    """Which of a list's configurations, from 1, list within list."""

    key: str | None = None

    def inside(self, number: int) -> Place:
        return Place(self.file, (*self.config, number))

    def at(self, key: str) -> Place:
        return Place(self.file, self.config, key)

    def error(self, what: str, hint: str) -> UsageError:
        words = [f"`{self.file}`"]
        if self.config:
            words.append(f"config {'.'.join(map(str, self.config))}")
        if self.key is not None:
            words.append(f"key {shown(self.key)}")
        return UsageError(f"{', '.join(words)}: {what}", hint=hint)


@dataclass(frozen=True)
class Axis:
    """One key and its values: so many tuples, each with a value for every one of its names."""

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]


def configs(document: Any, place: Place) -> Iterator[tuple[dict[Any, Any], Place]]:
    """The expansions of a document in order, however deep their lists are nested."""
    if isinstance(document, dict):
        yield document, place
        return
    if not isinstance(document, list):
        raise place.error(
            f"it is {kind_of(document)}, where keys with values are expected",
            'a sweep is `{"lr": [0.1, 0.2], "layers": 4}`, or a list of such: `[{...}, {...}]`',
        )
    if len(place.config) >= DEPTH_MAX:
        raise place.error(f"lists are nested deeper than {DEPTH_MAX}", "write the configurations in one list")
    for number, one in enumerate(document, 1):
        yield from configs(one, place.inside(number))


def entries(config: dict[Any, Any], place: Place) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """(key, its names, its value) of an expansion, in the order of the file; no name is in two keys."""
    keys: dict[str, str] = {}
    for key, value in config.items():
        names = names_of(key, place)
        for name in names:
            if name in keys:
                raise place.at(key).error(
                    f"{shown(name)} is a key already, in {shown(keys[name])}", "a parameter stands in one key only"
                )
            keys[name] = key
        yield key, names, value


def names_of(key: Any, place: Place) -> tuple[str, ...]:
    """The flags that a key stands for."""
    if not isinstance(key, str):
        raise place.error(f"`{key}` is {kind_of(key)}, and a key is text", KEYS_ALLOWED)
    names = _names(key)
    if not names:
        _require_text(key, place.at(key))
        raise place.at(key).error("it is neither a name nor a valid compound key", KEYS_ALLOWED)
    if len(set(names)) < len(names):
        raise place.at(key).error("a name stands in it twice", "leave one out")
    return names


@lru_cache(maxsize=1024)
def _names(key: str) -> tuple[str, ...]:
    """Nothing for what is no key. Long lists of configurations have the same few keys again and again."""
    if not is_text(key):
        return ()
    if _PLAIN.fullmatch(key):
        return (key,)
    compound = _COMPOUND.fullmatch(key)
    return tuple(name.strip() for name in compound[1].split(",")) if compound is not None else ()


def axis_of(key: str, names: tuple[str, ...], value: Any, place: Place) -> Axis:
    """The values of a key; a scalar is a list of one."""
    if key.startswith("["):
        return Axis(names, _tuples(names, value, place.at(key)))
    require_value(value, place.at(key))
    return Axis(names, tuple((one,) for one in value) if isinstance(value, list) else ((value,),))


def _tuples(names: tuple[str, ...], value: Any, place: Place) -> tuple[tuple[Any, ...], ...]:
    if not isinstance(value, list):
        raise place.error(f"the key is compound, but its value is not: {written(value)}", COMPOUND_ALLOWED)
    if not value:
        raise place.error("the list is empty", COMPOUND_ALLOWED)
    require_value(value, place)
    many = value if isinstance(value[0], list) else [value]
    for one in many:
        if not isinstance(one, list):
            raise place.error(f"{written(one)} stands among lists, and is none", COMPOUND_ALLOWED)
        if len(one) != len(names):
            raise place.error(
                f"incompatible arities: {written(one)} has {_count(len(one), 'value')} for {_count(len(names), 'name')}",
                COMPOUND_ALLOWED,
            )
    return tuple(map(tuple, many))


def is_scalar(value: Any) -> bool:
    if isinstance(value, str):
        return is_text(value)
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def require_value(value: Any, place: Place, depth: int = 0) -> None:
    if isinstance(value, list):
        if depth > DEPTH_MAX:
            raise place.error(f"lists are nested deeper than {DEPTH_MAX}", VALUES_ALLOWED)
        for one in value:
            require_value(one, place, depth + 1)
    elif isinstance(value, str):
        _require_text(value, place)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise place.error(f"{written(value)} is no number that JSON has", f'write it as text: `"{value}"`')
    elif isinstance(value, dict):
        raise place.error(
            f"{written(value)} is {kind_of(value)}",
            f'{VALUES_ALLOWED}; ranges such as `{{"log": [1e-5, 1e-1]}}` are for `--search random|sobol|tpe`',
        )
    elif not isinstance(value, (bool, int)):
        what = "`null` is no value of a flag" if value is None else f"{written(value)} is {kind_of(value)}"
        raise place.error(what, VALUES_ALLOWED)


def is_text(text: str) -> bool:
    """Whether a program can be given it."""
    try:
        return "\0" not in text and (text.isascii() or bool(text.encode()))
    except UnicodeEncodeError:
        return False


def _require_text(text: str, place: Place) -> None:
    if not is_text(text):
        raise place.error("a NUL or half a character (`\\ud800`) stands in it", "no program can be given that")


def kind_of(value: Any) -> str:
    """In JSON's words."""
    if value is None:
        return "`null`"
    if isinstance(value, bool):
        return "a truth"
    kinds = {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def written(value: Any) -> str:
    try:
        return shown(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return shown(repr(value))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
