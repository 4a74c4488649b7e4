"""Reading a dataset's files: a few small ones at a time, or a piece of a large one, each between two looks at its marks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from outlast.bundle.dataset.listing import DIRECTORY, PIECE_BYTES, Piece
from outlast.bundle.dataset.walk import Entry, changed
from outlast.bundle.rules import SNIFFED_BYTES_MAX, looks_like_key
from outlast.bundle.tree import marks_of
from outlast.errors import Denied, OutlastError

BATCH_ENTRIES_MAX = 64
BATCH_BYTES_MAX = 4 << 20

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Content(NamedTuple):
    sha256: str
    data: bytes | None
    """None: known from an earlier push, and not read."""

    bytes: int
    entry: Entry
    offset: int
    """Of the content in its file."""

    place: Piece | None = None
    """Where it lies in the home."""


class Asked(NamedTuple):
    """One entry, or one piece of a large one."""

    entry: Entry
    offset: int
    bytes: int
    known: tuple[Piece, ...] | None
    """Of the whole entry, if it need not be read."""

    last: bool
    refused: bool = False
    """Known to be a key or a login, whatever it is called."""

    before: tuple[Piece, ...] = ()
    """What the file held when it was read last: where its content is the same after all, so is its place."""


class Read(NamedTuple):
    asked: Asked
    contents: tuple[Content, ...]
    refused: bool = False


def ask(entry: Entry, known: tuple[Piece, ...] | None, before: tuple[Piece, ...] = ()) -> Iterator[Asked]:
    """A file above a piece's size is asked for piece by piece."""
    size = entry.marks[2] if entry.mode != DIRECTORY else 0
    if known is not None or size <= PIECE_BYTES:
        yield Asked(entry, 0, size, known, last=True, before=before)
        return
    for offset in range(0, size, PIECE_BYTES):
        length = min(PIECE_BYTES, size - offset)
        yield Asked(entry, offset, length, None, last=offset + length == size, before=before)


def batches(many: Iterable[Asked]) -> Iterator[list[Asked]]:
    batch: list[Asked] = []
    size = 0
    for asked in many:
        read_bytes = asked.bytes if asked.known is None else 0
        if read_bytes >= BATCH_BYTES_MAX and batch:
            yield batch
            batch, size = [], 0
        batch.append(asked)
        size += read_bytes
        if len(batch) == BATCH_ENTRIES_MAX or size >= BATCH_BYTES_MAX:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def read_batch(batch: list[Asked]) -> list[Read]:
    return [_read(asked) for asked in batch]


def read_again(content: Content) -> bytes:
    """A content that was not read because it was known, and turns out to be needed."""
    data = _bytes(content.entry, content.offset, content.bytes)
    if hashlib.sha256(data).hexdigest() != content.sha256:
        raise changed(content.entry.path)
    return data


def _read(asked: Asked) -> Read:
    entry = asked.entry
    if asked.refused:
        return Read(asked, (), refused=True)
    if asked.known is not None:
        offsets = range(0, len(asked.known) * PIECE_BYTES, PIECE_BYTES)
        contents = [
            Content(piece.sha256, None, piece.bytes, entry, offset, piece)
            for piece, offset in zip(asked.known, offsets, strict=True)
        ]
        return Read(asked, tuple(contents))
    if not asked.bytes:
        return Read(asked, ())
    data = _bytes(entry, asked.offset, asked.bytes)
    if entry.marks[2] <= SNIFFED_BYTES_MAX and looks_like_key(data):
        return Read(asked, (), refused=True)
    sha256 = hashlib.sha256(data).hexdigest()
    number = asked.offset // PIECE_BYTES
    same = number < len(asked.before) and asked.before[number].sha256 == sha256
    place = asked.before[number] if same else None
    return Read(asked, (Content(sha256, data, len(data), entry, asked.offset, place),))


def _bytes(entry: Entry, offset: int, size: int) -> bytes:
    """`changed` unless the file is, before and after, what was seen when its directory was walked."""
    try:
        handle = os.open(entry.source, _FLAGS)
    except FileNotFoundError:
        raise changed(entry.path) from None
    except PermissionError as error:
        shown = os.fsdecode(entry.source)
        raise Denied(f"`{shown[:200]}` cannot be read", hint=f"`chmod u+r {shown[:200]}`") from error
    except OSError as error:
        raise changed(entry.path) from error
    try:
        if marks_of(os.fstat(handle)) != entry.marks:
            raise changed(entry.path)
        data = os.pread(handle, size, offset)
        while len(data) < size and (more := os.pread(handle, size - len(data), offset + len(data))):
            data += more
        if len(data) != size or marks_of(os.fstat(handle)) != entry.marks:
            raise changed(entry.path)
    except OSError as error:
        shown = os.fsdecode(entry.path)
        raise OutlastError(
            f"`{shown[:200]}` cannot be read: {error.strerror}", hint="look at the disk (`dmesg`)"
        ) from error
    finally:
        os.close(handle)
    return data
