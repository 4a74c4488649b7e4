"""multipart/related, as a stream: a JSON part, then a part of any size. Lines may end in CR LF or, as gcloud sends them, in LF."""

from __future__ import annotations

import re
from collections.abc import Iterator

from outlast_emulator.errors import ApiError, invalid
from outlast_emulator.request import Incoming

PIECE_BYTES = 1 << 20
HEAD_BYTES_MAX = 16 << 20
"""Of a part that is read whole: more than an object's metadata may take."""


MARK_BLANKS_MAX = 64
"""Behind a mark, in its line."""

_BOUNDARY = re.compile(r'boundary=(?:"([^"]+)"|([^;\s]+))', re.IGNORECASE)


def boundary_of(content_type: str) -> bytes:
    found = _BOUNDARY.search(content_type)
    if not content_type.lower().startswith("multipart/") or not found:
        raise ApiError(400, "badContent", "Multipart must have a boundary in its Content-Type.")
    return (found[1] or found[2]).strip("'").encode("latin-1")


def two_parts(text: bytes, boundary: bytes) -> tuple[bytes, dict[str, str], bytes] | None:
    """A body that is all here: its first part, and headers and bytes of its second.

    None: it is not written as nearly all of them are, with CR LF everywhere and no word before the first part; `Parts` tells.
    """
    between = b"\r\n--" + boundary
    if not text.startswith(between[2:]):
        return None
    first = _part(text, len(between) - 2, between)
    second = _part(text, first[2], between) if first is not None else None
    if first is None or second is None:
        return None
    lines = [line.partition(":") for line in second[0].decode("latin-1").split("\r\n")[1:]]
    return first[1], {name.strip().lower(): value.strip() for name, _, value in lines}, second[1]


def _part(text: bytes, at: int, between: bytes) -> tuple[bytes, bytes, int] | None:
    """The headers and the bytes of the part whose mark ends at `at`, and where the next mark ends."""
    begins = text.find(b"\r\n\r\n", at)
    ends = text.find(between, begins + 2)  # an empty part may share its line end with its headers
    head, after = text[at:begins], ends + len(between)
    if begins < 0 or ends < 0 or head[:2] not in (b"", b"\r\n") or head.count(b"\n") != head.count(b"\r\n"):
        return None
    if text[after : after + 2] not in (b"\r\n", b"--"):
        return None
    return head, text[begins + 4 : ends], after


class Parts:
    """Reads a body part by part: `for headers, pieces in parts`. The pieces of a part must be read before the next part."""

    def __init__(self, body: Incoming, boundary: bytes) -> None:
        self._body = body
        self._mark = b"--" + boundary
        self._buffer = b""
        self._at = 0
        """So far the buffer was read."""
        self._line_end = b"\r\n"

    def __iter__(self) -> Iterator[tuple[dict[str, str], Iterator[bytes]]]:
        self._begin()
        while not self._closing():
            yield self._headers(), self._pieces()

    def _more(self) -> bool:
        piece = self._body.read(PIECE_BYTES)
        self._buffer, self._at = self._buffer[self._at :] + piece, 0
        return bool(piece)

    def _find(self, wanted: bytes) -> int:
        """Where it begins, with as much read as that takes."""
        while (at := self._buffer.find(wanted, self._at)) < 0:
            if len(self._buffer) - self._at > HEAD_BYTES_MAX or not self._more():
                raise _malformed()
        return at

    def _begin(self) -> None:
        self._at = self._find(self._mark) + len(self._mark)
        end = self._find(b"\n")
        self._line_end = b"\r\n" if self._buffer.endswith(b"\r", self._at, end) else b"\n"

    def _closing(self) -> bool:
        """After a mark: is it the last? Else the rest of its line is skipped."""
        while len(self._buffer) - self._at < 2 and self._more():
            pass
        if self._buffer.startswith(b"--", self._at):
            return True
        self._at = self._find(b"\n") + 1
        return False

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        while True:
            end = self._find(b"\n")
            line, self._at = self._buffer[self._at : end].rstrip(b"\r"), end + 1
            if not line:
                return headers
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()

    def _pieces(self) -> Iterator[bytes]:
        mark = self._line_end + self._mark
        keep = len(mark) - 1
        if self._ends_here(self._mark):  # an empty part whose headers end right before the mark
            return
        while True:
            at = self._buffer.find(mark, self._at)
            ready = at if at >= 0 else len(self._buffer) - keep
            if ready > self._at:
                yield self._buffer[self._at : ready]
                self._at = ready
            if at >= 0:
                if self._ends_here(mark):
                    return
                yield self._buffer[self._at : self._at + 1]
                self._at += 1
            elif not self._more():
                raise _malformed()

    def _ends_here(self, mark: bytes) -> bool:
        """Passes a mark: nothing but blanks stand behind it in its line, or `--`. Else it is contents that begin like one."""
        while len(self._buffer) - self._at < len(mark) + MARK_BLANKS_MAX and self._more():
            pass
        if not self._buffer.startswith(mark, self._at):
            return False
        after = self._at + len(mark)
        rest = self._buffer[after : after + MARK_BLANKS_MAX]
        if rest and not rest.startswith(b"--") and rest.lstrip(b" \t\r")[:1] not in (b"\n", b""):
            return False
        self._at = after
        return True


def _malformed() -> ApiError:
    return invalid("Malformed multipart body.", reason="badContent")
