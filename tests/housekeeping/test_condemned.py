"""What is condemned: nobody who begins after it relies on it, and a machine that read a listing before goes on with the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.bundle.unpack import unpack
from outlast.errors import Damaged
from outlast.folder import layout
from outlast.folder.prunes import Prunes, condemn, newest_prune, read_prunes
from outlast.jobs.delete import delete
from outlast.jobs.submit import submit
from outlast.store.memory import MemoryStore
from outlast.store.store import Stored
from tests.housekeeping.user import User


class ReadBefore(MemoryStore):
    """As a machine sees it that had read one record before everything else happened."""

    def __init__(self, store: MemoryStore, key: str, before: Stored) -> None:
        super().__init__()
        self.restore(store.snapshot())
        self._stale = {key: before}

    def get(self, key: str) -> Stored:
        return self._stale.pop(key, None) or super().get(key)


def condemn_all(user: User) -> None:
    bundles = {entry.key: entry.generation for entry in user.store.list(layout.BUNDLES)}
    packs = [entry.key for entry in user.store.list(layout.PACKS)]
    assert condemn(user.store, read_prunes(user.store), bundles, packs) is not None


def test_what_is_condemned_is_shipped_again_under_another_name(user: User) -> None:
    delete(user.world(), user.finished("old"))
    (before,) = (entry.key for entry in user.store.list(layout.PACKS))
    condemn_all(user)
    submit(user.world(), user.asked("new"))
    packs = [entry.key for entry in user.store.list(layout.PACKS)]
    assert before in packs and len(packs) == 2
    submit(user.world(), user.asked("newer"))
    assert [entry.key for entry in user.store.list(layout.PACKS)] == packs, "the second time nothing is new"


def test_a_machine_that_read_a_listing_before_it_got_other_packs_unpacks_it_all_the_same(
    user: User, tmp_path: Path
) -> None:
    job = user.finished("old")
    digest = job.folder.read_spec().bundle
    key = layout.bundle(digest)
    before = user.store.get(key)
    (pack,) = (entry.key for entry in user.store.list(layout.PACKS))
    condemn_all(user)
    submit(user.world(), user.asked("new"))
    user.store.purge([pack])
    unpack(ReadBefore(user.store, key, before), digest, tmp_path / "unpacked")
    assert (tmp_path / "unpacked" / "train.py").read_text() == (user.work / "train.py").read_text()


def test_a_pack_that_is_gone_for_good_is_named(user: User, tmp_path: Path) -> None:
    job = user.finished("old")
    (pack,) = (entry.key for entry in user.store.list(layout.PACKS))
    user.store.purge([pack])
    with pytest.raises(Damaged, match=pack):
        unpack(user.store, job.folder.read_spec().bundle, tmp_path / "unpacked")


def test_only_one_of_two_prunes_writes_the_next_record_and_a_late_one_is_void() -> None:
    store = MemoryStore()
    first = condemn(store, Prunes(), {}, ["packs/a"])
    assert first is not None and first.number == 1
    assert condemn(store, Prunes(), {}, ["packs/b"]) is None
    second = condemn(store, first, {}, ["packs/c"])
    assert second is not None and newest_prune(store) == 2
    assert condemn(store, Prunes(), {}, ["packs/d"]) is None, "its number has come and gone"
    assert read_prunes(store).masses == {"packs/c"}
    assert [entry.key for entry in store.list(layout.PRUNES)] == [layout.prune(2)]


def test_foreign_files_among_the_prunes_are_none() -> None:
    store = MemoryStore()
    for name in ("notes.txt", "7.json", "00000a.json"):
        store.put(f"{layout.PRUNES}{name}", b"x")
    assert newest_prune(store) == 0 and read_prunes(store) == Prunes()


def test_a_damaged_record_stops_a_submit_and_says_which(user: User) -> None:
    user.store.put(layout.prune(1), b"{nonsense", if_generation=0)
    with pytest.raises(Damaged, match="prunes/000001"):
        submit(user.world(), user.asked("new"))
