"""How one value of a query is checked, in the words in which Google refuses it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Word = Callable[[str], "str | None"] | None
"""Gets a value and says what is wrong with it, or None; the check itself is None where every text will do."""

RANGES = {
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint64": (0, (1 << 64) - 1),
}
_KINDS = {"int32": "integer", "uint32": "unsigned integer", "int64": "long", "uint64": "unsigned long"}
_DIGITS = re.compile(r"[+-]?[0-9]{1,20}\Z", re.ASCII)
DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)\Z", re.ASCII)


def whole_number(text: str, form: str) -> bool:
    """Whether the text is a number that fits the format `int32`, `uint32`, `int64` or `uint64`."""
    if len(text) < 10 and text.isascii() and text.isdigit():
        return True  # it fits all of them
    if not _DIGITS.match(text):
        return False
    low, high = RANGES[form]
    return low <= int(text) <= high


def word_check(parameter: dict[str, Any]) -> Word:
    form = parameter.get("format", "")
    if form in RANGES:
        return _number(form)
    if parameter["type"] == "integer":
        return _number("int32")
    if parameter["type"] == "boolean":
        return _truth
    if "enum" in parameter:
        return _choice(tuple(parameter["enum"]))
    if form in ("date-time", "google-datetime"):
        return _time
    return None


def _number(form: str) -> Word:
    kind = _KINDS[form]

    def check(text: str) -> str | None:
        return None if whole_number(text, form) else f"Invalid {kind} value: '{text}'."

    return check


def _truth(text: str) -> str | None:
    return None if text.lower() in ("true", "false", "1", "0", "") else f"Invalid boolean value: '{text}'."


def _choice(allowed: tuple[str, ...]) -> Word:
    known = frozenset(allowed)
    listed = ", ".join(allowed)

    def check(text: str) -> str | None:
        return None if text in known else f"Invalid string value: '{text}'. Allowed values: [{listed}]"

    return check


def _time(text: str) -> str | None:
    return None if DATE_TIME.match(text) else f'Invalid value for: Invalid format: "{text}"'
