"""`outlast push` of 1,000 small files and of 1 GiB for the first time and again, against `rsync -a`.

The first time is the whole command. What it pushes is on disk when it returns; what rsync copies is not yet, unless it is told `--fsync`.
Unchanged, both sides look at every file and copy nothing, in milliseconds: there the library is measured, as `run --dataset` calls it, and
the command, most of which is the start of an interpreter, has a limit of its own.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.measure import Row, clean_environment, command, interleaved, limit_row, milliseconds, ratio_row, wall
from outlast.bundle.dataset.push import push
from outlast.bundle.tree import RACY_NANOSECONDS
from outlast.store.directory import DirectoryStore

SMALL_FILES = 1000
SMALL_BYTES = 10_000
LARGE_BYTES = 1 << 30
ROUNDS_SMALL = 10
ROUNDS_LARGE = 3
COMMAND_SECONDS_MAX = 0.4


def rows(scratch: Path) -> Iterator[Row]:
    small = scratch / "small"
    for number in range(SMALL_FILES):
        path = small / f"class{number % 10}" / f"{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(SMALL_BYTES))
    yield from measured(scratch, small, "push of 1,000 small files", ROUNDS_SMALL)
    shutil.rmtree(small)
    large = scratch / "large"
    large.mkdir()
    with (large / "file").open("wb") as file:
        for _ in range(LARGE_BYTES >> 20):
            file.write(os.urandom(1 << 20))
    yield from measured(scratch, large, "push of 1 GiB", ROUNDS_LARGE)


def measured(scratch: Path, source: Path, what: str, rounds: int) -> Iterator[Row]:
    os.sync()
    time.sleep(RACY_NANOSECONDS / 1e9 + 0.1)  # files that were written a moment ago are read again
    bench = Bench(scratch, source)
    timed = interleaved(
        {
            "push": bench.first(bench.push),
            "rsync": bench.first(bench.rsync),
            "durable": bench.first(lambda place: bench.rsync(place, "--fsync")),
        },
        rounds,
    )
    yield ratio_row(f"{what}, first time", timed["push"], timed["rsync"], "`rsync -a`", 1.5)
    yield ratio_row(f"{what}, first time, both on disk", timed["push"], timed["durable"], "`rsync -a --fsync`", 1.5)
    again = scratch / "again"
    for action in (bench.push, bench.rsync):
        action(again)
    timed = interleaved(
        {
            "push": wall(lambda: bench.push_here(again)),
            "rsync": wall(lambda: bench.rsync(again)),
            "command": wall(lambda: bench.push(again)),
        },
        ROUNDS_SMALL,
    )
    yield ratio_row(f"{what}, unchanged", timed["push"], timed["rsync"], "`rsync -a`", 2)
    yield limit_row(f"{what}, unchanged, the whole command", timed["command"], COMMAND_SECONDS_MAX, milliseconds)
    shutil.rmtree(again)


class Bench:
    def __init__(self, scratch: Path, source: Path) -> None:
        self._scratch = scratch
        self._source = source
        self._environment = clean_environment(scratch)
        self._numbers = itertools.count()

    def first(self, action: Callable[[Path], object]) -> Callable[[], float]:
        """Each time to a place that is not there yet."""

        def timed() -> float:
            place = self._scratch / f"place{next(self._numbers)}"
            place.mkdir()
            os.sync()
            seconds = wall(lambda: action(place))()
            shutil.rmtree(place)
            return seconds

        return timed

    def push(self, place: Path) -> None:
        environment = {**self._environment, "OUTLAST_DIR": str(place / "outlast")}
        command([sys.executable, "-m", "outlast.cli", "push", str(self._source)], env=environment)()

    def push_here(self, place: Path) -> None:
        push(DirectoryStore(place / "outlast" / "home"), self._source, cache=place / "outlast" / "cache")

    def rsync(self, place: Path, *more: str) -> None:
        place.mkdir(exist_ok=True)
        command(["rsync", "-a", *more, f"{self._source}/", f"{place}/copy/"])()
