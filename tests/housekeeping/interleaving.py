"""Two programs over one store, one step at a time: who makes the next call of the store is decided by a schedule."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from outlast.store.one_by_one import OneByOne
from outlast.store.store import Entry, Store, Stored

GIVE_UP_SECONDS = 60.0


class Turns:
    """`schedule`: after how many steps of the one whose turn it is the other one goes on; after the last, until its end."""

    def __init__(self, schedule: Iterable[int]) -> None:
        self._left = list(schedule)
        self._turn = 0
        self._done: set[int] = set()
        self._condition = threading.Condition()
        self.steps = [0, 0]
        self.errors: list[BaseException | None] = [None, None]

    def step(self, who: int) -> None:
        """Called before every call of the store: returns when it is this one's turn, and uses one of its steps up."""
        with self._condition:
            while True:
                if self._turn == who or (1 - who) in self._done:
                    if not self._left or (1 - who) in self._done:
                        break
                    if self._left[0] > 0:
                        self._left[0] -= 1
                        break
                    self._left.pop(0)
                    self._turn = 1 - who
                    self._condition.notify_all()
                    continue
                if not self._condition.wait(GIVE_UP_SECONDS):
                    raise AssertionError("nobody took a step")
            self.steps[who] += 1

    def run(self, programs: tuple[Callable[[], Any], Callable[[], Any]]) -> None:
        threads = [threading.Thread(target=self._run, args=(who, program)) for who, program in enumerate(programs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _run(self, who: int, program: Callable[[], Any]) -> None:
        try:
            program()
        except BaseException as error:
            self.errors[who] = error
        finally:
            with self._condition:
                self._done.add(who)
                self._turn = 1 - who
                self._condition.notify_all()


class Stepping(OneByOne):
    """A store as one of the two programs sees it."""

    def __init__(self, store: Store, turns: Turns, who: int) -> None:
        self.url = store.url
        self.poll_seconds = store.poll_seconds
        self.rewrite_seconds = store.rewrite_seconds
        self._store = store
        self._step = lambda: turns.step(who)

    def get(self, key: str) -> Stored:
        self._step()
        return self._store.get(key)

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        self._step()
        return self._store.put(key, data, if_generation=if_generation)

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Iterator[Entry]:
        self._step()
        return iter(list(self._store.list(prefix, after=after, limit=limit)))

    def delete(self, key: str, *, if_generation: int | None = None) -> None:
        self._step()
        self._store.delete(key, if_generation=if_generation)

    def purge(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._step()
            self._store.purge([key])

    def upload(self, key: str, chunks: Iterable[bytes]) -> int:
        data = b"".join(chunks)
        self._step()
        return self._store.upload(key, [data])

    def download(self, key: str) -> Iterator[bytes]:
        self._step()
        return self._store.download(key)

    def now(self) -> float:
        return self._store.now()
