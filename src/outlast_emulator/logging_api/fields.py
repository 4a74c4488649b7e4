"""What a filter can ask of a log entry: any field by its path, times and severities in their order."""

from __future__ import annotations

import json
import re
from typing import Any

from outlast_emulator.filters import Test, moment, ordered

SEVERITIES = ("DEFAULT", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY")
RANKS = {name: rank for rank, name in enumerate(SEVERITIES)}
TIMES = ("timestamp", "receiveTimestamp")
_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|([^.]+)')


class EntryFields:
    def test(self, field: str, sign: str, value: str) -> Test | None:
        parts = [quoted or plain for quoted, plain in _PART.findall(field)]
        if not parts:
            return None
        if field == "severity" and sign not in ("=~", "!~", ":"):
            return _severity(sign, value)
        if field in TIMES:
            return _time(field, sign, value)
        if sign in ("=~", "!~"):
            return _pattern(parts, value, negated=sign == "!~")
        if sign == ":":
            return lambda entry: any(_has(one, value) for one in values(entry, parts))
        if sign == "!=":
            return lambda entry: not any(_compares(one, "=", value) for one in values(entry, parts))
        return lambda entry: any(_compares(one, sign, value) for one in values(entry, parts))

    def search(self, value: str) -> Test:
        wanted = value.lower()
        return lambda entry: wanted in json.dumps(entry, ensure_ascii=False).lower()


def values(entry: Any, parts: list[str]) -> list[Any]:
    """All that a path names; a list stands for its elements. Keys of labels may hold dots."""
    if isinstance(entry, list):
        return [found for one in entry for found in values(one, parts)]
    if not parts:
        return [entry]
    if not isinstance(entry, dict):
        return []
    for taken in range(len(parts), 0, -1):
        key = ".".join(parts[:taken])
        if key in entry:
            return values(entry[key], parts[taken:])
    return []


def _severity(sign: str, value: str) -> Test | None:
    rank = RANKS.get(value.upper())
    if rank is None:
        return None
    return lambda entry: ordered(RANKS.get(str(entry.get("severity", "DEFAULT")), 0), sign, rank)


def _time(field: str, sign: str, value: str) -> Test | None:
    wanted = moment(value)
    if wanted is None or sign in ("=~", "!~", ":"):
        return None
    return lambda entry: ordered(moment(str(entry.get(field, ""))) or 0.0, sign, wanted)


def _pattern(parts: list[str], value: str, *, negated: bool) -> Test | None:
    try:
        pattern = re.compile(value)
    except re.error:
        return None
    return lambda entry: any(pattern.search(str(one)) for one in values(entry, parts)) != negated


def _has(value: Any, wanted: str) -> bool:
    if wanted == "*":
        return True
    if isinstance(value, dict):
        return wanted in value
    return wanted.lower() in _text(value).lower()


def _compares(value: Any, sign: str, wanted: str) -> bool:
    if isinstance(value, (dict, list)):
        return False
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return ordered(float(value), sign, float(wanted))
        except ValueError:
            return False
    return ordered(_text(value).lower(), sign, wanted.lower())


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
