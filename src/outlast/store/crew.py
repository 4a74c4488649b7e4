"""Threads of a store that does several things at a time. A forked process begins with none."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from outlast.store.crew_ahead import Ahead, no_bytes, nothing

T = TypeVar("T")

LOOK_SECONDS = 0.2
"""How often whoever waits for the crew does its own work in between."""


GIVE_UP_SECONDS = 1.0
"""How long what nobody wants any more is waited for."""


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

    def each(
        self, calls: Iterable[Callable[[], object]], between: Callable[[], None], ended: threading.Event | None = None
    ) -> None:
        """All of them, a few at a time, the first ones first; the first error of any is raised.

        `between` is called by this thread while it waits, and may raise too. Then `ended` is set, what has not begun never does, and
        what runs is waited for only briefly: whoever gives up, because its machine is taken away, has no time to lose.
        """
        row = _Row(iter(calls))
        workers = [self.submit(row.work) for _ in range(self.threads)]
        try:
            while wait(workers, timeout=LOOK_SECONDS).not_done and not row.errors:
                between()
        finally:
            row.over = True
            if ended is not None and (row.errors or any(not one.done() for one in workers)):
                ended.set()
            if wait(workers, timeout=GIVE_UP_SECONDS).not_done:
                self._pool = None  # its threads end by themselves; who comes next has threads of its own
        if row.errors:
            raise row.errors[0]
        between()

    def ahead(
        self,
        calls: Iterable[Callable[[], T]],
        *,
        following: Callable[[T], Iterable[Callable[[], T]]] = nothing,
        size: Callable[[T], int] = no_bytes,
        size_max: int = 1,
    ) -> Iterator[T]:
        """Their answers in order, each asked for before it is needed, and as many as there is room for.

        `following`: further calls that an answer leads to, whose answers come right after it. `size`: how much memory an answer
        takes, and `size_max` what it takes at most: there is room for one more than there are threads.
        """
        return iter(Ahead(self.submit, self.threads, iter(calls), following, size, size_max))


class _Row:
    """Calls that wait for a free thread; whoever is free takes the next one."""

    def __init__(self, calls: Iterator[Callable[[], object]]) -> None:
        self._calls = calls
        self._taking = threading.Lock()
        self.errors: list[BaseException] = []
        self.over = False

    def work(self) -> None:
        try:
            while not self.over and not self.errors:
                with self._taking:
                    call = next(self._calls, None)
                if call is None:
                    return
                call()
        except BaseException as error:  # noqa: BLE001  the edge of a thread: raised again by whoever waits
            self.errors.append(error)


class Gauge:
    """A number that many threads add to."""

    def __init__(self) -> None:
        self.value = 0
        self._lock = threading.Lock()

    def add(self, amount: int) -> None:
        with self._lock:
            self.value += amount
