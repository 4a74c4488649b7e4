"""What must survive a power cut is handed to the disk itself: macOS has a call of its own for that, for whatever writes."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from outlast.bundle.dataset import unpack
from outlast.host import files
from outlast.store.disk import Disk
from outlast.training import disk as training_disk

F_FULLFSYNC = 51
"""macOS, sys/fcntl.h."""


def store_file(path: Path) -> None:
    disk = Disk()
    file = disk.create(str(path))
    disk.sync(file)
    disk.close(file)


WRITERS: dict[str, Callable[[Path], object]] = {
    "a record in the home": store_file,
    "a directory of the home": lambda path: Disk().sync_directory(str(path.parent)),
    "a record of this computer": lambda path: files.put(path, b"x", durable=True),
    "a file of a checkpoint": lambda path: training_disk.write_file(path, [b"x"], lambda _: None),
    "a directory of a checkpoint": lambda path: training_disk.sync_path(path.parent),
    "a directory of a dataset": lambda path: unpack._sync(os.fsencode(path.parent)),
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the disk was asked for, on a Mac whose file system answers as `answer` says."""
    found: list[str] = []
    real = fcntl.fcntl

    def control(file: int, command: int, argument: int = 0) -> object:
        if command != F_FULLFSYNC:
            return real(file, command, argument)
        found.append("full")
        number = getattr(control, "answer", 0)
        if number:
            raise OSError(number, os.strerror(number))
        return 0

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", F_FULLFSYNC, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", lambda file: found.append("plain"))
    return found


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_mac_is_asked_to_empty_the_drives_own_cache(
    write: Callable[[Path], object], calls: list[str], tmp_path: Path
) -> None:
    write(tmp_path / "file")
    assert set(calls) == {"full"}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_file_system_without_that_call_is_asked_for_what_it_has(
    write: Callable[[Path], object], calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl.fcntl, "answer", errno.ENOTSUP, raising=False)
    write(tmp_path / "file")
    assert calls[:2] == ["full", "plain"]


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_disk_that_fails_is_not_asked_again(
    write: Callable[[Path], object], calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl.fcntl, "answer", errno.EIO, raising=False)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        write(tmp_path / "file")
    assert calls == ["full"]
