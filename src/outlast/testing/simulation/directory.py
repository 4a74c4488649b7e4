"""The directory store's compare-and-swap, with its real files: writers and a reader that are put aside before every call.

Each writer reads a number and swaps it for the next one. Whatever the interleaving, the numbers that were written form a chain:
none is lost, none is written twice, and no reader sees one go back or the object vanish.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from outlast.errors import KeyMissing, PreconditionFailed, StoreUnavailable
from outlast.store import generations
from outlast.store.directory import DirectoryStore
from outlast.store.disk import Disk
from outlast.testing.simulation.clock import SimulatedClock
from outlast.testing.simulation.schedule import Schedule

KEY = "jobs/one/head.json"
WRITERS = 3
WRITES = 3
READS = 6
SECONDS_MAX = 1e6


def try_directory(seed: int) -> list[str]:
    """One schedule; the promises that it broke."""
    random = Random(f"directory {seed}")
    root = tempfile.mkdtemp(prefix="outlast-simulation-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        return _Race(random, root).run()
    finally:
        shutil.rmtree(root, ignore_errors=True)


class _Race:
    def __init__(self, random: Random, root: str) -> None:
        self.random = random
        self.root = root
        self.schedule = Schedule(random)
        self.written: list[int] = []
        self.problems: list[str] = []

    def run(self) -> list[str]:
        self._store().put(KEY, b"0", if_generation=0)
        actors = [self.schedule.spawn(f"writer {number}", self._write) for number in range(WRITERS)]
        actors.append(self.schedule.spawn("reader", self._read))
        if self.random.random() < 0.3:
            victim = actors[self.random.randrange(WRITERS)]
            self.schedule.after(self.random.uniform(0.0, 60.0), lambda: self.schedule.kill(victim))
        with self._switching():
            self.schedule.run(SECONDS_MAX, lambda: not any(actor.alive for actor in actors))
        for actor in actors:
            if actor.error is not None:
                self.problems.append(f"{actor.name} crashed: {actor.error!r}")
            elif actor.alive:
                self.problems.append(f"{actor.name} came to no end")
        self.schedule.close()
        if len(set(self.written)) < len(self.written):
            self.problems.append(f"the numbers written were {self.written}: two writers won the same swap")
        # A writer that was killed may have done its last write without having heard of it.
        try:
            last = int(self._store().get(KEY).data)
        except KeyMissing:
            last = -1
        if not self.problems and last not in (len(self.written), len(self.written) + 1):
            self.problems.append(f"{len(self.written)} swaps succeeded, the last number is {last}")
        return self.problems

    def _store(self) -> DirectoryStore:
        return DirectoryStore(self.root, clock=SimulatedClock(self.schedule), disk=_SlowDisk(self._switch))

    def _switch(self) -> None:
        if self.schedule.current is not None and not self.schedule.closed:
            # Seldom for long: a writer that sleeps while others get on is the one that matters.
            self.schedule.sleep(self.random.choice((0.0, 1.0, 1.0, 5.0, 60.0)) * self.random.random())

    def _write(self) -> None:
        store = self._store()
        for _ in range(WRITES):
            while True:
                before = store.get(KEY)
                number = int(before.data) + 1
                try:
                    store.put(KEY, str(number).encode(), if_generation=before.generation)
                except (PreconditionFailed, StoreUnavailable):
                    continue
                self.written.append(number)
                break

    def _read(self) -> None:
        store, last = self._store(), 0
        for _ in range(READS):
            settled = max(self.written, default=0)
            try:
                number = int(store.get(KEY).data)
            except KeyMissing:
                self.problems.append("a reader was told that the object is not there")
                return
            if number < max(last, settled):
                self.problems.append(f"a reader saw {number} after {max(last, settled)} had been written")
            last = number
            self._switch()

    @contextmanager
    def _switching(self) -> Iterator[None]:
        """Reads are put aside too."""
        calls = vars(generations)
        originals = {name: calls[name] for name in ("size_of", "read_file")}
        calls.update({name: self._slow(call) for name, call in originals.items()})
        try:
            yield
        finally:
            calls.update(originals)

    def _slow(self, call: Callable[[str], Any]) -> Callable[[str], Any]:
        def slow(path: str) -> Any:
            self._switch()
            return call(path)

        return slow


class _SlowDisk(Disk):
    """Somebody else may run before every call that writes; nothing is synced, because nothing here loses its power."""

    def __init__(self, switch: Callable[[], None]) -> None:
        self._switch = switch

    def create(self, path: str) -> int:
        self._switch()
        return super().create(path)

    def link(self, source: str, target: str) -> None:
        self._switch()
        super().link(source, target)

    def rename(self, source: str, target: str) -> None:
        self._switch()
        super().rename(source, target)

    def unlink(self, path: str) -> None:
        self._switch()
        super().unlink(path)

    def sync(self, file: int) -> None:
        return
