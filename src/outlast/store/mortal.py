"""A store whose user can be killed, or lied to, at every write: for crash tests and simulations."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from outlast.dataclass import dataclass
from outlast.errors import StoreUnavailable
from outlast.store.one_by_one import OneByOne
from outlast.store.store import Entry, Store, Stored

T = TypeVar("T")

Hook = Callable[[str, str], None]
"""Called with the operation's name and the key; it may raise, or never return."""


class Fault(enum.Enum):
    BEFORE = "error before"
    """Nothing was done."""

    LOST = "answer lost"
    """It was done, and the caller does not know."""


@dataclass
class _Planned:
    operation: str
    fault: Fault
    key_prefix: str
    times: int


class Faults:
    """Faults by the name of the operation, each used up by the calls that it hits."""

    def __init__(self) -> None:
        self._planned: list[_Planned] = []

    def plan(self, operation: str, fault: Fault, *, key_prefix: str = "", times: int = 1) -> None:
        """The next `times` calls of `operation` (`get`, `put`, `list`, ...) for keys that begin like this fail."""
        if operation not in OPERATIONS:
            raise ValueError(f"there is no operation {operation!r}; there are {', '.join(OPERATIONS)}")
        self._planned.append(_Planned(operation, fault, key_prefix, times))

    def take(self, operation: str, key: str) -> Fault | None:
        for planned in self._planned:
            if planned.times and planned.operation == operation and key.startswith(planned.key_prefix):
                planned.times -= 1
                return planned.fault
        return None

    @property
    def unused(self) -> list[str]:
        """What was planned and never met: a test that expects a fault asserts that this is empty."""
        return [
            f"{planned.operation} {planned.key_prefix}* {planned.fault.value}: {planned.times} times"
            for planned in self._planned
            if planned.times
        ]


def _nothing(operation: str, key: str) -> None:
    pass


WRITES = ("put", "delete", "purge", "upload", "chunk")
"""The operations that the hooks see: a purge once per key, an upload once as a whole and once before each of its chunks."""

OPERATIONS = (*WRITES, "get", "list", "download", "now")


class Mortal(OneByOne):
    """`before` is called before every write, `after` after every one that took effect; `faults` strike reads too."""

    def __init__(
        self, store: Store, before: Hook = _nothing, after: Hook = _nothing, *, faults: Faults | None = None
    ) -> None:
        self.url = store.url
        self.poll_seconds = store.poll_seconds
        self.rewrite_seconds = store.rewrite_seconds
        self.write_seconds = store.write_seconds
        self._store = store
        self._before = before
        self._after = after
        self._faults = faults or Faults()

    @property
    def billed_writes(self) -> int:
        return self._store.billed_writes

    def get(self, key: str) -> Stored:
        return self._faulty("get", key, partial(self._store.get, key))

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        return self._write("put", key, partial(self._store.put, key, data, if_generation=if_generation))

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Iterator[Entry]:
        return self._stream("list", prefix, partial(self._store.list, prefix, after=after, limit=limit))

    def delete(self, key: str, *, if_generation: int | None = None) -> None:
        self._write("delete", key, partial(self._store.delete, key, if_generation=if_generation))

    def purge(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._write("purge", key, partial(self._store.purge, [key]))

    def upload(self, key: str, chunks: Iterable[bytes]) -> int:
        def watched() -> Iterator[bytes]:
            for chunk in chunks:
                self._before("chunk", key)
                yield self._faulty("chunk", key, partial(bytes, chunk))

        return self._write("upload", key, lambda: self._store.upload(key, watched()))

    def download(self, key: str) -> Iterator[bytes]:
        return self._stream("download", key, partial(self._store.download, key))

    def now(self) -> float:
        return self._faulty("now", "", self._store.now)

    def _write(self, operation: str, key: str, call: Callable[[], T]) -> T:
        def write() -> T:
            answer = call()
            self._after(operation, key)
            return answer

        self._before(operation, key)
        return self._faulty(operation, key, write)

    def _faulty(self, operation: str, key: str, call: Callable[[], T]) -> T:
        fault = self._faults.take(operation, key)
        if fault is Fault.BEFORE:
            raise _unavailable(operation, key, fault)
        answer = call()
        if fault is Fault.LOST:
            raise _unavailable(operation, key, fault)
        return answer

    def _stream(self, operation: str, key: str, call: Callable[[], Iterator[T]]) -> Iterator[T]:
        """Where the answer is lost, all of it but the first piece is."""
        fault = self._faults.take(operation, key)
        if fault is Fault.BEFORE:
            raise _unavailable(operation, key, fault)
        for piece in call():
            yield piece
            if fault is Fault.LOST:
                raise _unavailable(operation, key, fault)


def _unavailable(operation: str, key: str, fault: Fault) -> StoreUnavailable:
    return StoreUnavailable(f"{operation} `{key}`: {fault.value}, as planned")
