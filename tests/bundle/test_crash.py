"""Killed before and after every write of a pack, and tried again: the home never names what is not there."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from outlast.bundle.record import read_bundle
from outlast.errors import StoreUnavailable
from outlast.folder import layout
from outlast.store.memory import MemoryStore
from outlast.store.mortal import Fault, Faults, Mortal
from tests.bundle.working import Working


class Killed(BaseException):
    pass


class Countdown:
    """Kills at the n-th call of a hook."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, operation: str, key: str) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Working:
    """Several packs at first, then one with changes."""
    monkeypatch.setattr("outlast.bundle.contents.PACK_BYTES_MAX", 3000)
    working = Working(tmp_path)
    for number in range(20):
        working.write(f"f{number}.py", f"{number}" * 500)
    working.commit()
    return working


def every_named_content_is_there(store: MemoryStore) -> None:
    sizes = {entry.key: entry.bytes for entry in store.list("packs/")}
    for entry in store.list("bundles/"):
        bundle = read_bundle(store, entry.key.removeprefix("bundles/").removesuffix(".json"))
        for file in bundle.files.values():
            place = bundle.places[file.sha256]
            assert place.offset + file.bytes <= sizes[layout.pack(place.pack)]


def kill_everywhere(working: Working, wrap: Callable[[MemoryStore, Countdown], Mortal]) -> int:
    """Kills a first pack, then one with a change, at their first, second, ... write, until they come through; answers the kills."""
    kills = 0
    for begun in (False, True):
        home = MemoryStore("home")
        shutil.rmtree(working.cache, ignore_errors=True)
        if begun:
            working.pack(store=home)
        for call in itertools.count(1):
            working.write("f0.py", f"edit {begun} {call}\n")
            try:
                packed = working.pack(store=wrap(home, Countdown(call)))
            except Killed:
                kills += 1
                every_named_content_is_there(home)
                packed = working.pack(store=home)
                came_through = False
            else:
                came_through = True
            every_named_content_is_there(home)
            shipped = working.unpacked(packed, home)
            assert shipped["f0.py"][0] == f"edit {begun} {call}\n".encode() and len(shipped) == 20
            if came_through:
                break
            if not begun:
                home = MemoryStore("home")
    return kills


def test_killed_before_every_write_the_next_pack_succeeds(edited: Working) -> None:
    assert kill_everywhere(edited, lambda home, hook: Mortal(home, before=hook)) == 14


def test_killed_after_every_write_the_next_pack_succeeds(edited: Working) -> None:
    assert kill_everywhere(edited, lambda home, hook: Mortal(home, after=hook)) == 8


@pytest.mark.parametrize("operation", ["upload", "put", "chunk", "list", "get"])
@pytest.mark.parametrize("fault", list(Fault))
def test_whatever_fails_or_is_lost_is_reported_and_the_next_pack_succeeds(
    edited: Working, operation: str, fault: Fault
) -> None:
    home = MemoryStore("home")
    edited.pack(store=home)
    edited.write("f0.py", "changed")
    faults = Faults()
    faults.plan(operation, fault)
    try:
        edited.pack(store=Mortal(home, faults=faults))
    except StoreUnavailable:
        pass
    every_named_content_is_there(home)
    assert edited.unpacked(edited.pack(store=home), home)["f0.py"][0] == b"changed"


def test_the_bundle_is_written_after_its_packs(edited: Working) -> None:
    writes: list[str] = []
    edited.pack(store=Mortal(MemoryStore("home"), before=lambda operation, key: writes.append(key)))
    packs = [at for at, key in enumerate(writes) if key.startswith("packs/")]
    (bundle,) = [at for at, key in enumerate(writes) if key.startswith("bundles/")]
    assert packs and max(packs) < bundle


def test_a_pack_that_a_killed_submit_has_uploaded_is_not_uploaded_again(edited: Working) -> None:
    home = MemoryStore("home")

    def die_at_bundle(operation: str, key: str) -> None:
        if key.startswith("bundles/"):
            raise Killed

    with pytest.raises(Killed):
        edited.pack(store=Mortal(home, before=die_at_bundle))
    uploads: list[str] = []
    edited.pack(store=Mortal(home, before=lambda operation, key: uploads.append(operation)))
    assert "upload" not in uploads
