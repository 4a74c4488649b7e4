"""Values of secrets in what a trainer says, covered by stars of the same length, so that offsets stay what they are."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

COVER = bytes(one if one == ord("\n") else ord("*") for one in range(256))
"""Lines stay lines."""

PATTERN_BYTES_MIN = 4
"""What is shorter stands in every log by chance. Such values are refused at submit."""

ENCODED_BYTES_MIN = 8
ANCHOR_BYTES = 8
LINE_BYTES_MIN = 8
"""A value of several lines may be printed line by line; a short one of them (`}`) is nobody's secret."""


class Mask:
    """`values` None: they are not known any more, and so nothing that the trainer says may be shown."""

    def __init__(self, values: Iterable[str] | None) -> None:
        self.blind = values is None
        self.patterns = sorted({pattern for value in values or () for pattern in patterns_of(value)})
        self.context = max((len(pattern) for pattern in self.patterns), default=1) - 1
        """So many bytes on either side decide about the one between them."""

    @property
    def empty(self) -> bool:
        return not self.blind and not self.patterns

    def apply(self, data: bytes, *, end: bool = False) -> bytes:
        """`end`: nothing comes behind it, so the beginning of a value that is cut off there is covered too."""
        if self.blind:
            return data.translate(COVER)
        spans = list(self._spans(data))
        if end and (cut := self.held(data)) >= PATTERN_BYTES_MIN:
            spans.append((len(data) - cut, len(data)))
        if not spans:
            return data
        covered = bytearray(data)
        for first, last in spans:
            covered[first:last] = data[first:last].translate(COVER)
        return bytes(covered)

    def text(self, text: str) -> str:
        return self.apply(text.encode(errors="surrogateescape"), end=True).decode(errors="surrogateescape")

    def held(self, data: bytes) -> int:
        """How many of the last bytes may be the beginning of a value whose rest has not come yet."""
        return max((_held(pattern, data[-(len(pattern) - 1) :]) for pattern in self.patterns), default=0)

    def _spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        for pattern in self.patterns:
            at = data.find(pattern)
            while at >= 0:
                yield at, at + len(pattern)
                at = data.find(pattern, at + 1)


def _held(pattern: bytes, tail: bytes) -> int:
    """The length of the longest end of `tail` that `pattern` begins with; looked for by a few bytes first."""
    anchor = pattern[:ANCHOR_BYTES]
    at = tail.find(anchor)
    while at >= 0:
        if pattern.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(anchor, at + 1)
    shorter = range(min(ANCHOR_BYTES - 1, len(tail)), 0, -1)
    return next((size for size in shorter if pattern.startswith(tail[-size:])), 0)


def patterns_of(value: str) -> Iterator[bytes]:
    """The value as it is, and as a trace, JSON, a URL or a header would have it."""
    raw = value.encode(errors="surrogateescape")
    forms = {
        raw,
        json.dumps(value)[1:-1].encode(),
        json.dumps(value, ensure_ascii=False)[1:-1].encode(errors="surrogateescape"),
        repr(value)[1:-1].encode(errors="surrogateescape"),
        repr(raw)[2:-1].encode(),
        quote(raw, safe="").encode(),
        quote(raw).encode(),
        quote_plus(raw).encode(),
    }
    yield from (form for form in forms if len(form) >= PATTERN_BYTES_MIN)
    yield from (form for form in _in_base64(raw) if len(form) >= ENCODED_BYTES_MIN)
    lines = raw.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= LINE_BYTES_MIN)


def _in_base64(raw: bytes) -> Iterator[bytes]:
    """Wherever it stands in what was encoded: the characters that depend on nothing but the value."""
    for shift, skipped in ((0, 0), (1, 2), (2, 3)):
        known = (shift + len(raw)) * 8 // 6
        padded = bytes(shift) + raw
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(padded)[skipped:known]
