"""The language of `filter` in lists: `status = RUNNING AND labels.outlast:*`, and the older `name eq 'a.*'`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from typing import Any

from outlast_emulator.errors import ApiError, invalid

Test = Callable[[dict[str, Any]], bool]

_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[()])|(?P<sign>!=|<=|>=|=|<|>|:)|"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'"""
    r"""|(?P<word>[^\s()=!<>:"']+(?:\([^()]*\)[^\s()=!<>:"']*)*))"""
)
_OPERATORS = ("=", "!=", "<", ">", "<=", ">=", ":", "eq", "ne")
DEPTH_MAX = 50


def compiled(text: str) -> Test:
    """The test of one document; 400 for what cannot be read."""
    if not text.strip():
        return lambda document: True
    reader = _Reader(text)
    test = reader.either(0)
    if reader.ahead() is not None:
        raise reader.wrong()
    return test


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if not found or found.end() == at:
                raise self.wrong()
            kind = found.lastgroup or ""
            value = found[kind]
            if kind in ("double", "single"):
                kind, value = "quoted", re.sub(r"""\\(["'])""", r"\1", value)
            self._tokens.append((kind, value))
            at = found.end()
        self._at = 0

    def wrong(self) -> ApiError:
        return invalid(f"Invalid value for field 'filter': '{self._text}'. Invalid list filter expression.")

    def ahead(self) -> tuple[str, str] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def take(self) -> tuple[str, str]:
        found = self.ahead()
        if found is None:
            raise self.wrong()
        self._at += 1
        return found

    def either(self, depth: int) -> Test:
        tests = [self.all_of(depth)]
        while self.ahead() == ("word", "OR"):
            self.take()
            tests.append(self.all_of(depth))
        return lambda document: any(test(document) for test in tests)

    def all_of(self, depth: int) -> Test:
        tests = [self.one(depth)]
        while (ahead := self.ahead()) is not None and ahead not in (("mark", ")"), ("word", "OR")):
            if ahead == ("word", "AND"):
                self.take()
            tests.append(self.one(depth))
        return lambda document: all(test(document) for test in tests)

    def one(self, depth: int) -> Test:
        if depth > DEPTH_MAX:
            raise self.wrong()
        kind, value = self.take()
        if (kind, value) in (("word", "NOT"), ("word", "-")):
            inner = self.one(depth + 1)
            return lambda document: not inner(document)
        if (kind, value) == ("mark", "("):
            inner = self.either(depth + 1)
            if self.take() != ("mark", ")"):
                raise self.wrong()
            return inner
        if kind not in ("word", "quoted"):
            raise self.wrong()
        negated = kind == "word" and value.startswith("-") and len(value) > 1
        test = self.comparison(value.removeprefix("-") if negated else value)
        return (lambda document: not test(document)) if negated else test

    def comparison(self, field: str) -> Test:
        _, operator = self.take()
        if operator not in _OPERATORS:
            raise self.wrong()
        kind, value = self.take()
        if kind == "mark":
            raise self.wrong()
        if operator in ("eq", "ne"):
            try:
                pattern = re.compile(value)
            except re.error as error:
                raise self.wrong() from error
            found = lambda one: bool(pattern.fullmatch(_text(one)))  # noqa: E731
            return _over(field, found, negated=operator == "ne")
        if operator == ":":
            return _over(field, lambda one: _has(one, value))
        if operator in ("=", "!="):
            return _over(field, lambda one: _equals(one, value), negated=operator == "!=")
        return _over(field, lambda one: _compares(one, operator, value))


def _over(field: str, test: Callable[[Any], bool], *, negated: bool = False) -> Test:
    def call(document: dict[str, Any]) -> bool:
        return any(test(one) for one in _values(document, field)) != negated

    return call


def _values(value: Any, field: str) -> list[Any]:
    """All that `field` names: lists stand for their elements. A key may itself hold dots (labels cannot, metadata cannot)."""
    if isinstance(value, list):
        return [found for one in value for found in _values(one, field)]
    if not field:
        return [] if value is None else [value]
    if not isinstance(value, dict):
        return []
    head, _, rest = field.partition(".")
    if head.strip('"') in value:
        found = _values(value[head.strip('"')], rest)
        return found or ([[]] if value[head.strip('"')] == [] and not rest else [])
    return []


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _equals(value: Any, wanted: str) -> bool:
    if isinstance(value, (dict, list)):
        return False
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value) == float(wanted)
        except ValueError:
            return False
    return fnmatch.fnmatchcase(_text(value).lower(), wanted.lower().replace("[", "[[]"))


def _has(value: Any, wanted: str) -> bool:
    if wanted == "*":
        return True
    if isinstance(value, dict):
        return any(_equals(key, wanted) for key in value)
    if isinstance(value, list):
        return False
    if "*" in wanted:
        return _equals(value, wanted)
    return wanted.lower() in _text(value).lower()


def _compares(value: Any, operator: str, wanted: str) -> bool:
    left: Any
    right: Any
    try:
        left, right = float(_text(value)), float(wanted)
    except ValueError:
        left, right = _text(value), wanted
    return bool({"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[operator])
