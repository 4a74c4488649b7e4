"""Reading a file of the working directory, which somebody may be writing at this moment."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from outlast.bundle.tree import UNTRUSTED, Marks, marks_of
from outlast.errors import Denied, OutlastError

SMALL_BYTES_MAX = 16 << 20
"""Up to here a file is read once and held in memory; larger ones are read twice, to hash and to upload."""

CHUNK_BYTES = 1 << 20
TRIES_MAX = 5
LEAVE_OUT = "stop what writes it, or list it in `.outlastignore`"

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Content(NamedTuple):
    data: bytes | None
    """None: too large to be held."""

    bytes: int
    sha256: str
    marks: Marks
    settled: bool
    """Nothing about the file changed while it was read: its marks stand for its content."""


def read_content(path: bytes, name: bytes, seen: Marks = UNTRUSTED) -> Content:
    """The content at one moment; with `seen`, the marks of a moment ago, a file that still has them is read in fewer calls.

    A file that only grows is taken up to where it ended at first; one that keeps changing is an error.
    """
    before: Content | None = None
    for attempt in range(TRIES_MAX):
        handle = _open(path, name)
        try:
            if attempt == 0 and 0 < seen[2] <= SMALL_BYTES_MAX:
                content = _read_seen(handle, seen)
            else:
                content = _read(handle, None if before is None or before.data is not None else before.bytes)
        except OSError as error:
            raise OutlastError(f"`{os.fsdecode(name)}` cannot be read: {error.strerror}", hint=LEAVE_OUT) from error
        finally:
            os.close(handle)
        if content.settled:
            return content
        if before is not None and _continues(before, content):
            return before
        before = content
    raise OutlastError(f"`{os.fsdecode(name)}` changed {TRIES_MAX} times while it was read", hint=LEAVE_OUT)


def chunks_of(path: bytes, name: bytes, content: Content) -> Iterator[bytes]:
    """A large file's bytes once more, and an error at their end if they are not the same."""
    handle = _open(path, name)
    try:
        sha256 = hashlib.sha256()
        left_bytes = content.bytes
        while left_bytes and (chunk := os.read(handle, min(CHUNK_BYTES, left_bytes))):
            sha256.update(chunk)
            left_bytes -= len(chunk)
            yield chunk
    finally:
        os.close(handle)
    if left_bytes or sha256.hexdigest() != content.sha256:
        raise OutlastError(
            f"`{os.fsdecode(name)}` changed while it was read",
            hint="stop what writes it, or list it in `.outlastignore`",
        )


def _open(path: bytes, name: bytes) -> int:
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise OutlastError(f"`{os.fsdecode(name)}` vanished while the bundle was packed", hint="try again") from None
    except PermissionError as error:
        raise Denied(
            f"`{os.fsdecode(name)}` cannot be read", hint="`chmod u+r` it, or list it in `.outlastignore`"
        ) from error
    except OSError as error:
        raise OutlastError(
            f"`{os.fsdecode(name)}` cannot be read: {error.strerror}", hint="or list it in `.outlastignore`"
        ) from error
    return handle


def _read_seen(handle: int, seen: Marks) -> Content:
    data = os.read(handle, seen[2] + 1)
    marks = marks_of(os.fstat(handle))
    return Content(data, len(data), hashlib.sha256(data).hexdigest(), marks, marks == seen and len(data) == seen[2])


def _read(handle: int, limit_bytes: int | None) -> Content:
    first = os.fstat(handle)
    if not stat.S_ISREG(first.st_mode):
        raise OSError(0, "it is no regular file any more")
    if first.st_size <= SMALL_BYTES_MAX and limit_bytes is None:
        data = os.read(handle, first.st_size + 1)
        while len(data) < first.st_size and (more := os.read(handle, first.st_size + 1 - len(data))):
            data += more
        settled = len(data) == first.st_size and _same(first, os.fstat(handle))
        return Content(data, len(data), hashlib.sha256(data).hexdigest(), marks_of(first), settled)
    sha256 = hashlib.sha256()
    left_bytes = first.st_size if limit_bytes is None else limit_bytes
    read_bytes = 0
    while left_bytes and (chunk := os.read(handle, min(CHUNK_BYTES, left_bytes))):
        sha256.update(chunk)
        left_bytes -= len(chunk)
        read_bytes += len(chunk)
    settled = read_bytes == first.st_size and _same(first, os.fstat(handle))
    return Content(None, read_bytes, sha256.hexdigest(), marks_of(first), settled)


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_size, one.st_mtime_ns, one.st_ctime_ns) == (other.st_size, other.st_mtime_ns, other.st_ctime_ns)


def _continues(before: Content, after: Content) -> bool:
    """What was read first is what the file still begins with."""
    if before.data is not None:
        return after.data is not None and after.data.startswith(before.data)
    return after.data is None and (after.bytes, after.sha256) == (before.bytes, before.sha256)
