"""Objects of any size on their way down: several pieces at a time, in order, also across the borders of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from outlast.errors import KeyMissing, OutlastError, StoreUnavailable
from outlast.google.wire import Answer
from outlast.store.gcs_content import content_generation, total_bytes
from outlast.store.gcs_uploads import PIECE_BYTES
from outlast.store.store import CHUNK_BYTES

T = TypeVar("T")


class Read(Protocol):
    def __call__(
        self,
        key: str,
        *,
        generation: int | None = None,
        first: int = 0,
        size: int,
        place: Callable[[int], bytearray],
    ) -> Answer:
        """That much of an object; `KeyMissing`, or what else is a store's to raise."""
        ...


class Hands(Protocol):
    def ahead(
        self,
        calls: Iterable[Callable[[], T]],
        *,
        following: Callable[[T], Iterable[Callable[[], T]]],
        size: Callable[[T], int],
        size_max: int,
    ) -> Iterator[T]: ...


class Piece(NamedTuple):
    data: bytes | bytearray
    following: Sequence[Callable[[], Piece]] = ()
    """The rest of the object, if this is its first piece."""

    given_up: list[bool] = []  # noqa: RUF012  read, and only the object's own is written to
    """Not empty any more when nobody wants the rest."""

    error: OutlastError | KeyMissing | None = None


class Download:
    """One object after the other, each read or given up before the next one."""

    def __init__(self, read: Read, hands: Hands) -> None:
        self._read = read
        self._hands = hands
        self._free: list[bytearray] = []
        """Memory of pieces that were read: new memory comes from the system page by page, as dear as receiving what it is for."""

    def one(self, key: str) -> Iterator[bytes]:
        """Its first piece is there when this returns."""
        first = self._first(key)
        return self._chunks(first, self._ahead(first.following) if first.following else iter(()))

    def many(self, keys: Iterable[str]) -> Iterator[Iterator[bytes]]:
        pieces = self._ahead(partial(self._first_or_error, key) for key in keys)
        for first in pieces:
            left = _Left(pieces, len(first.following))
            yield self._chunks(first, left)
            if left.count:
                first.given_up.append(True)
                left.drop()

    def _ahead(self, calls: Iterable[Callable[[], Piece]]) -> Iterator[Piece]:
        return self._hands.ahead(calls, following=_following, size=_bytes, size_max=PIECE_BYTES)

    def _chunks(self, first: Piece, pieces: Iterator[Piece]) -> Iterator[bytes]:
        yield from self._cut(first)
        for _ in first.following:
            piece = next(pieces, None)
            if piece is None:
                raise RuntimeError("an object was not read before the next one was taken, and cannot be any more")
            yield from self._cut(piece)

    def _cut(self, piece: Piece) -> Iterator[bytes]:
        if piece.error is not None:
            raise piece.error
        data = piece.data
        if len(data) <= CHUNK_BYTES:
            if data:
                yield bytes(data)
            return
        with memoryview(data) as view:
            for offset in range(0, len(data), CHUNK_BYTES):
                yield bytes(view[offset : offset + CHUNK_BYTES])
        if isinstance(data, bytearray) and len(data) == PIECE_BYTES:
            self._free.append(data)

    def _place(self, size: int) -> bytearray:
        try:
            return self._free.pop() if size == PIECE_BYTES else bytearray(size)
        except IndexError:
            return bytearray(size)

    def _first_or_error(self, key: str) -> Piece:
        try:
            return self._first(key)
        except (OutlastError, KeyMissing) as error:
            return Piece(b"", error=error)

    def _first(self, key: str) -> Piece:
        answer = self._read(key, size=PIECE_BYTES, place=self._place)
        came, total = len(answer.body), total_bytes(answer)
        if came >= total:
            return Piece(answer.body)
        generation = content_generation(answer)
        given_up: list[bool] = []
        following = [
            partial(self._further, given_up, key, generation, offset, min(PIECE_BYTES, total - offset))
            for offset in range(came, total, PIECE_BYTES)
        ]
        return Piece(answer.body, following, given_up)

    def _further(self, given_up: list[bool], key: str, generation: int, offset: int, size: int) -> Piece:
        if given_up:
            return Piece(b"")
        try:
            data = self._read(key, generation=generation, first=offset, size=size, place=self._place).body
        except KeyMissing:
            return Piece(b"", error=StoreUnavailable(f"`{key}` was replaced while it was read"))
        except OutlastError as error:
            return Piece(b"", error=error)
        if len(data) != size:
            return Piece(b"", error=StoreUnavailable(f"`{key}`: {len(data)} bytes came instead of {size}"))
        return Piece(data)


class _Left:
    """What is to come of one object, and nothing of the next."""

    def __init__(self, pieces: Iterator[Piece], count: int) -> None:
        self._pieces = pieces
        self.count = count

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        if not self.count:
            raise StopIteration
        self.count -= 1
        return next(self._pieces)

    def drop(self) -> None:
        for _ in self:
            continue


def _following(piece: Piece) -> Sequence[Callable[[], Piece]]:
    return piece.following


def _bytes(piece: Piece) -> int:
    return len(piece.data)
