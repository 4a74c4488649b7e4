"""Bytes by key, with generations: the one thing that a home is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

CHUNK_BYTES = 128 << 10
"""How much `download` yields at a time, at most. Hashed and then written, it is still in the processor's cache when it is copied. And a
file system that is given a megabyte asks for a megabyte of memory in one piece, which a virtual machine may have to get from its host
first, while what has just become free lies idle: three times as slow."""

KEY_BYTES_MAX = 768
"""Cloud Storage's limit for an object's name is 1,024; the rest is for where in its bucket a home lies."""


class Stored(NamedTuple):
    data: bytes
    generation: int


class Entry(NamedTuple):
    key: str
    generation: int
    bytes: int


class Upload(NamedTuple):
    """One of several uploads. `chunks` may be called again, and by another thread."""

    key: str
    chunks: Callable[[], Iterable[bytes]]
    bytes: int | None = None
    """How many come, where that is known: a large one is then sent while it is read, and nothing of it is held."""


class Store(Protocol):
    """Promises, kept by every store and checked by `outlast.testing.store_contract`:

    - A write is atomic and durable when it returns: a reader sees all of it or nothing of it, also after a power cut.
    - Reads and lists see every write that returned before they began, from any process on any machine.
    - A key is non-empty, has no empty, `.` or `..` segment, no NUL and at most `KEY_BYTES_MAX` bytes of UTF-8; else ValueError.
    - A key is written either always with a condition or never: mixing the two is a caller's bug.
    - `KeyMissing` and `PreconditionFailed` are answers. `StoreUnavailable` means that the outcome is unknown: the write may have
      been done. `StoreFull`, `Denied`: nothing was written and trying again does not help.
    - A store that is not made yet is empty, and its first write makes it. Who knows that it was made (by `open_store(url, made=True)`, or
      having read or written there) never takes one that is not there, a file system that is not mounted, for an empty one: that is
      `StoreUnavailable`.
    - Every call may block for as long as the store's own limits allow; none is asynchronous. A store may be used after a fork.
    """

    url: str
    """Where it is, in the form that `outlast.store.registry.open_store` takes."""

    poll_seconds: float
    """How often it is cheap and polite to look whether something has changed."""

    rewrite_seconds: float
    """How long to wait between two writes of one key (Cloud Storage takes one a second; a directory any number: 0)."""

    write_seconds: float
    """How long what is written again and again, and may wait, had better wait: where each write is billed, above 0."""

    @property
    def billed_writes(self) -> int:
        """How many writes and lists of this handle were billed by number (Cloud Storage: class A operations)."""
        ...

    def get(self, key: str) -> Stored:
        """The object and its generation (never 0); `KeyMissing` if there is none."""
        ...

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        """Writes, and answers the new generation.

        `if_generation=0`: only if there is no such object; `g`: only if its generation is g; else `PreconditionFailed` and nothing
        is written. A generation never comes back, not even after a delete. None: no condition; the last writer wins.
        """
        ...

    def create_many(self, objects: Sequence[tuple[str, bytes]]) -> Sequence[bool]:
        """Like `put` of each (key, data) with `if_generation=0`, all keys different, perhaps all at a time; answers which were not there.

        All are there when it returns; any of them may be when it raises.
        """
        ...

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Iterator[Entry]:
        """The objects whose keys begin with `prefix` and come after `after`, in the order of their keys' UTF-8 bytes."""
        ...

    def delete(self, key: str, *, if_generation: int | None = None) -> None:
        """Gone afterwards; deleting what is gone is no error unless a generation was asked for."""
        ...

    def purge(self, keys: Iterable[str]) -> None:
        """Deletes objects whose names nobody will ever write again (they carry a nonce), leaving no trace."""
        ...

    def upload(self, key: str, chunks: Iterable[bytes]) -> int:
        """Writes an object of any size without condition, never holding all of it in memory; answers its size in bytes."""
        ...

    def upload_many(self, uploads: Iterable[Upload], between: Callable[[int], None] = ...) -> None:
        """Like `upload` of each, perhaps several at a time; all are there when it returns, any of them may be when it raises.

        `between` is told by the caller's own thread how many bytes were read so far, now and then, and may raise.
        """
        ...

    def download_many(self, keys: Iterable[str]) -> Iterator[Iterator[bytes]]:
        """Like `download` of each, in order, perhaps ahead. Each is read, or given up, before the next one is taken."""
        ...

    def download(self, key: str) -> Iterator[bytes]:
        """The object's bytes in chunks; `KeyMissing` before the first one."""
        ...

    def now(self) -> float:
        """The store's time in seconds since 1970: the only clock by which deadlines are decided."""
        ...
