"""JSON as people write it: comments behind `#` and `//`, or between `/*` and `*/`, and a comma behind the last item."""

from __future__ import annotations

import json
import re
from typing import Any

from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown

_TEXT_OR_COMMENT = pattern(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TEXT_OR_LAST_COMMA = pattern(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[\]}])')
_NOT_BLANK = pattern(r"[^\s]")
HINT = "a sweep is JSON: text in double quotes, comments behind `#` or `//`; `*.toml` and `*.yaml` are read too"


def read_commented_json(text: str, where: str) -> Any:
    """`where` is what it is called in errors; their lines and columns are those of the text itself."""
    try:
        return json.loads(_bare(text), object_pairs_hook=_pairs)  # NaN is refused by the grammar, which knows its key
    except json.JSONDecodeError as error:
        raise UsageError(
            f"`{where}` line {error.lineno}, column {error.colno}: {_words(error, text)}", hint=HINT
        ) from error
    except _Twice as error:
        raise UsageError(
            f"`{where}`: the key {shown(str(error))} stands in one object twice",
            hint="a parameter stands in one key only",
        ) from None
    except (RecursionError, ValueError) as error:
        raise UsageError(f"`{where}` cannot be read: {error}", hint=HINT) from error


class _Twice(Exception):
    pass


def _bare(text: str) -> str:
    """The same length, line by line, with spaces where comments and last commas were."""
    if "#" in text or "/" in text:
        text = _TEXT_OR_COMMENT.sub(_blanked, text)
    return _TEXT_OR_LAST_COMMA.sub(_without_last_comma, text)


def _blanked(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else _NOT_BLANK.sub(" ", found[0])


def _without_last_comma(found: re.Match[str]) -> str:
    """A comma that follows no item stays, and is an error."""
    if found[0] != ",":
        return found[0]
    at = found.start() - 1
    while at >= 0 and found.string[at].isspace():
        at -= 1
    return "," if at < 0 or found.string[at] in "[{" else " "


def _pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) < len(items):
        keys = [key for key, _ in items]
        raise _Twice(next(key for key in keys if keys.count(key) > 1))
    return found


def _words(error: json.JSONDecodeError, text: str) -> str:
    message = error.msg[:1].lower() + error.msg[1:]
    line = text.split("\n")[error.lineno - 1].strip()
    return f"{message}, at {shown(line)}" if line else message
