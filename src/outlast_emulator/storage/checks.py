"""What a caller says about the bytes it sends, held against what arrived."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

from outlast_emulator.errors import ApiError, invalid
from outlast_emulator.storage.contents import Content


class Claims(NamedTuple):
    """Checksums in base64, as they were sent; "": none."""

    md5: str = ""
    crc32c: str = ""


def claimed(headers: dict[str, str], document: dict[str, Any] | None = None) -> Claims:
    """From `x-goog-hash`, `content-md5` and the metadata's `md5Hash` and `crc32c`."""
    md5, crc = headers.get("content-md5", ""), ""
    for part in headers["x-goog-hash"].split(",") if "x-goog-hash" in headers else ():
        name, _, value = part.strip().partition("=")
        if name.lower() == "md5":
            md5 = value
        elif name.lower() == "crc32c":
            crc = value
    if document:
        md5 = document.get("md5Hash") or md5
        crc = document.get("crc32c") or crc
    for name, text, size in (("MD5", md5, 16), ("CRC32C", crc, 4)):
        if text and _decoded_size(text) != size:
            raise invalid(f"Invalid {name} hash: {text}")
    return Claims(md5, crc)


def check(content: Content, claims: Claims) -> None:
    """400 if the bytes are not those that were meant."""
    if claims.md5 and binascii.a2b_base64(claims.md5) != content.md5:
        found = base64.b64encode(content.md5).decode()
        raise ApiError(
            400, "invalid", f'Provided MD5 hash "{claims.md5}" doesn\'t match calculated MD5 hash "{found}".'
        )
    if claims.crc32c and int.from_bytes(base64.b64decode(claims.crc32c), "big") != content.crc32c:
        found = base64.b64encode(content.crc32c.to_bytes(4, "big")).decode()
        raise ApiError(400, "invalid", f'Provided CRC32C "{claims.crc32c}" doesn\'t match calculated CRC32C "{found}".')


def _decoded_size(text: str) -> int:
    try:
        return len(base64.b64decode(text, validate=True))
    except (ValueError, binascii.Error):
        return -1
