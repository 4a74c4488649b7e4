"""What is removed and emptied on a machine, on file systems with habits of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from outlast.host import files


@contextmanager
def by_position(path: Any) -> Iterator[Iterator[os.DirEntry[str]]]:
    """`os.scandir` of a Mac's file system: it goes on at a position, and what follows has moved up if something was removed."""

    def entries() -> Iterator[os.DirEntry[str]]:
        position = 0
        while position < len(left := listed(path)):
            yield left[position]
            position += 1

    yield entries()


def listed(path: Any, scandir: Any = os.scandir) -> list[os.DirEntry[str]]:
    with scandir(path) as entries:
        return sorted(entries, key=lambda entry: entry.name)


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with what an attempt has left."""
    directory = tmp_path / "work"
    for name in ("a", "b", "c"):
        (directory / "kept" / name).mkdir(parents=True)
        for number in range(5):
            (directory / "kept" / name / f"step-{number}").touch()
        (directory / f"{name}.txt").touch()
    monkeypatch.setattr(os, "scandir", by_position)
    return directory


def test_the_next_attempt_finds_nothing_of_the_one_before(full: Path) -> None:
    files.make_empty(full)
    assert os.listdir(full) == []


def test_a_directory_goes_with_all_that_is_in_it(full: Path) -> None:
    files.remove(full)
    assert not full.exists()
