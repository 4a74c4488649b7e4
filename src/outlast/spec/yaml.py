"""Reads the part of YAML that configurations are written in, and refuses the rest by line: no guess, no code, no reference.

Read: block maps and lists, flow maps and lists, quoted and plain scalars, literal (`|`) and folded (`>`) text, comments. Refused: anchors,
aliases, tags, merge keys, several documents, and words that one reader of YAML takes for a number or a truth and another one for text.
"""

from __future__ import annotations

import re
from typing import Any

from outlast.pattern import pattern
from outlast.spec.yaml_scalar import Flow, Refused, key_of, plain, split_key, without_comment

DEPTH_MAX = 50
_BLOCK = pattern(r"[|>][-+]?")


class YamlError(ValueError):
    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.line = line


def read_yaml(text: str) -> Any:
    """The document as dicts, lists and plain values; `YamlError`, which names the line, for all that is not read here."""
    return _Reader(text).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self._lines = text.lstrip("\ufeff").splitlines()
        self._at = 0
        self._replaced: tuple[int, str] | None = None
        """What is left of the line at hand behind a `- `: (its column, the text)."""

    def document(self) -> Any:
        self._skip()
        if self._at < len(self._lines) and self._lines[self._at].rstrip() == "---":
            self._at += 1
        if self._peek() is None:
            return None
        value = self._block(0, 0)
        if (left := self._peek()) is not None:
            raise self._error(f"`{left[1][:60]}` is not indented as what stands before it")
        return value

    def _block(self, least: int, depth: int) -> Any:
        """The value that begins at the line at hand, which is indented by `least` or more."""
        if depth > DEPTH_MAX:
            raise self._error(f"nested deeper than {DEPTH_MAX}")
        here = self._peek()
        if here is None or here[0] < least:
            return None
        indent, text = here
        if text == "-" or text.startswith("- "):
            return self._list(indent, depth)
        if self._split(text) is None:
            return self._inline(self._take()[1], indent, depth)
        return self._map(indent, depth)

    def _list(self, indent: int, depth: int) -> list[Any]:
        items = []
        while (here := self._peek()) is not None and here[0] == indent and (here[1] == "-" or here[1].startswith("- ")):
            rest = here[1][1:].lstrip(" ")
            if rest:
                self._replaced = (indent + len(here[1]) - len(rest), rest)
            else:
                self._take()
            items.append(self._block(indent + 1, depth + 1))
        return items

    def _map(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (here := self._peek()) is not None and here[0] == indent:
            split = self._split(here[1])
            if split is None:
                raise self._error(f"`{here[1][:60]}` is no `key: value`")
            try:
                key = key_of(split[0])
            except Refused as error:
                raise self._error(str(error)) from None
            if key in found:
                raise self._error(f"`{key[:60]}` stands there twice")
            self._take()
            found[key] = self._value(split[1], indent, depth)
        return found

    def _value(self, text: str, indent: int, depth: int) -> Any:
        if text:
            return self._inline(text, indent, depth)
        here = self._peek()
        # A list may stand below its key without being indented.
        if here is not None and here[0] == indent and (here[1] == "-" or here[1].startswith("- ")):
            return self._list(indent, depth + 1)
        return self._block(indent + 1, depth + 1)

    def _inline(self, text: str, indent: int, depth: int) -> Any:
        """A value whose first line has been taken."""
        if _BLOCK.fullmatch(text):
            return self._text(text, indent)
        try:
            if text[0] in "[{":
                while not Flow.ends(text):
                    if self._peek() is None:
                        raise Refused("a bracket is not closed")
                    text = f"{text} {self._take()[1]}"
                return Flow(text).whole(depth)
            value = plain(text)
        except Refused as error:
            raise self._error(str(error), back=1) from None
        here = self._peek()
        if here is not None and here[0] > indent:
            raise self._error("a value that goes on in the next line is not read; put it into quotes, on one line")
        return value

    def _text(self, mark: str, indent: int) -> str:
        lines: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
                break
            lines.append(line)
            self._at += 1
        while lines and not lines[-1].strip():
            lines.pop()
        least = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
        stripped = [line[least:] for line in lines]
        body = "\n".join(stripped) if mark[0] == "|" else re.sub(r"(?<=\S)\n(?=\S)", " ", "\n".join(stripped))
        return body if mark.endswith("-") or not body else body + "\n"

    # Lines.

    def _skip(self) -> None:
        while self._at < len(self._lines) and not without_comment(self._lines[self._at]).strip():
            self._at += 1

    def _peek(self) -> tuple[int, str] | None:
        """The indentation and the text of the line at hand, without its comment."""
        if self._replaced is not None:
            return self._replaced
        self._skip()
        if self._at == len(self._lines):
            return None
        line = without_comment(self._lines[self._at]).rstrip()
        text = line.lstrip(" ")
        if text.startswith("\t"):
            raise self._error("indented with a tab; YAML takes spaces only")
        if line in ("---", "...") or line.startswith("%"):
            raise self._error(f"`{line[:20]}`: only one document without directives is read")
        if text.startswith("? "):
            raise self._error("keys that begin with `?` are not read")
        return len(line) - len(text), text

    def _take(self) -> tuple[int, str]:
        here = self._peek()
        assert here is not None
        self._replaced = None
        self._at += 1
        return here

    def _split(self, text: str) -> tuple[str, str] | None:
        try:
            return split_key(text)
        except Refused as error:
            raise self._error(str(error)) from None

    def _error(self, what: str, back: int = 0) -> YamlError:
        """`back`: how many lines have been taken since."""
        return YamlError(max(1, min(self._at + 1 - back, len(self._lines))), what)
