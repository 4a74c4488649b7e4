"""A store in this process's memory: for tests and simulations."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping

from outlast.clock import SYSTEM, Clock
from outlast.errors import KeyMissing, PreconditionFailed
from outlast.store.keys import check_key
from outlast.store.one_by_one import OneByOne
from outlast.store.store import CHUNK_BYTES, Entry, Stored

_named: dict[str, MemoryStore] = {}
_naming = threading.Lock()


def named(name: str) -> MemoryStore:
    """The store of this name; the same one for everybody in this process."""
    with _naming:
        if name not in _named:
            _named[name] = MemoryStore(name)
        return _named[name]


class MemoryStore(OneByOne):
    poll_seconds: float = 0.05
    rewrite_seconds: float = 0.0

    def __init__(self, name: str = "", *, clock: Clock = SYSTEM) -> None:
        self.url = f"memory:{name}"
        self._clock = clock
        self._lock = threading.Lock()
        self._objects: dict[str, Stored] = {}
        self._keys: list[str] = []
        """Sorted. Code points sort like their UTF-8 bytes."""

        self._generation = 0
        self._conditional: dict[str, bool] = {}

    def get(self, key: str) -> Stored:
        stored = self._objects.get(key)
        if stored is None:
            check_key(key)
            raise KeyMissing(key)
        return stored

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        check_key(key)
        with self._lock:
            self._check_kind(key, if_generation is not None)
            if if_generation is not None:
                self._check_generation(key, if_generation)
            self._generation += 1
            if key not in self._objects:
                insort(self._keys, key)
            self._objects[key] = Stored(bytes(data), self._generation)
            return self._generation

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Iterator[Entry]:
        found: list[Entry] = []
        with self._lock:
            start = bisect_right(self._keys, after) if after >= prefix else bisect_left(self._keys, prefix)
            for position in range(start, len(self._keys)):
                key = self._keys[position]
                if not key.startswith(prefix) or (limit is not None and len(found) >= limit):
                    break
                stored = self._objects[key]
                found.append(Entry(key, stored.generation, len(stored.data)))
        return iter(found)

    def delete(self, key: str, *, if_generation: int | None = None) -> None:
        check_key(key)
        with self._lock:
            if if_generation is not None:
                self._check_kind(key, conditional=True)
                if if_generation == 0:
                    raise PreconditionFailed(key)
                self._check_generation(key, if_generation)
            self._remove(key)

    def purge(self, keys: Iterable[str]) -> None:
        for key in keys:
            check_key(key)
            with self._lock:
                self._remove(key)
                self._conditional.pop(key, None)

    def upload(self, key: str, chunks: Iterable[bytes]) -> int:
        check_key(key)
        data = b"".join(chunks)
        self.put(key, data)
        return len(data)

    def download(self, key: str) -> Iterator[bytes]:
        data = self.get(key).data
        for offset in range(0, len(data), CHUNK_BYTES):
            yield data[offset : offset + CHUNK_BYTES]

    def now(self) -> float:
        return self._clock.now()

    def snapshot(self) -> Mapping[str, Stored]:
        """Everything that it holds, as it is now."""
        with self._lock:
            return dict(self._objects)

    def restore(self, objects: Mapping[str, Stored]) -> None:
        """Holds exactly this from now on. Generations go on counting, so that none comes back."""
        with self._lock:
            self._objects = dict(objects)
            self._keys = sorted(objects)
            self._generation = max([self._generation, *(stored.generation for stored in objects.values())])

    def _check_kind(self, key: str, conditional: bool) -> None:
        # The directory store cannot mix the two; here, where every test passes, is the place to find out.
        if self._conditional.setdefault(key, conditional) != conditional:
            raise ValueError(f"key {key!r} was written both with and without a condition")

    def _check_generation(self, key: str, generation: int) -> None:
        stored = self._objects.get(key)
        if generation != (0 if stored is None else stored.generation):
            raise PreconditionFailed(key)

    def _remove(self, key: str) -> None:
        if self._objects.pop(key, None) is not None:
            del self._keys[bisect_left(self._keys, key)]
