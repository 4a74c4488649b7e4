"""An object's content as it came over the network: as it is stored, and checked where all of it is there."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace

from outlast.errors import StoreUnavailable
from outlast.google.storage import md5_text
from outlast.google.wire import Answer


def whole(answer: Answer) -> Answer | None:
    """The answer with the content as it is stored; None: it broke on its way."""
    unpacked = _unpacked(answer)
    if unpacked is None or len(unpacked.body) != total_bytes(unpacked):
        return unpacked  # a part of it: nobody knows its md5
    md5 = next((one[4:] for one in _hashes(unpacked) if one.startswith("md5=")), "")
    if md5 and md5_text(hashlib.md5(unpacked.body, usedforsecurity=False).digest()) != md5:
        return None
    return unpacked


def total_bytes(answer: Answer) -> int:
    """Of the whole object: `Content-Range: bytes 0-9/100`, or what came if it was all."""
    total = answer.headers.get("content-range", "").rpartition("/")[2]
    return int(total) if total.isascii() and total.isdigit() else len(answer.body)


def content_generation(answer: Answer) -> int:
    text = answer.headers.get("x-goog-generation", "")
    if not text.isdigit():
        raise StoreUnavailable("the answer does not say which generation it is")
    return int(text)


def _unpacked(answer: Answer) -> Answer | None:
    """What was packed for the journey alone is unpacked; what was stored packed stays so."""
    headers = answer.headers
    if headers.get("content-encoding") != "gzip" or headers.get("x-goog-stored-content-encoding") != "identity":
        return answer
    try:
        return replace(answer, body=gzip.decompress(answer.body))
    except (OSError, EOFError):
        return None


def _hashes(answer: Answer) -> list[str]:
    return [one.strip() for one in answer.headers.get("x-goog-hash", "").split(",")]
