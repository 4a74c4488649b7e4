"""JSON: the values; spaces and the order of an object's names do not count."""

from __future__ import annotations

import json
from typing import Any

from outlast.results.compare.numbers import accepted
from outlast.results.compare.source import Look, Source, Unreadable


def compare(reference: Source, other: Source, look: Look) -> str:
    return compare_values(load(reference), load(other), "", look)


def load(source: Source) -> Any:
    try:
        return json.loads(source.read(), object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise Unreadable("not JSON") from error


def compare_values(left: Any, right: Any, where: str, look: Look) -> str:
    """The first difference in words. Without a tolerance `1` is not `1.0`, nor `0.0` `-0.0`: as it is with arrays."""
    try:
        return _compare(left, right, where, look)
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return value


def _compare(left: Any, right: Any, where: str, look: Look) -> str:
    if isinstance(left, dict) and isinstance(right, dict):
        return _compare_objects(left, right, where, look)
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return f"{_place(where)}{len(right)} items instead of {len(left)}"
        for i, (mine, theirs) in enumerate(zip(left, right, strict=True)):
            words = _compare(mine, theirs, f"{where}[{i}]", look)
            if words:
                return words
        return ""
    if type(left) is type(right) and (repr(left) if isinstance(left, float) else left) == (
        repr(right) if isinstance(right, float) else right
    ):
        return ""
    if _number(left) and _number(right) and accepted(left, right, look):
        return ""
    return f"{_place(where)}{_short(right)} instead of {_short(left)}"


def _compare_objects(left: dict[str, Any], right: dict[str, Any], where: str, look: Look) -> str:
    if left.keys() != right.keys():
        name = min(left.keys() ^ right.keys())
        return f"{_place(where)}`{name}` is only in {'the reference' if name in left else 'the other'}"
    for name, value in left.items():
        words = _compare(value, right[name], f"{where}.{name}" if where else name, look)
        if words:
            return words
    return ""


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _place(where: str) -> str:
    return f"`{where}`: " if where else ""


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
