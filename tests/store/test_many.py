"""Many writes to a directory: each file durable before it is seen, each directory synced once for many."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from outlast.errors import StoreUnavailable
from outlast.store.directories import SYNC_ALL_MIN
from outlast.store.directory import TOGETHER_BYTES_MAX, TOGETHER_MAX, DirectoryStore
from outlast.store.disk import Disk
from outlast.store.file_system import sync_file_system
from outlast.store.paths import TEMPORARY
from outlast.store.store import Upload


class Noted(Disk):
    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._synced: set[int] = set()

    def sync(self, file: int) -> None:
        self._synced.add(os.fstat(file).st_ino)
        super().sync(file)

    def rename(self, source: str, target: str) -> None:
        assert os.stat(source).st_ino in self._synced, "seen before it was durable"
        self.calls.append(("rename", os.path.basename(target)))
        super().rename(source, target)

    def link(self, source: str, target: str) -> None:
        tried = TEMPORARY in target  # whether there are links at all
        assert tried or os.stat(source).st_ino in self._synced, "seen before it was durable"
        self.calls.append(("link", os.path.basename(target)))
        super().link(source, target)

    def sync_directory(self, path: str) -> None:
        self.calls.append(("sync", os.path.basename(path)))
        super().sync_directory(path)


class NotedAtOnce(Noted):
    """On a file system of which all is synced by one call, or by none."""

    def __init__(self, trusted: bool) -> None:
        super().__init__()
        self.trusted = trusted

    def sync_all(self, path: str) -> bool:
        self.calls.append(("sync_all", ""))
        if self.trusted:
            self._synced.update(entry.stat().st_ino for entry in os.scandir(f"{path}/{TEMPORARY}"))
        return self.trusted


def uploads(count: int, fail_at: int = -1) -> Iterator[Upload]:
    def chunks(number: int) -> Iterator[bytes]:
        yield b"%d" % number
        if number == fail_at:
            raise ConnectionError("the other side is gone")

    for number in range(count):
        yield Upload(f"packs/{number:03d}", partial(chunks, number), 3)


def test_directories_are_synced_once_for_many_files_and_after_the_last_of_them(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path, disk=(disk := Noted()))
    store.upload("packs/first", [b""])
    disk.calls.clear()
    seen: list[int] = []
    store.upload_many(uploads(2 * TOGETHER_MAX + 1), seen.append)
    assert [call for call in disk.calls if call[0] == "sync"] == [("sync", "packs")] * 3
    assert disk.calls[-1] == ("sync", "packs")
    assert [entry.key for entry in store.list("packs/0")] == [f"packs/{n:03d}" for n in range(2 * TOGETHER_MAX + 1)]
    assert store.get("packs/007").data == b"7" and seen == sorted(seen) and seen[-1] > 0


@pytest.mark.parametrize("at", [0, TOGETHER_MAX + 2])
def test_what_fails_in_the_middle_leaves_whole_objects_and_no_litter(tmp_path: Path, at: int) -> None:
    store = DirectoryStore(tmp_path)
    with pytest.raises(ConnectionError):
        store.upload_many(uploads(2 * TOGETHER_MAX, fail_at=at))
    there = [entry.key for entry in store.list("packs/")]
    assert there == [f"packs/{n:03d}" for n in range(at)]
    assert not list((tmp_path / ".tmp~").iterdir())
    store.upload_many(uploads(2 * TOGETHER_MAX))
    assert len(list(store.list("packs/"))) == 2 * TOGETHER_MAX


def test_what_cannot_be_made_durable_is_never_seen_and_leaves_no_litter(tmp_path: Path) -> None:
    syncs = itertools.count()

    class Worn(Disk):
        def sync(self, file: int) -> None:
            if next(syncs) == 7:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    DirectoryStore(tmp_path).upload("packs/first", [b""])
    with pytest.raises(StoreUnavailable):
        DirectoryStore(tmp_path, disk=Worn()).upload_many(uploads(TOGETHER_MAX))
    assert [entry.key for entry in DirectoryStore(tmp_path).list("packs/")] == ["packs/first"]
    assert not list((tmp_path / ".tmp~").iterdir())


def test_a_large_file_does_not_wait_for_others_before_it_is_durable(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path, disk=(disk := Noted()))
    store.upload("packs/first", [b""])
    disk.calls.clear()
    large = Upload("packs/large", lambda: [bytes(TOGETHER_BYTES_MAX)], TOGETHER_BYTES_MAX)
    store.upload_many([large, *uploads(2)])
    assert disk.calls == [
        ("rename", "large"),
        ("sync", "packs"),
        ("rename", "000"),
        ("rename", "001"),
        ("sync", "packs"),
    ]


def test_many_that_are_created_are_durable_before_the_first_is_seen_and_synced_twice_in_all(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path, disk=(disk := NotedAtOnce(trusted=True)))
    store.put("first", b"", if_generation=0)
    disk.calls.clear()
    assert (
        list(store.create_many([(f"jobs/{n}/spec", b"%d" % n) for n in range(SYNC_ALL_MIN)])) == [True] * SYNC_ALL_MIN
    )
    assert [kind for kind, _ in disk.calls] == [
        "sync_all",
        *(kind for _ in range(SYNC_ALL_MIN) for kind in ("link", "link")),
        "sync_all",
    ], "each link fails once, for want of its directory"
    assert store.get("jobs/3/spec").data == b"3"
    assert os.listdir(tmp_path / TEMPORARY) == []


def test_where_one_call_is_not_enough_each_file_and_each_directory_is_synced(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path, disk=(disk := NotedAtOnce(trusted=False)))
    store.create_many([(f"jobs/{n:02d}/spec", b"%d" % n) for n in range(SYNC_ALL_MIN)])
    synced = [name for kind, name in disk.calls if kind == "sync"]
    assert synced.count("jobs") == 1 and set(synced) >= {f"{n:02d}" for n in range(SYNC_ALL_MIN)}
    assert store.get("jobs/11/spec").data == b"11"


def test_this_computers_disk_is_synced_by_one_call_or_not_at_all(tmp_path: Path) -> None:
    """Told by a file system of ours: whether it is one of those depends on the computer, that it says so does not."""
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    assert sync_file_system(str(tmp_path)) in (True, False)
    assert sync_file_system("/proc/self") is False
    with pytest.raises(OSError, match="No such file"):
        sync_file_system(str(tmp_path / "none"))


def test_a_disk_that_fails_to_sync_many_says_so_and_leaves_nothing_staged(tmp_path: Path) -> None:
    class Worn(Disk):
        def sync_all(self, path: str) -> bool:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    store = DirectoryStore(tmp_path, disk=Worn())
    open_before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(StoreUnavailable):
        store.create_many([(f"jobs/{n}", b"") for n in range(SYNC_ALL_MIN)])
    assert os.listdir(tmp_path / TEMPORARY) == [] and not (tmp_path / "jobs").exists()
    assert len(os.listdir("/proc/self/fd")) == open_before
