"""What the XML API says in headers: preconditions, metadata, checksums, ranges. `x-amz-` is read as `x-goog-`."""

from __future__ import annotations

import base64
import binascii
import re
from email.utils import formatdate, parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from outlast_emulator.errors import ApiError, condition_not_met, not_implemented
from outlast_emulator.request import Request
from outlast_emulator.storage.conditions import Conditions
from outlast_emulator.storage.contents import Content
from outlast_emulator.storage.resources import crc32c_text, md5_text
from outlast_emulator.storage.resources import etag as opaque_etag
from outlast_emulator.storage.stored import Stored
from outlast_emulator.storage.xml_errors import XmlError

_FIELDS = {
    "content-type": "contentType",
    "cache-control": "cacheControl",
    "content-disposition": "contentDisposition",
    "content-encoding": "contentEncoding",
    "content-language": "contentLanguage",
    "x-goog-custom-time": "customTime",
}
_UNKNOWN = (
    "encryption-key",
    "encryption-algorithm",
    "encryption-kms-key-name",
    "copy-source-encryption-key",
)
DEFAULT_TYPE = "application/octet-stream"


def said(request: Request, name: str) -> str:
    """The header `x-goog-NAME`, or `x-amz-NAME` as clients of the other cloud write it."""
    return request.headers.get(f"x-goog-{name}") or request.headers.get(f"x-amz-{name}", "")


def conditions(request: Request, prefix: str = "if-") -> Conditions:
    """`prefix="copy-source-if-"` reads those of a copy's source."""
    generation, metageneration = (
        _number(request, f"{prefix}{what}-match") for what in ("generation", "metageneration")
    )
    writing = prefix == "if-" and request.verb in ("PUT", "POST")
    if generation is None and writing and request.headers.get("if-none-match") == "*":
        generation = 0
    return Conditions(generation, None, metageneration, None)


def _number(request: Request, name: str) -> int | None:
    text = said(request, name)
    if not text:
        return None
    if not re.fullmatch(r"\d{1,19}", text):
        raise XmlError(400, "InvalidArgument", "Invalid argument.", f"{name}: {text}")
    return int(text)


def generation_asked(request: Request) -> int | None:
    text = request.query("generation")
    if not text:
        return None
    if not re.fullmatch(r"\d{1,19}", text):
        raise XmlError(400, "InvalidArgument", "Invalid argument.", f"generation: {text}")
    return int(text)


def check_reading(request: Request, stored: Stored) -> None:
    """HTTP's own conditions: 304 or 412."""
    headers = request.headers
    tag = etag(stored)
    if "if-match" in headers and not _named(headers["if-match"], tag):
        raise condition_not_met()
    if _is_known(headers, tag, stored.updated_us // 1_000_000):
        raise ApiError(304, "notModified", "Not Modified", headers={"etag": tag})
    if "if-match" not in headers and "if-unmodified-since" in headers:
        when = _seconds(headers["if-unmodified-since"])
        if when is not None and stored.updated_us // 1_000_000 > when:
            raise condition_not_met("If-Unmodified-Since")


def _is_known(headers: dict[str, str], tag: str, updated_at: int) -> bool:
    """The caller has it already. A tag counts before a time."""
    if "if-none-match" in headers:
        return _named(headers["if-none-match"], tag)
    when = _seconds(headers["if-modified-since"]) if "if-modified-since" in headers else None
    return when is not None and updated_at <= when


def _named(header: str, tag: str) -> bool:
    return header.strip() == "*" or tag.strip('"') in [one.strip().strip('"') for one in header.split(",")]


def _seconds(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def refuse_unknown(request: Request) -> None:
    """What would change the meaning of a request and is not known here is refused, never ignored."""
    for name in _UNKNOWN:
        if said(request, name):
            raise not_implemented(f"{request.method_id} with x-goog-{name}")


def fields(request: Request) -> dict[str, Any]:
    """An object's fields, by their names in the JSON API."""
    found: dict[str, Any] = {}
    for header, field in _FIELDS.items():
        if request.headers.get(header):
            found[field] = request.headers[header]
    found.setdefault("contentType", DEFAULT_TYPE)
    if found.get("contentEncoding") == "aws-chunked":
        raise not_implemented(f"{request.method_id} with content-encoding aws-chunked")
    metadata = {}
    for name, value in request.headers.items():
        if name.startswith(("x-goog-meta-", "x-amz-meta-")):
            metadata[name.split("-meta-", 1)[1]] = value
    if metadata:
        found["metadata"] = metadata
    if said(request, "storage-class"):
        found["storageClass"] = said(request, "storage-class")
    return found


def check_digests(request: Request, md5: bytes, crc32c: int) -> None:
    """400 BadDigest unless the contents are what the sender said."""
    wanted = []
    if request.headers.get("content-md5"):
        wanted.append(("md5", request.headers["content-md5"]))
    for part in request.headers.get("x-goog-hash", "").split(","):
        kind, _, text = part.strip().partition("=")
        if kind:
            wanted.append((kind.lower(), text))
    for kind, text in wanted:
        if kind not in ("md5", "crc32c"):
            raise XmlError(400, "InvalidDigest", "The value specified for x-goog-hash is invalid.", kind)
        try:
            sent = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise XmlError(400, "InvalidDigest", "The Content-MD5 you specified was invalid.", text) from error
        computed = md5 if kind == "md5" else crc32c.to_bytes(4, "big")
        if sent != computed:
            shown = base64.b64encode(computed).decode()
            details = f"The {kind} you specified ('{text}') did not match what we computed ('{shown}')."
            raise XmlError(400, "BadDigest", "The Content-MD5 you specified did not match what we received.", details)


def written(stored: Stored) -> dict[str, str]:
    """The headers of the answer to a write."""
    return {
        "etag": etag(stored),
        "x-goog-generation": str(stored.generation),
        "x-goog-metageneration": str(stored.metageneration),
        "x-goog-hash": _hashes(stored),
        "x-goog-stored-content-encoding": "identity",
        "x-goog-stored-content-length": str(stored.size),
    }


def read(stored: Stored) -> dict[str, str]:
    """The headers of an object that is read."""
    known = stored.fields
    headers = written(stored)
    for header, field in _FIELDS.items():
        if known.get(field):
            headers[header] = _ascii(str(known[field]))
    headers.setdefault("content-type", DEFAULT_TYPE)
    headers["x-goog-stored-content-encoding"] = str(known.get("contentEncoding", "identity"))
    headers["last-modified"] = formatdate(stored.updated_us / 1e6, usegmt=True)
    headers["accept-ranges"] = "bytes"
    headers["x-goog-storage-class"] = str(known.get("storageClass", "STANDARD"))
    for name, value in known.get("metadata", {}).items():
        headers[f"x-goog-meta-{_ascii(name).lower()}"] = _ascii(str(value))
    if stored.components:
        headers["x-goog-component-count"] = str(stored.components)
    return headers


def _ascii(text: str) -> str:
    """A header holds visible ASCII; the rest is percent-encoded."""
    return text if text.isascii() and text.isprintable() else quote(text, safe=" /;=,:+()'\"!@$&*?[]{}<>|^~")


def etag(stored: Stored) -> str:
    """The md5 in hexadecimal, as the XML API has it; opaque for what was put together of parts."""
    return f'"{stored.md5.hex()}"' if stored.md5 else f'"{opaque_etag(stored.generation, stored.metageneration)}"'


def _hashes(stored: Stored) -> str:
    found = f"crc32c={crc32c_text(stored)}"
    return f"{found}, md5={md5_text(stored)}" if stored.md5 else found


def without_md5(content: Content) -> Content:
    """What was put together of parts has no md5 in Cloud Storage."""
    return content._replace(md5=b"")
