"""A dataset is uploaded once by content, and comes back as it was."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from outlast.bundle.dataset import packs as packs_module
from outlast.bundle.dataset import push as push_module
from outlast.bundle.dataset.listing import PIECE_BYTES
from outlast.bundle.dataset.push import push
from outlast.bundle.dataset.record import read_record
from outlast.bundle.dataset.unpack import unpack
from outlast.bundle.tree import RACY_NANOSECONDS
from outlast.errors import Denied, NotFound, UsageError
from outlast.store.directory import DirectoryStore
from tests.data.material import back, contents, make, many, noise

HOSTILE = [
    b"new\nline",
    b"tab\there",
    b"\xff\xfe not text",
    b"-rf",
    b"--upload",
    b"back\\slash",
    b"quote\"'",
    b"$(touch gone)",
    b"~0",
    b"%41",
    b"...",
    b" ",
    "ü".encode(),
    "u\u0308".encode(),
    b"x" * 255,
    b"\x1b[31mred",
    b".hidden",
    b"a.txt",
    b"a/b",
    b"a0",
]


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were written a moment ago count as old."""
    monkeypatch.setattr("outlast.bundle.dataset.memory.RACY_NANOSECONDS", -RACY_NANOSECONDS * 1000)


def test_what_is_pushed_comes_back_as_it_was(store: DirectoryStore, tmp_path: Path) -> None:
    root = many(tmp_path / "data", 300)
    make(
        root,
        {
            "zero": b"",
            "a/b/c/deep.txt": b"deep",
            "same1": b"same",
            "same2": b"same",
            "large": noise(PIECE_BYTES * 2 + 5),
        },
    )
    (root / "empty" / "below").mkdir(parents=True)
    (root / "run.sh").write_text("#!/bin/sh")
    (root / "run.sh").chmod(0o755)
    pushed = push(store, root, cache=tmp_path / "cache")
    assert contents(back(store, pushed.digest, tmp_path / "back")) == contents(root)
    assert pushed.bytes == sum(len(content) for content, _ in contents(root).values())


def test_names_may_hold_anything_that_a_file_system_takes(store: DirectoryStore, tmp_path: Path) -> None:
    root = tmp_path / "data"
    for name in HOSTILE:
        path = os.path.join(os.fsencode(root), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(os.fsdecode(path)).write_bytes(name)
    pushed = push(store, root, cache=tmp_path / "cache")
    assert contents(back(store, pushed.digest, tmp_path / "back")) == contents(root)
    assert push(store, root, cache=tmp_path / "cache").digest == pushed.digest


@pytest.mark.usefixtures("settled")
def test_nothing_is_uploaded_or_read_when_nothing_has_changed(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = many(tmp_path / "data", 300)
    first = push(store, root, cache=tmp_path / "cache")
    monkeypatch.setattr(push_module, "read_batch", None)
    second = push(store, root, cache=tmp_path / "cache")
    assert (second.digest, second.uploaded_bytes) == (first.digest, 0)


@pytest.mark.usefixtures("settled")
def test_a_change_uploads_what_has_changed(store: DirectoryStore, tmp_path: Path) -> None:
    root = many(tmp_path / "data", 300, size=10_000)
    make(root, {"large": noise(PIECE_BYTES * 3)})
    first = push(store, root, cache=tmp_path / "cache")
    with (root / "large").open("r+b") as file:
        file.seek(PIECE_BYTES)
        file.write(b"other")
    make(root, {"class0/000000.bin": b"changed", "new": b"new"})
    (root / "class1" / "000001.bin").unlink()
    second = push(store, root, cache=tmp_path / "cache")
    assert second.digest != first.digest
    assert PIECE_BYTES <= second.uploaded_bytes < PIECE_BYTES + 200_000
    assert contents(back(store, second.digest, tmp_path / "back")) == contents(root)
    unpack(store, read_record(store, first.digest), tmp_path / "first")


def test_the_same_data_from_another_computer_uploads_nothing(store: DirectoryStore, tmp_path: Path) -> None:
    root = many(tmp_path / "data", 300, size=20_000)
    first = push(store, root, cache=tmp_path / "cache")
    root.rename(tmp_path / "elsewhere")
    second = push(store, tmp_path / "elsewhere", cache=tmp_path / "other cache")
    assert (second.digest, second.uploaded_bytes) == (first.digest, 0)


def test_without_a_memory_a_change_moves_the_packs_around_it_alone(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packs_module, "PACK_BYTES", 100_000)
    root = many(tmp_path / "data", 500, size=10_000)
    first = push(store, root, cache=tmp_path / "cache")
    make(root, {"class5/000005.bin": b"changed"})
    second = push(store, root, cache=tmp_path / "other cache")
    assert second.uploaded_bytes < first.uploaded_bytes / 3


@pytest.mark.usefixtures("settled")
def test_a_home_that_was_emptied_is_filled_again(tmp_path: Path) -> None:
    root = many(tmp_path / "data", 50)
    first = push(DirectoryStore(tmp_path / "home"), root, cache=tmp_path / "cache")
    store = DirectoryStore(tmp_path / "home")
    store.purge([entry.key for entry in store.list("packs/")])
    again = push(store, root, cache=tmp_path / "cache")
    assert again.digest == first.digest and again.uploaded_bytes > 0
    assert contents(back(store, again.digest, tmp_path / "back")) == contents(root)
    other = DirectoryStore(tmp_path / "other home")
    assert push(other, root, cache=tmp_path / "cache").digest == first.digest
    assert contents(back(other, first.digest, tmp_path / "back2")) == contents(root)


def test_a_memory_that_is_damaged_is_none(store: DirectoryStore, tmp_path: Path) -> None:
    root = many(tmp_path / "data", 50)
    first = push(store, root, cache=tmp_path / "cache")
    (memory,) = [path for path in (tmp_path / "cache" / "pushes").iterdir() if not path.name.startswith(".")]
    whole = memory.read_bytes()
    for damaged in (b"", whole[:-20], whole.replace(b"a", b"b", 1), b"[" * 100_000, b"0" * 64 + b"\n[]\n"):
        memory.write_bytes(damaged)
        assert push(store, root, cache=tmp_path / "cache").digest == first.digest
    assert contents(back(store, first.digest, tmp_path / "back")) == contents(root)


def test_a_listing_of_many_parts_is_one_dataset(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_module, "SHARD_ROWS_MAX", 7)
    monkeypatch.setattr(push_module, "PENDING_MAX", 5)
    monkeypatch.setattr(packs_module, "PACK_CONTENTS_MAX", 3)
    root = many(tmp_path / "data", 100)
    make(root, {"same1": b"same", "same2": b"same", "z/same3": b"same"})
    pushed = push(store, root, cache=tmp_path / "cache")
    assert len(read_record(store, pushed.digest).listing) == 15
    assert contents(back(store, pushed.digest, tmp_path / "back")) == contents(root)
    monkeypatch.undo()
    assert push(store, root, cache=tmp_path / "other cache").digest == pushed.digest


def test_what_is_no_data_is_left_out_and_said(store: DirectoryStore, tmp_path: Path) -> None:
    outside = make(tmp_path / "outside", {"secret": b"not yours"})
    root = make(
        tmp_path / "data",
        {"a/x": b"x", ".git/config": b"[core]", ".env": b"KEY=1", "key": b"-----BEGIN PRIVATE KEY-----\nabc"},
    )
    (root / "link-in").symlink_to("a")
    (root / "link-file").symlink_to("a/x")
    (root / "link-out").symlink_to(outside)
    (root / "link-up").symlink_to("..")
    (root / "a" / "around").symlink_to("..")
    (root / "dangling").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
        pushed = push(store, root, cache=tmp_path / "cache")
        again = push(store, root, cache=tmp_path / "cache")
    said = {one.path: one.why for one in pushed.left_out}
    assert said == {
        ".git": "version control",
        ".env": "looks like a credential",
        "key": "looks like a credential",
        "link-out": "a link to outside of the dataset",
        "link-up": "a link to outside of the dataset",
        "a/around": "a link to a directory around it",
        "link-in/around": "a link to a directory, behind another one",
        "dangling": "a link to nothing",
        "pipe": "a pipe",
        "socket": "a socket",
    }
    assert {one.path for one in again.left_out} == said.keys()
    assert set(contents(back(store, pushed.digest, tmp_path / "back"))) == {b"a/x", b"link-in/x", b"link-file"}


def test_a_file_is_a_dataset_too(store: DirectoryStore, tmp_path: Path) -> None:
    make(tmp_path, {"train.csv": b"1,2\n"})
    pushed = push(store, tmp_path / "train.csv", cache=tmp_path / "cache")
    assert back(store, pushed.digest, tmp_path / "back").read_bytes() == b"1,2\n"
    make(tmp_path / "directory", {"train.csv": b"1,2\n"})
    assert push(store, tmp_path / "directory", cache=tmp_path / "cache").digest != pushed.digest


def test_what_cannot_be_a_dataset_is_refused(store: DirectoryStore, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    store.put("index/x", b"")
    with pytest.raises(NotFound, match="there is no"):
        push(store, tmp_path / "nowhere", cache=tmp_path / "cache")
    with pytest.raises(UsageError, match="nothing in"):
        push(store, tmp_path / "empty", cache=tmp_path / "cache")
    with pytest.raises(UsageError, match="neither a directory nor a regular file"):
        push(store, tmp_path / "pipe", cache=tmp_path / "cache")
    with pytest.raises(UsageError, match="holds the home"):
        push(store, tmp_path, cache=tmp_path / "cache")
    with pytest.raises(UsageError, match="holds the cache"):
        push(store, make(tmp_path / "all", {"x": b"1"}), cache=tmp_path / "all" / "cache")
    assert not list(store.list("datasets/"))


@pytest.mark.usefixtures("open_umask")
def test_all_that_a_push_keeps_is_its_users_alone(store: DirectoryStore, tmp_path: Path) -> None:
    root = many(tmp_path / "data", 20)
    pushed = push(store, root, cache=tmp_path / "cache")
    back(store, pushed.digest, tmp_path / "back")
    for top in (tmp_path / "home", tmp_path / "cache", tmp_path / "back"):
        assert [path for path in [top, *top.rglob("*")] if path.stat().st_mode & 0o077] == []
    assert [path for path in (tmp_path / "back").rglob("*") if path.stat().st_mode & 0o222] == []
    assert [path.name for path in (tmp_path / "cache" / "pushes").iterdir() if path.name.startswith(".")] == []


def test_what_may_not_be_read_is_said(store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path / "data", {"open": b"1", "closed": b"2"})
    real = os.open

    def refuse(path: Any, *args: Any, **more: Any) -> int:
        if os.fsencode(path).endswith(b"/closed"):
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Denied, match="closed"):
        push(store, root, cache=tmp_path / "cache")
