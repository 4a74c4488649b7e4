"""Lists of objects: prefix, delimiter, offsets and pages, in the order of the names' UTF-8 bytes."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from outlast_emulator.errors import invalid
from outlast_emulator.storage.database import Database
from outlast_emulator.storage.stored import COLUMNS, Departed, Stored

_BATCH = 1000


class Query(NamedTuple):
    prefix: str = ""
    delimiter: str = ""
    start: str = ""
    """The first name that counts."""
    end: str = ""
    """The first name that does not; "": there is none."""
    limit: int = 1000
    """Of items and prefixes together."""
    token: str = ""
    trailing_delimiter: bool = False
    """An object that is called as a prefix is an item too."""
    glob: str = ""


@dataclass
class Page:
    items: list[Stored] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    token: str = ""
    """For the next page; "": this was the last."""


def objects(database: Database, bucket: str, query: Query) -> Page:
    page = Page()
    at: str | None = max(query.start, query.prefix, key=str.encode)
    if query.token:
        at = max(at or "", position(query.token), key=str.encode)
    pattern = glob_pattern(query.glob) if query.glob else None
    while at is not None:
        rows = _rows(database, bucket, at, query)
        at = _take(page, rows, query, pattern)
    return page


def _rows(database: Database, bucket: str, at: str, query: Query) -> list[tuple[Any, ...]]:
    end = "AND name < ? " if query.end else ""
    values = (bucket, at, query.end) if query.end else (bucket, at)
    size = min(_BATCH, query.limit + 1)
    return database.rows(
        f"SELECT {COLUMNS} FROM objects WHERE bucket = ? AND name >= ? {end}ORDER BY name LIMIT {size}",  # noqa: S608
        values,
    )


def _take(page: Page, rows: list[tuple[Any, ...]], query: Query, pattern: re.Pattern[str] | None) -> str | None:
    """Puts rows on the page; where to read on from, or None when the page or the list is complete."""
    begin = len(query.prefix)
    for row in rows:
        name: str = row[1]
        if not name.startswith(query.prefix):
            return None
        found = name.find(query.delimiter, begin) if query.delimiter else -1
        if pattern is not None and found < 0 and not pattern.fullmatch(name):
            continue
        if len(page.items) + len(page.prefixes) >= query.limit:
            page.token = base64.urlsafe_b64encode(name.encode()).decode()
            return None
        if found < 0:
            page.items.append(Stored._make(row))
            continue
        prefix = name[: found + len(query.delimiter)]
        page.prefixes.append(prefix)
        if query.trailing_delimiter and name == prefix:
            page.items.append(Stored._make(row))
        return successor(prefix)
    if len(rows) < min(_BATCH, query.limit + 1):
        return None
    return str(rows[-1][1]) + "\0"


def successor(prefix: str) -> str | None:
    """The first string, by UTF-8 bytes, that comes after all that begin with `prefix`; None if there is none."""
    for end in range(len(prefix), 0, -1):
        code = ord(prefix[end - 1]) + 1
        if code == 0xD800:
            code = 0xE000
        if code <= 0x10FFFF:
            return prefix[: end - 1] + chr(code)
    return None


def position(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token.encode()).decode()
    except (ValueError, binascii.Error) as error:
        raise invalid(f"Invalid page token: {token}", location="pageToken") from error


def departed(database: Database, bucket: str, query: Query, now_us: int) -> tuple[list[Departed], str]:
    """Objects that were deleted under a soft-delete policy, and the token of the next page."""
    at = position(query.token) if query.token else max(query.start, query.prefix, key=str.encode)
    rows = database.rows(
        f"SELECT {COLUMNS}, departed_us, purge_us FROM departed WHERE bucket = ? AND name >= ? AND purge_us > ? "  # noqa: S608
        "ORDER BY name, generation LIMIT ?",
        (bucket, at, now_us, query.limit + 1),
    )
    wanted = [row for row in rows if row[1].startswith(query.prefix) and (not query.end or row[1] < query.end)]
    token = base64.urlsafe_b64encode(wanted[-1][1].encode()).decode() if len(wanted) > query.limit else ""
    return [Departed(Stored(*row[:-2]), row[-2], row[-1]) for row in wanted[: query.limit]], token


def glob_pattern(glob: str) -> re.Pattern[str]:
    """`*` stops at a slash, `**` does not; `?`, `[a-z]`, `{one,other}`."""
    out, depth, at = [], 0, 0
    while at < len(glob):
        letter = glob[at]
        if glob.startswith("**", at):
            out.append(".*")
            at += 1
        elif letter == "*":
            out.append("[^/]*")
        elif letter == "?":
            out.append("[^/]")
        elif letter == "[" and "]" in glob[at + 1 :]:
            close = glob.index("]", at + 1)
            inside = glob[at + 1 : close].replace("\\", "\\\\")
            out.append("[" + ("^" + inside[1:] if inside.startswith("!") else inside) + "]")
            at = close
        elif letter == "{":
            out.append("(?:")
            depth += 1
        elif letter == "}" and depth:
            out.append(")")
            depth -= 1
        elif letter == "," and depth:
            out.append("|")
        else:
            out.append(re.escape(letter))
        at += 1
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error as error:
        raise invalid(f"Invalid glob: {glob}", location="matchGlob") from error
