"""A dataset's listing: which files, where their bytes lie, and how the whole is named for ever (the digest)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from outlast.bundle.listing import DIGEST_FORM, EXECUTABLE, PLAIN
from outlast.errors import Damaged
from outlast.pattern import pattern

PIECE_BYTES = 16 << 20
"""Longer files are several pieces, so that an upload goes on where it was killed. Part of the format: the digest counts pieces."""

DIRECTORY = "dir"
"""The mode of a directory that holds nothing, and would else not be there."""

MODES = frozenset({PLAIN, EXECUTABLE, DIRECTORY})

PATH_BYTES_MAX = 3000
NAME_BYTES_MAX = 255
SHARD_ROWS_MAX = 20_000
SHARD_PIECES_MAX = 40_000
"""How much of a listing is in memory at a time, whatever the dataset's size."""

_ILLEGAL = pattern(rb"\A\Z|\A/|/\Z|//|(?:\A|/)\.{1,2}(?:/|\Z)|\0|[^/]{256}", re.DOTALL)


class Piece(NamedTuple):
    sha256: str
    bytes: int
    pack: str
    offset: int


class Row(NamedTuple):
    path: bytes
    """Relative and canonical, as the file system has it: not always text."""

    mode: str
    pieces: tuple[Piece, ...]

    @property
    def bytes(self) -> int:
        return sum(piece.bytes for piece in self.pieces)


class Digest:
    """Of rows in the order of their paths: equal directories have equal digests, however they are stored."""

    def __init__(self, file: str) -> None:
        """`file`: the name of the only file, if the dataset is a file and no directory."""
        self._sha256 = hashlib.sha256(b"outlast dataset 1\n" + _text_bytes(file) + b"\0")

    def add(self, row: Row) -> None:
        sums = " ".join(f"{piece.bytes} {piece.sha256}" for piece in row.pieces)
        self._sha256.update(b"%s %s %s\0" % (row.mode.encode(), sums.encode(), row.path))

    def finish(self) -> str:
        return self._sha256.hexdigest()


def is_legal(path: bytes) -> bool:
    """A relative path that stays inside: no empty, `.` or `..` segment, no NUL, nothing that is too long."""
    return len(path) <= PATH_BYTES_MAX and _ILLEGAL.search(path) is None


def encode_shard(rows: Iterable[Row]) -> bytes:
    """`{"packs": [digest, ...], "files": [[path, mode, [[sha256, bytes, pack, offset], ...]], ...]}`; `pack` counts in `packs`."""
    numbers: dict[str, int] = {}
    files = []
    for path, mode, pieces in rows:
        places = [(sha256, size, numbers.setdefault(pack, len(numbers)), at) for sha256, size, pack, at in pieces]
        files.append((path.decode("utf-8", "surrogateescape"), mode, places))
    return json.dumps({"packs": list(numbers), "files": files}, separators=(",", ":")).encode()


def decode_shard(data: bytes, key: str) -> Iterator[Row]:
    """What is read here may have been written by anybody: `Damaged` for all that is no row."""
    try:
        document = json.loads(data)
        packs, files = document["packs"], document["files"]
        if len(files) > SHARD_ROWS_MAX or not all(DIGEST_FORM.fullmatch(pack) for pack in packs):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Damaged(f"`{key}` is damaged: it is no listing of a dataset") from None
    for row in files:
        try:
            yield _row(row, packs)
        except (ValueError, TypeError, AttributeError, IndexError):
            raise Damaged(f"`{key}` is damaged: {json.dumps(row)[:160]} describes no file") from None


def _row(row: Any, packs: list[str]) -> Row:
    text, mode, places = row
    path = text.encode("utf-8", "surrogateescape")
    if not is_legal(path) or mode not in MODES or (mode == DIRECTORY and places):
        raise ValueError
    pieces = tuple(_piece(packs, *place) for place in places)
    if any(piece.bytes != PIECE_BYTES for piece in pieces[:-1]):
        raise ValueError
    return Row(path, mode, pieces)


def _piece(packs: list[str], sha256: Any, size: Any, number: Any, offset: Any) -> Piece:
    if not all(type(one) is int and one >= 0 for one in (size, number, offset)) or not 0 < size <= PIECE_BYTES:
        raise ValueError
    if not DIGEST_FORM.fullmatch(sha256):
        raise ValueError
    return Piece(sha256, size, packs[number], offset)


def _text_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
