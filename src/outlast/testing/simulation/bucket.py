"""The store's truth: objects with generations, and the record of every write."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from outlast.errors import KeyMissing, PreconditionFailed
from outlast.store.store import Entry, Stored
from outlast.testing.simulation.history import History, Write


class Bucket:
    def __init__(self, history: History) -> None:
        self._history = history
        self._objects: dict[str, Stored] = {}
        self._keys: list[str] = []
        self._generation = 0
        """One counter for all names, as in Cloud Storage: a generation never comes back, not even after a delete."""

        self.reads = 0
        self.lists = 0

    def get(self, key: str) -> Stored:
        self.reads += 1
        try:
            return self._objects[key]
        except KeyError:
            raise KeyMissing(key) from None

    def peek(self, key: str) -> bytes | None:
        """For checks: not counted."""
        stored = self._objects.get(key)
        return None if stored is None else stored.data

    def list(self, prefix: str, after: str, limit: int | None) -> list[Entry]:
        self.lists += 1
        found: list[Entry] = []
        for index in range(bisect_left(self._keys, max(prefix, after)), len(self._keys)):
            key = self._keys[index]
            if not key.startswith(prefix) or (limit is not None and len(found) >= limit):
                break
            if key > after:
                stored = self._objects[key]
                found.append(Entry(key, stored.generation, len(stored.data)))
        return found

    def put(self, key: str, data: bytes, condition: int | None, *, by: str, sent_at: float, op: str = "put") -> int:
        before = self._generation_of(key)
        if condition is not None and condition != before:
            raise PreconditionFailed(key)
        self._generation += 1
        if not before:
            insort(self._keys, key)
        self._objects[key] = Stored(data, self._generation)
        at = self._history.clock()
        self._history.wrote(Write(at, sent_at, by, op, key, data, self._generation, before, condition))
        return self._generation

    def delete(self, key: str, condition: int | None, *, by: str, sent_at: float, op: str = "delete") -> None:
        before = self._generation_of(key)
        if condition is not None and condition != before:
            raise PreconditionFailed(key)
        if not before:
            return
        del self._objects[key]
        del self._keys[bisect_left(self._keys, key)]
        self._generation += 1
        at = self._history.clock()
        self._history.wrote(Write(at, sent_at, by, op, key, None, self._generation, before, condition))

    def purge(self, keys: Iterable[str], *, by: str, sent_at: float) -> None:
        for key in keys:
            self.delete(key, None, by=by, sent_at=sent_at, op="purge")

    def damage(self, key: str) -> None:
        """Flips a bit behind everybody's back."""
        stored = self._objects[key]
        self._objects[key] = Stored(bytes((stored.data[0] ^ 1,)) + stored.data[1:], stored.generation)

    def _generation_of(self, key: str) -> int:
        stored = self._objects.get(key)
        return 0 if stored is None else stored.generation
