"""The language of filters in the younger APIs: `resource.type="ml_job" AND severity>=ERROR`, `labels.a:* OR NOT state="X"`.

OR binds more closely than AND, a space is an AND, `-` and NOT turn a comparison round, `field=("a" OR "b")` is two comparisons. What
a field is, and how two values compare, is the API's business (`Fields`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, Protocol

from outlast_emulator.errors import ApiError, young

Test = Callable[[Any], bool]
_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[()])|(?P<sign>!=|<=|>=|=~|!~|=|<|>|:)|(?P<minus>-(?=[A-Za-z("]))"""
    r"""|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<word>(?:[^\s()=!<>:~"]|"(?:[^"\\]|\\.)*")+))"""
)
_SIGNS = ("=", "!=", "<", ">", "<=", ">=", ":", "=~", "!~")
DEPTH_MAX = 50
CHARACTERS_MAX = 20_000


class Fields(Protocol):
    def test(self, field: str, sign: str, value: str) -> Test | None:
        """The test of one comparison; None: there is no such field, or it does not compare like this."""
        ...

    def search(self, value: str) -> Test | None:
        """The test of a word without a field; None: there is no such thing here."""
        ...


def compiled(text: str, fields: Fields) -> Test:
    """400 for what cannot be read."""
    if not text.strip():
        return lambda entry: True
    if len(text) > CHARACTERS_MAX:
        raise young("INVALID_ARGUMENT", f"The filter has more than {CHARACTERS_MAX} characters.")
    reader = _Reader(text, fields)
    test = reader.all_of(0)
    if reader.ahead() is not None:
        raise reader.wrong()
    return test


class _Reader:
    def __init__(self, text: str, fields: Fields) -> None:
        self._text = text
        self._fields = fields
        self._tokens: list[tuple[str, str]] = []
        text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--")).rstrip()
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if not found or found.end() == at:
                raise self.wrong()
            kind = found.lastgroup or ""
            value = found[kind]
            self._tokens.append((kind, re.sub(r"\\(.)", r"\1", value) if kind == "quoted" else value))
            at = found.end()
        self._at = 0

    def wrong(self, why: str = "") -> ApiError:
        return young("INVALID_ARGUMENT", f"Unparseable filter: {why or 'syntax error'} in: {self._text}")

    def ahead(self) -> tuple[str, str] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def take(self) -> tuple[str, str]:
        found = self.ahead()
        if found is None:
            raise self.wrong("it ends too early")
        self._at += 1
        return found

    def all_of(self, depth: int) -> Test:
        tests = [self.any_of(depth)]
        while (ahead := self.ahead()) is not None and ahead != ("mark", ")"):
            if ahead == ("word", "AND"):
                self.take()
            tests.append(self.any_of(depth))
        return tests[0] if len(tests) == 1 else lambda entry: all(test(entry) for test in tests)

    def any_of(self, depth: int) -> Test:
        tests = [self.one(depth)]
        while self.ahead() == ("word", "OR"):
            self.take()
            tests.append(self.one(depth))
        return tests[0] if len(tests) == 1 else lambda entry: any(test(entry) for test in tests)

    def one(self, depth: int) -> Test:
        if depth > DEPTH_MAX:
            raise self.wrong("it is too deep")
        kind, value = self.take()
        if kind == "minus" or (kind, value) == ("word", "NOT"):
            inner = self.one(depth + 1)
            return lambda entry: not inner(entry)
        if (kind, value) == ("mark", "("):
            inner = self.all_of(depth + 1)
            self._close()
            return inner
        if kind not in ("word", "quoted") or (kind, value) in (("word", "AND"), ("word", "OR")):
            raise self.wrong(f"`{value}` is not expected there")
        ahead = self.ahead()
        if ahead is None or ahead[0] != "sign":
            found = self._fields.search(value)
            if found is None:
                raise self.wrong(f"`{value}` is compared with nothing")
            return found
        return self.compared(value, self.take()[1], depth)

    def compared(self, field: str, sign: str, depth: int) -> Test:
        kind, value = self.take()
        if (kind, value) == ("mark", "("):
            tests = [self._comparison(field, sign, self._value())]
            while self.ahead() in (("word", "OR"), ("word", "AND")):
                word = self.take()[1]
                test = self._comparison(field, sign, self._value())
                tests = [_joined(word, tests[0], test)]
            self._close()
            return tests[0]
        if kind == "minus":
            value = f"-{self._value()}"
        elif kind not in ("word", "quoted"):
            raise self.wrong(f"`{field}{sign}` is compared with nothing")
        return self._comparison(field, sign, value)

    def _comparison(self, field: str, sign: str, value: str) -> Test:
        if sign not in _SIGNS:
            raise self.wrong()
        found = self._fields.test(field, sign, value)
        if found is None:
            raise self.wrong(f"`{field}` cannot be compared by `{sign}`")
        return found

    def _value(self) -> str:
        kind, value = self.take()
        if kind not in ("word", "quoted"):
            raise self.wrong(f"`{value}` is no value")
        return value

    def _close(self) -> None:
        if self.take() != ("mark", ")"):
            raise self.wrong("a bracket is open")


def _joined(word: str, first: Test, second: Test) -> Test:
    if word == "OR":
        return lambda entry: first(entry) or second(entry)
    return lambda entry: first(entry) and second(entry)


def ordered(left: Any, sign: str, right: Any) -> bool:
    """Two values of a kind."""
    return bool(
        {
            "=": left == right,
            "!=": left != right,
            "<": left < right,
            ">": left > right,
            "<=": left <= right,
            ">=": left >= right,
        }[sign]
    )


def moment(text: str) -> float | None:
    """A time of RFC 3339 (or a day alone), in seconds since 1970; None: it is none."""
    found = re.fullmatch(
        r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d)?)(\.\d+)?([Zz]|[+-]\d\d:?\d\d)?)?", text, flags=re.ASCII
    )
    if found is None:
        return None
    zone = (found[4] or "Z").upper().replace("Z", "+00:00")
    try:
        whole = datetime.fromisoformat(
            f"{found[1]}T{found[2] or '00:00:00'}{zone if ':' in zone else zone[:3] + ':' + zone[3:]}"
        )
    except ValueError:
        return None
    return whole.astimezone(timezone.utc).timestamp() + float(found[3] or 0)
