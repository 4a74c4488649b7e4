"""What an operation answers with."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

JSON_TYPE = "application/json; charset=UTF-8"


@dataclass(slots=True)
class FileSlice:
    """`length` bytes of an open file from `start`: sent by the kernel, closed when sent."""

    file: BinaryIO
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


Body = bytes | FileSlice | Iterable[bytes]


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

    def payload(self) -> Body:
        if self.document is not None:
            return json.dumps(self.document, ensure_ascii=False, separators=(",", ":")).encode()
        return self.body


def answer(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(status, b"", {"content-type": JSON_TYPE, **(headers or {})}, document)
