"""Reading many files with several hands: opening, reading and hashing all happen outside of the interpreter's lock."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import Generic, TypeVar

from outlast.bundle.reading import Content, read_content
from outlast.bundle.tree import Tree

HANDS_MAX = 4
"""More do not help: the rest of the work is one thread's."""

ALONE_MAX = 200
"""So few files are read sooner than hands are found."""

BATCH_FILES_MAX = 64
BATCH_BYTES_MAX = 4 << 20
BATCHES_AHEAD = 8
"""Of each hand: what may be in memory and not taken yet, so that hands go on while a pack is uploaded."""

T = TypeVar("T")
R = TypeVar("R")


def read_rows(tree: Tree, rows: Sequence[int]) -> Iterator[tuple[int, Content]]:
    """The rows' contents in the order of the rows. An error comes where its file would have come."""
    if len(rows) <= ALONE_MAX:
        for row in rows:
            yield row, _read(tree, row)
        return
    for batch in ahead(_batches(tree, rows), lambda batch: [(row, _read(tree, row)) for row in batch], BATCHES_AHEAD):
        yield from batch


def ahead(items: Iterable[T], work: Callable[[T], R], ahead_max: int) -> Iterator[R]:
    """What `work` makes of the items, in their order. Up to `ahead_max` of each hand are made before they are taken."""
    crew = Crew(work, min(HANDS_MAX, os.cpu_count() or 1))
    try:
        waiting = 0
        for item in items:
            crew.give(item)
            waiting += 1
            if waiting == ahead_max * crew.hands:
                yield crew.take()
                waiting -= 1
        for _ in range(waiting):
            yield crew.take()
    finally:
        crew.dismiss()


class Crew(Generic[T, R]):
    """Hand h of n makes every n-th item, so that whoever takes the results knows whose turn it is."""

    def __init__(self, work: Callable[[T], R], hands: int) -> None:
        self.hands = hands
        self._work_on = work
        self._dismissed = False
        self._given: list[SimpleQueue[tuple[T] | None]] = [SimpleQueue() for _ in range(hands)]
        self._made: list[SimpleQueue[tuple[R] | BaseException]] = [SimpleQueue() for _ in range(hands)]
        self._turns: deque[int] = deque()
        self._next = 0
        self._threads = [threading.Thread(target=self._work, args=(hand,), daemon=True) for hand in range(hands)]
        for thread in self._threads:
            thread.start()

    def give(self, item: T) -> None:
        self._given[self._next].put((item,))
        self._turns.append(self._next)
        self._next = (self._next + 1) % self.hands

    def take(self) -> R:
        made = self._made[self._turns.popleft()].get()
        if isinstance(made, BaseException):
            raise made
        return made[0]

    def dismiss(self) -> None:
        """Nobody reads any more when this returns."""
        self._dismissed = True
        for given in self._given:
            given.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self, hand: int) -> None:
        while (given := self._given[hand].get()) is not None and not self._dismissed:
            try:
                self._made[hand].put((self._work_on(given[0]),))
            except BaseException as error:  # noqa: BLE001 - raised again where the results are taken
                self._made[hand].put(error)
                return


def _read(tree: Tree, row: int) -> Content:
    return read_content(tree.sources[row], tree.paths[row], tree.marks[row])


def _batches(tree: Tree, rows: Sequence[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += tree.sizes[row]
        if len(batch) == BATCH_FILES_MAX or size >= BATCH_BYTES_MAX:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
