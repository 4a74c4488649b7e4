"""A home that was written to and is not there: its file system is away. Nobody takes it for empty, and nobody begins it anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlast.errors import KeyMissing, StoreUnavailable
from outlast.store.directory import DirectoryStore
from outlast.store.paths import TEMPORARY
from outlast.store.registry import open_store
from outlast.store.store import Store, Upload

HEAD = "jobs/j/head.json"
BEAT = "jobs/j/beat.json"

CALLS: dict[str, Callable[[Store], Any]] = {
    "get": lambda store: store.get(HEAD),
    "get another": lambda store: store.get("jobs/k/spec.json"),
    "put": lambda store: store.put(BEAT, b"2"),
    "create": lambda store: store.put("jobs/j/new.json", b"1", if_generation=0),
    "create many": lambda store: store.create_many([("jobs/j/new.json", b"1")]),
    "list": lambda store: list(store.list("jobs/")),
    "names": lambda store: store.names_written_once("index/"),  # type: ignore[attr-defined]
    "delete": lambda store: store.delete(HEAD),
    "purge": lambda store: store.purge([BEAT]),
    "upload": lambda store: store.upload("packs/1", [b"x"]),
    "upload many": lambda store: store.upload_many([Upload("packs/1", lambda: [b"x"])]),
    "download": lambda store: list(store.download(BEAT)),
}


def made(root: Path) -> Store:
    store = open_store(str(root), made=True)
    writer = DirectoryStore(root)
    writer.put(HEAD, b"head", if_generation=0)
    writer.put(BEAT, b"1")
    writer.put("index/1", b"", if_generation=0)
    return store


@pytest.mark.parametrize("left", ["nothing", "an empty directory", "a mark"])
@pytest.mark.parametrize("call", CALLS)
def test_what_is_asked_of_a_home_that_is_away_has_no_answer_and_leaves_no_trace(
    tmp_path: Path, call: str, left: str
) -> None:
    """A mark: `NOT_MOUNTED`, as careful people leave one below a mount."""
    home, drawer = tmp_path / "home", tmp_path / "drawer"
    store = made(home)
    assert store.get(HEAD).data == b"head"
    home.rename(drawer)
    if left != "nothing":
        home.mkdir()
    if left == "a mark":
        (home / "NOT_MOUNTED").touch()
    for one in (store, open_store(str(home), made=True)):
        with pytest.raises(StoreUnavailable, match="is not there"):
            CALLS[call](one)
    assert not home.exists() or os.listdir(home) == (["NOT_MOUNTED"] if left == "a mark" else [])


@pytest.mark.parametrize("call", CALLS)
def test_when_it_is_back_everything_goes_on(tmp_path: Path, call: str) -> None:
    home, drawer = tmp_path / "home", tmp_path / "drawer"
    store = made(home)
    home.rename(drawer)
    with pytest.raises(StoreUnavailable):
        store.get(HEAD)
    drawer.rename(home)
    if call == "get another":
        with pytest.raises(KeyMissing):
            CALLS[call](store)
    else:
        CALLS[call](store)


def test_a_home_of_which_all_was_deleted_is_there_and_empty(tmp_path: Path) -> None:
    store = made(tmp_path / "home")
    store.purge([HEAD, BEAT, "index/1"])
    assert os.listdir(tmp_path / "home") == [TEMPORARY]
    assert list(store.list("")) == []
    with pytest.raises(KeyMissing):
        store.get(HEAD)


def test_a_home_whose_empty_directories_somebody_tidied_away_is_there(tmp_path: Path) -> None:
    store = made(tmp_path / "home")
    (tmp_path / "home" / TEMPORARY).rmdir()
    with pytest.raises(KeyMissing):
        store.get("jobs/k/head.json")
    store.put(BEAT, b"2")
    assert store.get(BEAT).data == b"2"


def test_directories_alone_that_a_writer_made_at_the_last_moment_are_no_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "jobs" / "j" / "attempts").mkdir(parents=True)
    with pytest.raises(StoreUnavailable):
        open_store(str(home), made=True).get(HEAD)


def test_a_home_that_comes_back_between_two_looks_is_not_taken_for_one_without_the_object(tmp_path: Path) -> None:
    home, drawer = tmp_path / "home", tmp_path / "drawer"
    store = made(home)
    home.rename(drawer)
    look = store._find  # type: ignore[attr-defined]

    def find(key: str) -> Any:
        found = look(key)
        if drawer.exists():
            drawer.rename(home)
        return found

    store._find = find  # type: ignore[attr-defined]
    assert store.get(HEAD).data == b"head"


@pytest.mark.parametrize("seen", ["read", "written"])
@pytest.mark.parametrize("call", CALLS)
def test_a_handle_that_has_seen_what_is_in_it_knows_that_it_was_made(tmp_path: Path, call: str, seen: str) -> None:
    home = tmp_path / "home"
    made(home)
    store = open_store(str(home))
    if seen == "read":
        store.get(HEAD)
    else:
        store.put(BEAT, b"2")
    home.rename(tmp_path / "drawer")
    home.mkdir()
    with pytest.raises(StoreUnavailable, match="is not there"):
        CALLS[call](store)
    assert os.listdir(home) == []


def test_whoever_does_not_know_that_a_home_was_made_finds_it_empty_and_makes_it(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "home"))
    assert list(store.list("")) == []
    with pytest.raises(KeyMissing):
        store.get(HEAD)
    store.put(HEAD, b"head", if_generation=0)
    assert open_store(str(tmp_path / "home"), made=True).get(HEAD).data == b"head"
