"""The head of an HTTP/1.1 request: parsing, and what it says about the body."""

from __future__ import annotations

from typing import NamedTuple

HEAD_BYTES_MAX = 64 << 10
"""Google's front ends refuse longer ones too."""

VERBS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class BadHead(Exception):
    """Not HTTP, or more of it than anybody sends. `status` is what is answered before the connection is closed."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Head(NamedTuple):
    verb: str
    path: str
    query: str
    headers: dict[str, str]
    keep_alive: bool
    length: int | None
    """Of the body; None: chunked."""
    expects: bool
    """Waits for `100 Continue` before it sends the body."""


def parse(buffer: bytearray) -> tuple[Head, int] | None:
    """The head and how many bytes it took; None: not all of it is there yet."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        if len(buffer) > HEAD_BYTES_MAX:
            raise BadHead(431, "the head is too long")
        return None
    if end > HEAD_BYTES_MAX:
        raise BadHead(431, "the head is too long")
    lines = buffer[:end].decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadHead(400, "not a request line of HTTP/1.1")
    verb, target, version = words
    if verb not in VERBS:
        raise BadHead(405, f"no verb {verb}")
    path, _, query = _origin_form(target).partition("?")
    headers = _headers(lines)
    connection = headers.get("connection", "").lower()
    keep_alive = "close" not in connection if version == "HTTP/1.1" else "keep-alive" in connection
    expects = headers.get("expect", "").lower() == "100-continue"
    return Head(verb, path, query, headers, keep_alive, _length(headers), expects), end + 4


def _origin_form(target: str) -> str:
    if target.startswith("/"):
        return target
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise BadHead(400, "the request's target is no path")
    slash = rest.find("/")
    return rest[slash:] if slash >= 0 else "/"


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadHead(400, "a header line without a name")
        name = name.lower()
        value = value.strip()
        if name in headers:
            if name == "content-length" and headers[name] != value:
                raise BadHead(400, "two lengths")
            value = value if name == "content-length" else f"{headers[name]}, {value}"
        headers[name] = value
    return headers


def _length(headers: dict[str, str]) -> int | None:
    coding = headers.get("transfer-encoding", "").lower()
    if coding:
        if coding != "chunked" or "content-length" in headers:
            raise BadHead(400, "a transfer coding other than chunked, or with a length")
        return None
    text = headers.get("content-length", "0")
    if not text.isascii() or not text.isdigit():
        raise BadHead(400, "a length that is no number")
    return int(text)
