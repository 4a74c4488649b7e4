"""A store that is asked again when it was unavailable for now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import TypeVar

from outlast.clock import Clock
from outlast.errors import StoreUnavailable
from outlast.store.one_by_one import OneByOne
from outlast.store.store import Entry, Store, Stored

FIRST_SECONDS = 0.5
"""The longest that is waited before the second try; doubled before each further one."""

DELAY_SECONDS_MAX = 32.0
"""What the doubling leads to at most."""

SECONDS_MAX = 120.0
"""For how long one call is tried, unless told otherwise: a burst of refusals passes, an outage is somebody's to decide about."""

T = TypeVar("T")


class Retrying(OneByOne):
    """The same promises, with `StoreUnavailable` raised only after `seconds_max`.

    A write whose answer was lost is made again. So `PreconditionFailed` may be the echo of this call's own success; who writes
    with a condition looks whether what is there is its own.
    An upload is made again only if its chunks can be: a list can, an iterator is used up. A download that has begun is not.
    """

    def __init__(self, store: Store, clock: Clock, random: Random, *, seconds_max: float = SECONDS_MAX) -> None:
        self.url = store.url
        self.poll_seconds = store.poll_seconds
        self.rewrite_seconds = store.rewrite_seconds
        self.write_seconds = store.write_seconds
        self._store = store
        self._clock = clock
        self._random = random
        self._seconds_max = seconds_max

    @property
    def billed_writes(self) -> int:
        return self._store.billed_writes

    def get(self, key: str) -> Stored:
        return self._again(lambda: self._store.get(key))

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        return self._again(lambda: self._store.put(key, data, if_generation=if_generation))

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Iterator[Entry]:
        """Goes on after the last entry that it gave."""
        left = limit
        entries: Iterator[Entry] | None = None

        def following() -> Entry | None:
            nonlocal entries
            listing = self._store.list(prefix, after=after, limit=left) if entries is None else entries
            entries = None
            entry = next(listing, None)
            entries = listing
            return entry

        while (entry := self._again(following)) is not None:
            after = entry.key
            left = None if left is None else left - 1
            yield entry

    def delete(self, key: str, *, if_generation: int | None = None) -> None:
        self._again(lambda: self._store.delete(key, if_generation=if_generation))

    def purge(self, keys: Iterable[str]) -> None:
        all_keys = tuple(keys)
        self._again(lambda: self._store.purge(all_keys))

    def upload(self, key: str, chunks: Iterable[bytes]) -> int:
        if iter(chunks) is chunks:
            return self._store.upload(key, chunks)
        return self._again(lambda: self._store.upload(key, chunks))

    def download(self, key: str) -> Iterator[bytes]:
        def begun() -> tuple[bytes | None, Iterator[bytes]]:
            chunks = self._store.download(key)
            return next(chunks, None), chunks

        first, rest = self._again(begun)
        if first is not None:
            yield first
            yield from rest

    def now(self) -> float:
        return self._again(self._store.now)

    def _again(self, call: Callable[[], T]) -> T:
        until = self._clock.monotonic() + self._seconds_max
        delay_max = FIRST_SECONDS
        while True:
            try:
                return call()
            except StoreUnavailable:
                left = until - self._clock.monotonic()
                if left <= 0:
                    raise
            # Anything between nothing and the bound, so that those who failed together do not come back together.
            self._clock.sleep(min(left, self._random.uniform(0.0, delay_max)))
            delay_max = min(DELAY_SECONDS_MAX, delay_max * 2)
