"""Hashing beside whoever uses the bytes, on another core: on a machine that has just booted, writing a file is as slow as hashing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

BESIDE_BYTES_MIN = 256 << 10


def hashed(chunks: Iterable[bytes], check: _Hash) -> Iterator[bytes]:
    """The same chunks. Each is hashed before the next one is asked for: its memory may be used again then."""
    beside: _Beside | None = None
    try:
        for chunk in chunks:
            if len(chunk) < BESIDE_BYTES_MIN:
                check.update(chunk)
                yield chunk
                continue
            beside = beside or _Beside(check.update)
            beside.begin(chunk)
            try:
                yield chunk
            finally:
                beside.end()
    finally:
        if beside is not None:
            beside.close()


class _Beside:
    """One thread, which does one thing at a time."""

    def __init__(self, work: Callable[[bytes], object]) -> None:
        from queue import SimpleQueue  # small files do without threads
        from threading import Thread

        self._work = work
        self._asked: SimpleQueue[bytes | None] = SimpleQueue()
        self._done: SimpleQueue[None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="outlast-hash", daemon=True)
        self._thread.start()

    def begin(self, chunk: bytes) -> None:
        self._asked.put(chunk)

    def end(self) -> None:
        self._done.get()

    def close(self) -> None:
        self._asked.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (chunk := self._asked.get()) is not None:
            try:
                self._work(chunk)
            finally:
                self._done.put(None)
