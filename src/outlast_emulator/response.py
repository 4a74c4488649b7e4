"""What an operation answers with."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from io import FileIO
from typing import Any, TypeAlias

JSON_TYPE = "application/json; charset=UTF-8"
JSON = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))
"""Made once: `json.dumps` makes another for each text that is not of its own form."""


@dataclass(slots=True)
class FileSlice:
    """`length` bytes of an open file from `start`: sent by the kernel, closed when sent."""

    file: FileIO
    start: int
    length: int


@dataclass(slots=True)
class WireFault:
    """How a ready answer is damaged on its way out (see `control.faults`)."""

    kind: str
    """`lost`, `stalled`, `truncated` or `broken`."""
    after_bytes: int = 0
    """Of the body: where it stalls, ends or is damaged."""
    seconds: float = 0.0
    """Of a stall, before the connection is closed."""


Body: TypeAlias = bytes | FileSlice | Iterable[bytes]
PIECE_BYTES = 1 << 20


@dataclass(slots=True)
class Response:
    """A status, headers (names in lower case) and a body.

    `document` is the JSON value that the body is made of, kept so that it can be validated and cut by `fields` before it is
    written: use `answer(document)`. Content-Length, Date and Connection are the server's business.
    """

    status: int = 200
    body: Body = b""
    headers: dict[str, str] = field(default_factory=dict)
    document: Any = None
    wire: WireFault | None = None
    upgrade: Callable[[socket.socket, bytes], None] | None = None
    """Takes the connection over after a 101, with what has come of it already; it is closed afterwards. Only for routes that are
    not quick."""

    def payload(self) -> Body:
        if self.document is not None:
            return JSON.encode(self.document).encode()
        return self.body


def answer(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(status, b"", {"content-type": JSON_TYPE, **(headers or {})}, document)


def pieces(body: Body) -> Iterator[bytes]:
    """The body piece by piece."""
    if isinstance(body, bytes):
        yield body
    elif isinstance(body, FileSlice):
        offset, end = body.start, body.start + body.length
        while offset < end:
            piece = os.pread(body.file.fileno(), min(PIECE_BYTES, end - offset), offset)
            if not piece:
                raise OSError("the file is shorter than its row says")
            offset += len(piece)
            yield piece
    else:
        yield from body
