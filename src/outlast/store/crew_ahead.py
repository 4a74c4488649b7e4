"""Answers in the order of their calls, which threads make before anybody asks for them."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar, cast

T = TypeVar("T")

AHEAD_MAX = 64
"""How many calls are known at a time. When half of them are done, the threads are told the next ones, all at once:
whoever takes small answers is not disturbed for each."""


def nothing(answer: object) -> tuple[()]:
    """For answers that lead to no further calls."""
    return ()


def no_bytes(answer: object) -> int:
    """For answers that take no memory to speak of."""
    return 0


class _Slot(Generic[T]):
    """One call, and what has become of it."""

    __slots__ = ("answer", "bytes", "call", "error", "following", "is_done")

    def __init__(self, call: Callable[[], T]) -> None:
        self.call = call
        self.is_done = False
        self.answer: T | None = None
        self.error: BaseException | None = None
        self.bytes = 0
        self.following: list[_Slot[T]] = []


class Ahead(Generic[T]):
    """Iterated once, by one thread, which alone takes from `calls`.

    The threads are borrowed: none waits for room. Whoever takes an answer sends for as many as there is room for again.
    """

    def __init__(
        self,
        submit: Callable[[Callable[[], None]], object],
        threads: int,
        calls: Iterator[Callable[[], T]],
        following: Callable[[T], Iterable[Callable[[], T]]],
        size: Callable[[T], int],
        size_max: int,
    ) -> None:
        self._submit = submit
        self._threads = threads
        self._calls = calls
        self._following = following
        self._size = size
        self._size_max = size_max
        self._known: deque[_Slot[T]] = deque()
        self._known_count = 0
        self._came = threading.Condition(threading.Lock())
        # All that follows is touched only by who holds the lock of `_came`.
        self._to_do: list[tuple[int, int, _Slot[T]]] = []
        """A heap: what is needed first is done first, also where it was found last."""

        self._held_bytes = 0
        """Answers that nobody has taken, and what those may become that are on their way."""

        self._working = 0
        self._awaited: _Slot[T] | None = None
        self._is_over = False

    def __iter__(self) -> Iterator[T]:
        try:
            while True:
                if len(self._known) <= AHEAD_MAX // 2:
                    self._learn()
                if not self._known:
                    return
                slot = self._known.popleft()
                yield self._take(slot)
                for further in slot.following:
                    yield self._take(further)
        finally:
            with self._came:
                self._is_over = True
                self._to_do.clear()

    def _learn(self) -> None:
        learned = []
        while len(self._known) < AHEAD_MAX:
            call = next(self._calls, None)
            if call is None:
                break
            slot = _Slot(call)
            self._known.append(slot)
            learned.append((self._known_count, 0, slot))
            self._known_count += 1
        if learned:
            with self._came:
                for entry in learned:
                    heapq.heappush(self._to_do, entry)
                wanted = self._hire()
            self._send_for(wanted)

    def _take(self, slot: _Slot[T]) -> T:
        with self._came:
            if not slot.is_done:
                self._awaited = slot
                wanted = self._hire()
                if wanted:
                    self._came.release()
                    try:
                        self._send_for(wanted)
                    finally:
                        self._came.acquire()
                while not slot.is_done:
                    self._came.wait()
                self._awaited = None
            self._held_bytes -= slot.bytes
            wanted = self._hire()
        self._send_for(wanted)
        if slot.error is not None:
            raise slot.error
        answer, slot.answer = slot.answer, None
        return cast("T", answer)  # T may have None in it

    def _send_for(self, workers: int) -> None:
        for _ in range(workers):
            self._submit(self._work)

    def _hire(self) -> int:
        """How many more threads have something to do; they count as working from now on."""
        room = ((self._threads + 1) * self._size_max - self._held_bytes) // self._size_max
        wanted = min(self._threads - self._working, len(self._to_do), room)
        if wanted <= 0:  # an answer was larger than was thought possible, and what is needed now comes before it
            wanted = 1 if self._to_do and not self._working and self._to_do[0][2] is self._awaited else 0
        self._working += wanted
        return wanted

    def _work(self) -> None:
        with self._came:
            entry = self._next()
        while entry is not None:
            number, _, slot = entry
            self._do(slot)
            with self._came:
                self._held_bytes += slot.bytes - self._size_max
                if not self._is_over:
                    for order, further in enumerate(slot.following, 1):
                        heapq.heappush(self._to_do, (number, order, further))
                slot.is_done = True
                if slot is self._awaited:
                    self._came.notify()
                entry = self._next()
                wanted = self._hire() if slot.following else 0
            self._send_for(wanted)

    def _next(self) -> tuple[int, int, _Slot[T]] | None:
        fits = self._held_bytes + self._size_max <= (self._threads + 1) * self._size_max
        if not self._to_do or not (fits or self._to_do[0][2] is self._awaited):
            self._working -= 1
            return None
        self._held_bytes += self._size_max
        return heapq.heappop(self._to_do)

    def _do(self, slot: _Slot[T]) -> None:
        try:
            answer = slot.call()
            slot.bytes = self._size(answer)
            slot.following = [_Slot(call) for call in self._following(answer)]
            slot.answer = answer
        except BaseException as error:  # noqa: BLE001  the edge of a thread: raised again by whoever takes the answer
            slot.error = error
