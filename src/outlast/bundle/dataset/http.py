"""A file at an `https:` address: what it is now, and its bytes, taken up again where a connection broke."""

from __future__ import annotations

import urllib.error
import urllib.request
from http.client import HTTPException, HTTPResponse
from typing import BinaryIO, NamedTuple

from outlast.clock import Clock
from outlast.errors import Denied, NotFound, OutlastError, StoreUnavailable

TRIES_MAX = 5
WAIT_SECONDS = 1.0
TIMEOUT_SECONDS = 60.0
CHUNK_BYTES = 1 << 20
DENIED = frozenset({401, 403, 407})
GONE = frozenset({404, 410})
PARTIAL = 206


class Found(NamedTuple):
    version: str
    bytes: int


def look(url: str) -> Found:
    """Asked without taking the content; some servers answer that only with the content's first byte."""
    try:
        with _open(url, {}, "HEAD") as answer:
            return _found(answer)
    except OutlastError:
        with _open(url, {"Range": "bytes=0-0"}, "GET") as answer:
            return _found(answer)


def download(url: str, version: str, file: BinaryIO, clock: Clock) -> None:
    """The content that had this version; an error if it has another, or keeps breaking off."""
    size = look(url).bytes
    for attempt in range(TRIES_MAX):
        if attempt:
            clock.sleep(WAIT_SECONDS * 2**attempt)
        try:
            at = file.tell()
            with _open(url, {"Range": f"bytes={at}-"} if at else {}, "GET") as answer:
                if at and answer.status != PARTIAL:
                    file.seek(0)
                    file.truncate()
                while chunk := answer.read(CHUNK_BYTES):
                    file.write(chunk)
        except (StoreUnavailable, HTTPException, TimeoutError, ConnectionError):
            continue
        if size < 0 or file.tell() == size:
            return
        if file.tell() > size:
            break
    raise StoreUnavailable(
        f"`{url}` broke off after {file.tell():,} of {size:,} bytes, {TRIES_MAX} times", hint="try again later"
    )


def _found(answer: HTTPResponse) -> Found:
    ranged = answer.headers.get("Content-Range", "")
    length = ranged.rpartition("/")[2] if ranged else answer.headers.get("Content-Length", "")
    size = int(length) if length.isascii() and length.isdigit() else -1
    marks = [answer.headers.get(name, "") for name in ("ETag", "Last-Modified")]
    return Found(f"{marks[0] or marks[1]} {size}", size)


def _open(url: str, headers: dict[str, str], method: str) -> HTTPResponse:
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity", **headers}, method=method)  # noqa: S310
    # Without proxies of its own it would ask macOS for the system's, and that kills a process that was forked, as an agent is.
    proxies = urllib.request.ProxyHandler(urllib.request.getproxies_environment())
    try:
        answer: HTTPResponse = urllib.request.build_opener(proxies).open(request, timeout=TIMEOUT_SECONDS)
        return answer
    except urllib.error.HTTPError as error:
        if error.code in GONE:
            raise NotFound(f"there is nothing at `{url}` ({error.code})", hint="look at its spelling") from error
        if error.code in DENIED:
            raise Denied(
                f"`{url}` may not be read ({error.code})", hint="download it, and push the directory"
            ) from error
        raise StoreUnavailable(f"`{url}` answers {error.code}", hint="try again later") from error
    except (OSError, HTTPException) as error:
        raise StoreUnavailable(
            f"`{url}` cannot be reached: {error}", hint="look at its spelling and the network"
        ) from error
