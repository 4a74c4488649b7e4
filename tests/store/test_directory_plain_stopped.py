"""Stopped or killed before any call: those who write without condition, make room for each other, or purge."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.errors import KeyMissing
from outlast.store.directory import DirectoryStore
from outlast.store.store import Store
from tests.store.steps import DONE, HastyDisk, Operation, Writer, steps_of

OLD = b"old" * 5000
NEW = b"new" * 5000

STAMPED = ["create", "write", "stamp", "sync", "close"]
SYNCED = ["sync_directory", "sync"]


def upload_in_two(store: Store) -> None:
    store.upload("beat", [NEW[:4000], NEW[4000:]])


REPLACING: dict[str, tuple[Operation, list[str]]] = {
    "put": (lambda store: store.put("beat", NEW), [*STAMPED, "rename", *SYNCED]),
    "upload": (upload_in_two, ["create", "write", *STAMPED[1:], "rename", *SYNCED]),
}


def contents(store: Store) -> dict[str, bytes]:
    return {entry.key: store.get(entry.key).data for entry in store.list("")}


def check_replaced(home: Path, name: str, step: int, *, killed: bool) -> None:
    operation, steps = REPLACING[name]
    DirectoryStore(home, disk=HastyDisk()).put("beat", OLD)
    in_place = step > steps.index("rename")
    with Writer(home, operation, step) as writer:
        assert contents(DirectoryStore(home)) == {"beat": NEW if in_place else OLD}
        if not killed:
            assert writer.wake() == DONE
    assert contents(DirectoryStore(home)) == {"beat": NEW if in_place or not killed else OLD}
    DirectoryStore(home, disk=HastyDisk()).put("beat", b"next")
    assert contents(DirectoryStore(home)) == {"beat": b"next"}


@pytest.mark.parametrize("killed", [True, False])
@pytest.mark.parametrize("name", REPLACING)
def test_an_object_without_condition_is_replaced_at_one_moment(name: str, killed: bool, tmp_path: Path) -> None:
    operation, steps = REPLACING[name]
    DirectoryStore(tmp_path / "0").put("beat", OLD)
    assert steps_of(tmp_path / "0", operation) == steps
    for step in range(len(steps) + 1):
        check_replaced(tmp_path / f"{step}-", name, step, killed=killed)


MAKE_ROOM = [*STAMPED, "rename", "make_directory", "rename", "make_directory", *SYNCED, "rename", *SYNCED]


@pytest.mark.parametrize("killed", [True, False])
def test_an_object_whose_name_a_directory_needs_is_there_at_every_moment(killed: bool, tmp_path: Path) -> None:
    def operation(store: DirectoryStore) -> int:
        return store.put("a/b", NEW)

    DirectoryStore(tmp_path / "0").put("a", OLD)
    assert steps_of(tmp_path / "0", operation) == MAKE_ROOM
    for step in range(len(MAKE_ROOM) + 1):
        home = tmp_path / f"{step}-"
        rival = DirectoryStore(home, disk=HastyDisk())
        rival.put("a", OLD)
        with Writer(home, operation, step) as writer:
            seen = contents(DirectoryStore(home))
            assert seen in ({"a": OLD}, {"a": OLD, "a/b": NEW})
            rival.put("a", b"rival")
            assert contents(DirectoryStore(home)) == {**seen, "a": b"rival"}
            if not killed:
                assert writer.wake() == DONE
        rival.put("a/b", NEW)
        assert contents(DirectoryStore(home)) == {"a": b"rival", "a/b": NEW}
        rival.delete("a")
        assert contents(DirectoryStore(home)) == {"a/b": NEW}


WRITE_UNSYNCED = ["create", "write", "close", "rename"]
PURGE = [
    *["create", "write", "sync", "close", "link", *SYNCED, "unlink"],  # the tombstone
    *WRITE_UNSYNCED,  # older than that, emptied
    *WRITE_UNSYNCED,  # the first is marked
    *WRITE_UNSYNCED,  # the last that was alive, emptied
    *SYNCED,
    *["unlink"] * 6,
    *SYNCED,
    "remove_directory",
]


def purge(store: DirectoryStore) -> None:
    store.purge(["job/head.json"])


def five_generations(home: Path) -> None:
    store = DirectoryStore(home, disk=HastyDisk())
    for number in range(5):
        store.put("job/head.json", b"%d" % number, if_generation=number)


def head(home: Path) -> bytes | None:
    try:
        return DirectoryStore(home).get("job/head.json").data
    except KeyMissing:
        return None


def check_purge(home: Path, step: int, *, killed: bool) -> None:
    """Nothing older shows up; what is gone stays gone; and if it was killed, the name is as good as new."""
    five_generations(home)
    knowing = DirectoryStore(home)
    knowing.get("job/head.json")
    with Writer(home, purge, step) as writer:
        gone = step > PURGE.index("link")
        assert head(home) == (None if gone else b"4")
        assert (contents(knowing) == {}) == gone
        if gone:
            with pytest.raises(KeyMissing):
                knowing.get("job/head.json")
        if not killed:
            assert writer.wake() == DONE
            assert [path.name for path in home.iterdir()] == [".tmp~"]
            return
    store = DirectoryStore(home, disk=HastyDisk())
    store.delete("job/head.json")
    generation = store.put("job/head.json", b"0", if_generation=0)
    for number in range(1, 12):
        generation = store.put("job/head.json", b"%d" % number, if_generation=generation)
        assert head(home) == b"%d" % number
    store.purge(["job/head.json"])
    assert [path.name for path in home.iterdir()] == [".tmp~"]


def test_a_purge_makes_these_calls(tmp_path: Path) -> None:
    five_generations(tmp_path)
    assert steps_of(tmp_path, purge) == PURGE


@pytest.mark.parametrize("killed", [True, False])
def test_a_purge_shows_nothing_older_and_leaves_no_gap(killed: bool, tmp_path: Path) -> None:
    for step in range(len(PURGE) + 1):
        check_purge(tmp_path / str(step), step, killed=killed)
