"""The store broken on purpose, one rule at a time: each break is found by a check that passes elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlast.errors import KeyMissing, OutlastError, PreconditionFailed
from outlast.store import disk, files, generations, paths, walk
from outlast.store.directories import Directories
from outlast.store.directory import DirectoryStore
from outlast.store.disk import Disk, read_file
from outlast.store.files import Files
from outlast.store.generations import DELETED, Generations
from outlast.testing import store_checks_alone, store_checks_keys, store_checks_shared, store_contract
from tests.store.steps import HastyDisk
from tests.store.test_directory_plain_stopped import PURGE, check_purge, check_replaced
from tests.store.test_directory_stopped import SCENARIOS, check_killed_writer, check_stopped_writer
from tests.store.test_disk import test_a_link_whose_answer_was_lost_is_known_by_its_inode as check_lost_answer
from tests.store.test_disk import (
    test_a_write_that_is_in_place_but_not_known_to_last_has_an_unknown_outcome as check_unknown_outcome,
)

Patch = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[Path], None]


def stopped(name: str) -> Check:
    def check(scratch: Path) -> None:
        for step in range(len(SCENARIOS[name].steps) + 1):
            check_stopped_writer(scratch / f"stopped-{step}", SCENARIOS[name], step)
            check_killed_writer(scratch / f"killed-{step}", SCENARIOS[name], step)

    return check


def purged(scratch: Path) -> None:
    for step in range(len(PURGE)):
        check_purge(scratch / str(step), step, killed=True)


def promise(check: store_contract.Check) -> Check:
    return lambda scratch: check(lambda: DirectoryStore(scratch, disk=HastyDisk()))


def setting(target: object, name: str, value: Any) -> Patch:
    return lambda patch: patch.setattr(target, name, value)


real_newest_of = generations.newest_of
real_size_of = disk.size_of


def unlink_older(self: Files, data: bytes, path: str) -> None:
    self._disk.unlink(path)


def purge_from_the_first(self: Generations, path: str) -> None:
    self.bury(path)
    for generation in range(1, real_newest_of(path, 0) + 1):
        self._files.unlink(f"{path}~{generation}")


def unlink_all(self: Generations, path: str) -> None:
    for generation in range(real_newest_of(path, 0), 0, -1):
        self._files.unlink(f"{path}~{generation}")


def write_in_place(self: Files, chunks: Any, path: str, stamp: int | None) -> tuple[int, int]:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for chunk in chunks:
        for offset in range(0, len(chunk), 1000):
            self._disk.write(file, chunk[offset : offset + 1000])
    self._disk.close(file)
    return 0, os.stat(path).st_mtime_ns


def read_the_first(self: Generations, path: str) -> tuple[bytes, int]:
    found = read_file(f"{path}~1")
    return (DELETED, 0) if found is None else (found[0], 1)


def believe_any_generation(self: Generations, path: str, if_generation: int) -> int | None:
    raw, newest = self.read(path)
    return if_generation or (newest if raw == generations.DELETED else None)


MUTANTS: dict[str, tuple[Patch, Check]] = {
    "old names are unlinked": (setting(Files, "replace_hastily", unlink_older), stopped("swap")),
    "the newest is emptied too": (setting(generations, "GENERATIONS_KEPT", 0), stopped("swap")),
    "the first is emptied too, unmarked": (
        setting(Files, "replace_hastily", lambda self, data, path: os.truncate(path, 0)),
        purged,
    ),
    "a link that is there is taken for ours": (setting(files, "is_same", lambda path, other: True), stopped("swap")),
    "our own link is taken for another's": (setting(files, "is_same", lambda path, other: False), check_lost_answer),
    "a rename instead of a link": (setting(Disk, "link", Disk.rename), stopped("create")),
    "no probing upward": (
        setting(generations, "newest_of", lambda path, low: low or real_newest_of(path, 0)),
        promise(store_checks_shared.another_handle_sees_every_write_at_once),
    ),
    "only one probe": (
        setting(generations, "newest_of", lambda path, low: low + (real_size_of(f"{path}~{low + 1}") is not None)),
        stopped("swap"),
    ),
    "the first generation is the newest": (
        setting(Generations, "read", read_the_first),
        promise(store_checks_shared.another_handle_sees_every_write_at_once),
    ),
    "any generation is believed to be there": (
        setting(Generations, "base", believe_any_generation),
        promise(store_checks_alone.a_write_with_a_condition_needs_the_newest_generation),
    ),
    "deleting unlinks": (
        setting(Generations, "bury", unlink_all),
        promise(store_checks_alone.what_was_deleted_is_gone_and_its_generations_never_come_back),
    ),
    "purging begins with the first": (setting(Generations, "purge", purge_from_the_first), purged),
    "purging leaves no mark": (setting(Generations, "purge", unlink_all), purged),
    "written in place": (
        setting(Files, "replace", write_in_place),
        lambda scratch: check_replaced(scratch, "put", 2, killed=True),
    ),
    "an error after the link is translated": (
        setting(Directories, "sync", lambda self, path: self._disk.sync_directory(path)),
        check_unknown_outcome,
    ),
    "a tilde is not encoded": (
        setting(paths, "_SPECIAL", re.compile(r"[%\x00-\x1f\x7f]")),
        promise(store_checks_keys.every_legal_key_is_an_object_of_its_own),
    ),
    "continued names have no sign": (
        setting(paths, "CONTINUATION", ""),
        promise(store_checks_keys.every_legal_key_is_an_object_of_its_own),
    ),
    "directories sort without their slash": (
        setting(
            walk, "sorted", lambda found, reverse: sorted(found, key=lambda one: one[0].rstrip("/"), reverse=reverse)
        ),
        promise(store_checks_keys.a_list_is_in_the_order_of_bytes_and_begins_and_ends_where_asked),
    ),
    "a tombstone is listed": (
        setting(generations, "_is_deleted", lambda path, generation: False),
        promise(store_checks_alone.what_was_deleted_is_gone_and_its_generations_never_come_back),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_store_is_found_out(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, check = MUTANTS[name]
    paths.path_of.cache_clear()
    with monkeypatch.context() as patched:
        if name == "directories sort without their slash":
            patched.setattr(walk, "sorted", None, raising=False)
        patch(patched)
        with pytest.raises((AssertionError, OutlastError, KeyMissing, PreconditionFailed, OSError)):
            check(tmp_path)
    paths.path_of.cache_clear()
