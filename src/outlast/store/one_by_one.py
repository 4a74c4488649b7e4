"""Several writes and reads, for stores to which one after the other is as good."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from outlast.errors import PreconditionFailed
from outlast.store.store import Upload


def unwatched(done_bytes: int) -> None:
    """For those who have nothing to do in between."""


class _Plain(Protocol):
    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int: ...
    def upload(self, key: str, chunks: Iterable[bytes]) -> int: ...
    def download(self, key: str) -> Iterator[bytes]: ...


def created(store: _Plain, key: str, data: bytes) -> bool:
    """False: there is such an object already."""
    try:
        store.put(key, data, if_generation=0)
    except PreconditionFailed:
        return False
    return True


class Watched:
    """Tells after each piece how much of all has been taken."""

    def __init__(self, between: Callable[[int], None]) -> None:
        self._between = between
        self._done_bytes = 0

    def chunks(self, upload: Upload) -> Iterator[bytes]:
        for chunk in upload.chunks():
            yield chunk
            self._done_bytes += len(chunk)
            self._between(self._done_bytes)


class OneByOne:
    """For a store whose writes cost nothing each."""

    write_seconds: float = 0.0

    @property
    def billed_writes(self) -> int:
        return 0

    def create_many(self: _Plain, objects: Sequence[tuple[str, bytes]]) -> Sequence[bool]:
        return [created(self, key, data) for key, data in objects]

    def upload_many(self: _Plain, uploads: Iterable[Upload], between: Callable[[int], None] = unwatched) -> None:
        watched = Watched(between)
        for upload in uploads:
            self.upload(upload.key, watched.chunks(upload))

    def download_many(self: _Plain, keys: Iterable[str]) -> Iterator[Iterator[bytes]]:
        for key in keys:
            yield self.download(key)
