"""Reading many files with several hands: opening, reading and hashing all happen outside of the interpreter's lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from queue import SimpleQueue

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

Batch = list[tuple[int, Content]]


def read_rows(tree: Tree, rows: Sequence[int]) -> Iterator[tuple[int, Content]]:
    """The rows' contents in the order of the rows. An error comes where its file would have come."""
    if len(rows) <= ALONE_MAX:
        for row in rows:
            yield row, _read(tree, row)
        return
    crew = Crew(tree, list(_batches(tree, rows)), min(HANDS_MAX, os.cpu_count() or 1))
    try:
        for batch in crew.results():
            yield from batch
    finally:
        crew.dismiss()


class Crew:
    """Hand h of n reads every n-th batch, so that whoever takes the results knows whose turn it is."""

    def __init__(self, tree: Tree, batches: list[list[int]], hands: int) -> None:
        self._tree = tree
        self._batches = batches
        self._dismissed = False
        self._done: list[SimpleQueue[Batch | BaseException]] = [SimpleQueue() for _ in range(hands)]
        self._room = [threading.Semaphore(BATCHES_AHEAD) for _ in range(hands)]
        self._threads = [threading.Thread(target=self._work, args=(hand,), daemon=True) for hand in range(hands)]
        for thread in self._threads:
            thread.start()

    def results(self) -> Iterator[Batch]:
        hands = len(self._threads)
        for number in range(len(self._batches)):
            batch = self._done[number % hands].get()
            if isinstance(batch, BaseException):
                raise batch
            yield batch
            self._room[number % hands].release()

    def dismiss(self) -> None:
        """Nobody reads any more when this returns."""
        self._dismissed = True
        for room in self._room:
            room.release()
        for thread in self._threads:
            thread.join()

    def _work(self, hand: int) -> None:
        for batch in self._batches[hand :: len(self._threads)]:
            self._room[hand].acquire()
            if self._dismissed:
                return
            try:
                self._done[hand].put([(row, _read(self._tree, row)) for row in batch])
            except BaseException as error:  # noqa: BLE001 - raised again where the results are taken
                self._done[hand].put(error)
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
