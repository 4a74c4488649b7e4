"""Threads of a store that does several things at a time. A forked process begins with none."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

LOOK_SECONDS = 0.2
"""How often whoever waits for the crew does its own work in between."""


class Crew:
    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._owner = 0
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, call: Callable[[], T]) -> Future[T]:
        if self._pool is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="outlast-store")
        return self._pool.submit(call)

    def each(self, calls: Iterable[Callable[[], T]], between: Callable[[], None]) -> None:
        """All of them, a few at a time, the first ones first. The first error is raised when no other is running any more.

        `between` is called by this thread while it waits, and may raise too: what has not begun never does.
        """
        running: set[Future[T]] = set()
        pending = iter(calls)
        try:
            for call in pending:
                running.add(self.submit(call))
                while len(running) >= 2 * self.threads:
                    running = self._some(running, between)
            while running:
                running = self._some(running, between)
        finally:
            for one in running:
                one.cancel()
            wait(running)

    def ahead(self, calls: Iterable[Callable[[], T]]) -> Iterator[T]:
        """Their answers in order, each asked for before it is needed."""
        running: list[Future[T]] = []
        try:
            for call in calls:
                running.append(self.submit(call))
                if len(running) > self.threads:
                    yield running.pop(0).result()
            while running:
                yield running.pop(0).result()
        finally:
            for one in running:
                one.cancel()

    def _some(self, running: set[Future[T]], between: Callable[[], None]) -> set[Future[T]]:
        done, rest = wait(running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
        for one in done:
            one.result()
        between()
        return rest


class Gauge:
    """A number that many threads add to."""

    def __init__(self) -> None:
        self.value = 0
        self._lock = threading.Lock()

    def add(self, amount: int) -> None:
        with self._lock:
            self.value += amount
