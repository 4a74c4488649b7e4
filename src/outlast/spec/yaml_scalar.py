"""What stands on one line of YAML: keys, scalars, and flow maps and lists."""

from __future__ import annotations

import re
from typing import Any

from outlast.pattern import pattern

DEPTH_MAX = 50

_INTEGER = pattern(r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_UNCLEAR = pattern(
    r"(?i:yes|no|on|off)|[-+]?0[0-9]+|[-+]?[0-9][0-9,]*_[0-9_.]*|[-+]?[0-9]+(?::[0-5]?[0-9])+(?:\.[0-9]*)?|0b[01_]+"
)
"""Truths, octal numbers, underscores and base sixty: in YAML 1.1, not in 1.2."""

_NOT_FINITE = pattern(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS = {"null": None, "Null": None, "NULL": None, "~": None}
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\",
}  # fmt: skip
_CODES = {"x": 2, "u": 4, "U": 8}
_INDICATORS = {
    "&": "anchors (`&`) are not read; write the value out",
    "*": "aliases (`*`) are not read; write the value out",
    "!": "tags (`!`) are not read; a value is what it looks like",
    "%": "a value cannot begin with `%`; put it into quotes",
    "@": "a value cannot begin with `@`; put it into quotes",
    "`": "a value cannot begin with a backtick; put it into quotes",
    "|": "`|` stands alone behind its key",
    ">": "`>` stands alone behind its key",
}


class Refused(ValueError):
    """What is not read, in words; whoever knows the line adds it."""


def plain(text: str) -> Any:
    """A scalar that fills the rest of a line."""
    if text[0] in "\"'":
        value, end = quoted(text, 0)
        if text[end:].strip():
            raise Refused(f"`{text[end:].strip()[:40]}` stands behind a closing quote")
        return value
    if re.search(r":(?:\s|$)", text):
        raise Refused(f"`{text[:60]}` has two colons; put the value into quotes")
    return resolved(text)


def resolved(text: str) -> Any:
    """What a plain scalar means, where all readers of YAML agree on it."""
    if not text or text in _WORDS:
        return None
    if text in _TRUTHS:
        return _TRUTHS[text]
    if text[0] in _INDICATORS:
        raise Refused(_INDICATORS[text[0]])
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _UNCLEAR.fullmatch(text):
        clear = "`true`, `false`" if text.isalpha() else "a plain number"
        raise Refused(f'`{text}` means different things to different readers of YAML; write {clear} or `"{text}"`')
    if _FLOAT.fullmatch(text):
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise Refused(f"`{text}` is larger than any number")
        return value
    if _NOT_FINITE.fullmatch(text):
        raise Refused(f"`{text}` is no number that JSON has; leave it out, or write it as text")
    return text


def quoted(text: str, at: int) -> tuple[str, int]:
    """The string that begins with the quote at `at`, and where it ends."""
    quote = text[at]
    found = []
    at += 1
    while at < len(text):
        one = text[at]
        if one == quote:
            if quote == "'" and text[at + 1 : at + 2] == "'":
                found.append("'")
                at += 2
                continue
            return _whole("".join(found)), at + 1
        if one == "\\" and quote == '"':
            value, at = _escaped(text, at + 1)
            found.append(value)
            continue
        found.append(one)
        at += 1
    raise Refused(f"the quote {quote} is not closed on its line")


def _whole(text: str) -> str:
    """Two escapes may stand for one character, as in JSON."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise Refused("half a character (`\\ud800`) stands in a quoted text") from None


def _escaped(text: str, at: int) -> tuple[str, int]:
    mark = text[at : at + 1]
    if mark in _ESCAPES:
        return _ESCAPES[mark], at + 1
    length = _CODES.get(mark, 0)
    digits = text[at + 1 : at + 1 + length]
    if not length or len(digits) != length or not re.fullmatch(r"[0-9a-fA-F]+", digits) or int(digits, 16) > 0x10FFFF:
        raise Refused(f"`\\{mark}` is no escape")
    return chr(int(digits, 16)), at + 1 + length


def without_comment(line: str) -> str:
    """A `#` begins a comment at the beginning or behind a space, outside of quotes."""
    if "#" not in line:
        return line
    quote = ""
    at = 0
    while at < len(line):
        one = line[at]
        if quote:
            if one == "\\" and quote == '"':
                at += 1
            elif one == quote:
                quote = ""
        elif one in "\"'" and (at == 0 or line[at - 1] in " [{,:-"):
            quote = one
        elif one == "#" and (at == 0 or line[at - 1] in " \t"):
            return line[:at]
        at += 1
    return line


def split_key(text: str) -> tuple[str, str] | None:
    """(key as written, rest) of `key: value`; None if the line has no key."""
    if text[0] in "[{":
        return None
    if text[0] in "\"'":
        _, end = quoted(text, 0)
        after = text[end:].lstrip()
        if not after.startswith(":") or (len(after) > 1 and after[1] not in " \t"):
            return None
        return text[:end], after[1:].strip()
    found = re.search(r":(?=\s|$)", text)
    return None if found is None else (text[: found.start()].rstrip(), text[found.end() :].strip())


class Unquoted(str):
    """A key that other readers of YAML take for a number, a truth or nothing."""


def key_of(text: str) -> str:
    """A key is text, whatever it looks like."""
    if text[:1] in ("'", '"'):
        return quoted(text, 0)[0]
    if text == "<<":
        raise Refused("merge keys (`<<`) are not read; give several `--config` files, which are merged")
    if not text or text[0] in _INDICATORS:
        raise Refused(_INDICATORS.get(text[:1], "a key is missing before `:`"))
    try:
        return text if isinstance(resolved(text), str) else Unquoted(text)
    except Refused:
        return text  # words on which they disagree, as `n`: a flag may well be called so


class Flow:
    """`[1, two]` and `{a: 1}`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @staticmethod
    def ends(text: str) -> bool:
        """Whether all brackets are closed."""
        depth = at = 0
        while at < len(text):
            if text[at] in "\"'" and (at == 0 or text[at - 1] in " [{,:"):
                at = quoted(text, at)[1]
                continue
            depth += (text[at] in "[{") - (text[at] in "]}")
            at += 1
        return depth <= 0

    def whole(self, depth: int) -> Any:
        value = self._value(depth)
        if self._text[self._at :].strip():
            raise Refused(f"`{self._text[self._at :].strip()[:40]}` stands behind a closing bracket")
        return value

    def _value(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise Refused(f"nested deeper than {DEPTH_MAX}")
        self._spaces()
        mark = self._text[self._at : self._at + 1]
        if mark == "[":
            return self._items(depth)
        if mark == "{":
            return self._pairs(depth)
        return self._scalar("value")

    def _items(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        while not self._closes("]"):
            found.append(self._value(depth + 1))
            self._comma("]")
        return found

    def _pairs(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        while not self._closes("}"):
            begin = self._at
            name = self._scalar("key")
            key = name if isinstance(name, str) else key_of(self._text[begin : self._at].strip())
            if key in found:
                raise Refused(f"`{key[:60]}` stands there twice")
            self._spaces()
            if self._text[self._at : self._at + 1] != ":":
                raise Refused(f"`{key[:60]}` has no value; write `{{{key[:60]}: value}}`")
            self._at += 1
            found[key] = self._value(depth + 1)
            self._comma("}")
        return found

    def _scalar(self, what: str) -> Any:
        self._spaces()
        if self._text[self._at : self._at + 1] in ("'", '"'):
            value, self._at = quoted(self._text, self._at)
            return value
        end = re.compile(r"[,\[\]{}]|:(?=[\s,\]}]|$)" if what == "key" else r"[,\[\]{}]|:\s").search(
            self._text, self._at
        )
        stop = end.start() if end is not None else len(self._text)
        text = self._text[self._at : stop].strip()
        if not text:
            raise Refused(f"a {what} is missing in `{self._text[:60]}`")
        self._at = stop
        return key_of(text) if what == "key" else resolved(text)

    def _closes(self, mark: str) -> bool:
        self._spaces()
        if self._text[self._at : self._at + 1] == mark:
            self._at += 1
            return True
        return False

    def _comma(self, mark: str) -> None:
        self._spaces()
        one = self._text[self._at : self._at + 1]
        if one == ",":
            self._at += 1
        elif one != mark:
            raise Refused(f"`,` or `{mark}` is missing at `{self._text[self._at : self._at + 20]}`")

    def _spaces(self) -> None:
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
