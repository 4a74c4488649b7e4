"""An object's bytes as an answer: ranges, hashes, and gzip undone for those who did not ask for it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from email.utils import formatdate

from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import FileSlice, Response, pieces
from outlast_emulator.storage.objects import Objects
from outlast_emulator.storage.resources import crc32c_text, etag, md5_text
from outlast_emulator.storage.stored import Stored

WORDS_TYPE = "text/html; charset=UTF-8"


def download(objects: Objects, stored: Stored, request: Request) -> Response:
    headers = object_headers(stored)
    fields = stored.fields
    gunzip = fields.get("contentEncoding") == "gzip" and not _takes_gzip(request)
    if gunzip:
        # Google undoes the encoding and forgets about ranges: the length of what comes out is not known.
        headers["warning"] = "214 UploadServer gunzipped"
        del headers["content-encoding"]
        return Response(200, _gunzipped(objects.open(stored)), headers)
    wanted = byte_range(request.headers.get("range", ""), stored.size)
    headers["accept-ranges"] = "bytes"
    if wanted is None:
        return Response(200, objects.open(stored), headers)
    start, end = wanted
    if start >= end:
        raise ApiError(
            416,
            "requestedRangeNotSatisfiable",
            "Request range not satisfiable",
            location="Range",
            location_type="header",
            headers={"content-range": f"bytes */{stored.size}"},
        )
    headers["content-range"] = f"bytes {start}-{end - 1}/{stored.size}"
    return Response(206, objects.open(stored, start, end - start), headers)


def media_error(error: ApiError) -> Response:
    """Who asks for bytes is refused in plain words: what a JSON API's clients parse as JSON is the metadata alone."""
    if error.status == 304:
        return Response(304, headers=dict(error.headers))
    text = error.message.replace("<", "&lt;")  # a browser that is shown it is to find no elements in a name
    return Response(error.status, text.encode("utf-8", "replace"), {**error.headers, "content-type": WORDS_TYPE})


def byte_range(header: str, size: int) -> tuple[int, int] | None:
    """[start, end) of one range; an empty one cannot be satisfied; None: the whole (no range, several, or nonsense)."""
    found = re.fullmatch(r"bytes=\s*(\d*)\s*-\s*(\d*)\s*", header)
    if not found or not (found[1] or found[2]):
        return None
    if not found[1]:
        return (max(0, size - int(found[2])), size) if int(found[2]) else (size, size)
    start = int(found[1])
    end = int(found[2]) + 1 if found[2] else size
    if end <= start and found[2]:
        return None
    return start, min(end, size)


def object_headers(stored: Stored) -> dict[str, str]:
    """As both APIs send them with an object's bytes."""
    fields = stored.fields
    hashes = f"crc32c={crc32c_text(stored)}"
    if stored.md5:
        hashes += f",md5={md5_text(stored)}"
    headers = {
        "content-type": fields.get("contentType") or "application/octet-stream",
        "etag": etag(stored.generation, stored.metageneration),
        "last-modified": formatdate(stored.updated_us / 1e6, usegmt=True),
        "x-goog-generation": str(stored.generation),
        "x-goog-metageneration": str(stored.metageneration),
        "x-goog-hash": hashes,
        "x-goog-storage-class": fields.get("storageClass") or "STANDARD",
        "x-goog-stored-content-encoding": fields.get("contentEncoding") or "identity",
        "x-goog-stored-content-length": str(stored.size),
    }
    if stored.components:
        headers["x-goog-component-count"] = str(stored.components)
    for name, field in (
        ("content-encoding", "contentEncoding"),
        ("content-disposition", "contentDisposition"),
        ("content-language", "contentLanguage"),
        ("cache-control", "cacheControl"),
    ):
        if fields.get(field):
            headers[name] = fields[field]
    return {name: " ".join(value.splitlines()) for name, value in headers.items()}


def _takes_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "").lower()


def _gunzipped(body: bytes | FileSlice) -> Iterable[bytes]:
    inflater = zlib.decompressobj(wbits=31)
    try:
        for piece in pieces(body):
            yield inflater.decompress(piece)
        yield inflater.flush()
    except zlib.error:
        return  # what was stored is not gzip: what could be read of it has been sent
    finally:
        if not isinstance(body, bytes):
            body.file.close()
