"""A million files are no more to hold in memory than ten thousand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MEASURED = """
import json, resource, sys
from pathlib import Path
from outlast.bundle.dataset.push import push
from outlast.bundle.dataset.record import read_record
from outlast.bundle.dataset.unpack import unpack
from outlast.store.directory import DirectoryStore

place = Path(sys.argv[1])
store = DirectoryStore(place / "home")
if sys.argv[2] == "push":
    pushed = push(store, place / "data", cache=place / "cache")
else:
    pushed = push(store, place / "data", cache=place / "cache")
    unpack(store, read_record(store, pushed.digest), place / "back")
print(json.dumps([pushed.files, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""
KIBIBYTES_MAX = 200 << 10
"""Of which an interpreter with all this loaded takes 30 MiB, contents on their way up to 100 MiB."""

PER_FILE_BYTES_MAX = 200
"""The names of the largest directory are sorted; nothing else grows."""


def make_many(root: Path, count: int) -> None:
    for number in range(count):
        if number % 1000 == 0:
            directory = root / f"{number // 1000:05d}"
            directory.mkdir(parents=True)
        descriptor = os.open(directory / f"{number}.txt", os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(descriptor, b"%d" % number)
        os.close(descriptor)


def measure(place: Path, what: str) -> tuple[int, int]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(place), what], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    files, kibibytes = json.loads(done.stdout)
    return files, kibibytes


def test_memory_does_not_grow_with_the_number_of_files(tmp_path: Path) -> None:
    taken = {}
    for count in (1_000, 11_000):
        make_many(tmp_path / str(count) / "data", count)
        files, taken[count] = measure(tmp_path / str(count), "push")
        assert files == count
    assert (taken[11_000] - taken[1_000]) * 1024 < 10_000 * PER_FILE_BYTES_MAX + (24 << 20), taken


@pytest.mark.soak
def test_a_million_files_are_pushed_and_put_in_place(tmp_path: Path) -> None:
    make_many(tmp_path / "data", 1_000_000)
    for what in ("push", "push", "unpack"):
        files, kibibytes = measure(tmp_path, what)
        assert files == 1_000_000
        assert kibibytes < KIBIBYTES_MAX, (what, kibibytes)
    assert sum(len(names) for _, _, names in os.walk(tmp_path / "back")) == 1_000_000
