"""Threads for whatever waits; as many as are needed at once, up to a limit, and kept."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

THREADS_MAX = 512
"""More requests than this at the same time wait for each other."""


class Crew:
    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0

    def do(self, call: Callable[[], None]) -> None:
        with self._lock:
            if self._free == 0 and self._threads < THREADS_MAX:
                self._threads += 1
                threading.Thread(target=self._run, daemon=True).start()
            else:
                self._free -= 1
        self._work.put(call)

    def _run(self) -> None:
        while True:
            self._work.get()()
            with self._lock:
                self._free += 1
