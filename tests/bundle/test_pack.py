"""A bundle is named by its content, uploads only what the home has not got, and survives whatever has become of home and cache."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from outlast.bundle import contents, crew, listing, publish, ship, tree
from outlast.bundle.record import encode_changes, encode_whole, read_bundle
from outlast.clock import SYSTEM
from outlast.errors import OutlastError, UsageError
from outlast.folder import layout
from outlast.spec.spec import Target, TargetKind
from outlast.store.directory import DirectoryStore
from outlast.store.dry import Dry
from outlast.store.memory import MemoryStore
from outlast.store.store import Store
from tests.bundle.working import Working


def keys(store: Store, prefix: str) -> list[str]:
    return [entry.key for entry in store.list(prefix)]


def many(working: Working, count: int) -> None:
    for number in range(count):
        working.write(f"pkg{number % 7}/m{number}.py", f"# module {number}\n" * 20)
    working.commit()


def test_equal_directories_have_equal_digests_wherever_and_whenever(tmp_path: Path) -> None:
    digests = set()
    for name, git in (("a", True), ("b", False)):
        (tmp_path / name).mkdir()
        working = Working(tmp_path / name, git=git)
        for path in ("train.py", "x/y.py", "x.py", "x-y.py"):
            working.write(path, path)
        digests.add(working.pack().digest)
    assert len(digests) == 1


def test_the_digest_covers_names_modes_and_contents(working: Working) -> None:
    working.write("a.py", "1")
    seen = {working.pack().digest}
    working.write("a.py", "2")
    seen.add(working.pack().digest)
    (working.directory / "a.py").chmod(0o755)
    seen.add(working.pack().digest)
    (working.directory / "a.py").rename(working.directory / "b.py")
    seen.add(working.pack().digest)
    working.write("c.py", "2")
    seen.add(working.pack().digest)
    assert len(seen) == 5


def test_what_is_told_counts_files_and_bytes(working: Working) -> None:
    working.write("a.py", "12345")
    working.write("b.py", "")
    packed = working.pack()
    assert (packed.files, packed.bytes) == (2, 5)
    stored = sum(entry.bytes for entry in working.store.list(""))
    assert packed.uploaded_bytes == stored
    assert working.pack().uploaded_bytes == 0


def test_equal_contents_are_stored_once(working: Working) -> None:
    for name in ("a", "b", "c/d"):
        working.write(name, "the same" * 1000)
    packed = working.pack()
    assert sum(entry.bytes for entry in working.store.list("packs/")) == 8000
    assert len(working.unpacked(packed)) == 3


def test_a_changed_line_uploads_that_file_and_a_small_record(working: Working) -> None:
    many(working, 400)
    whole = working.pack()
    working.write("pkg0/m0.py", "changed")
    packed = working.pack()
    assert packed.digest != whole.digest
    assert packed.uploaded_bytes < 1000
    record = json.loads(working.store.get(layout.bundle(packed.digest)).data)
    assert record["parent"] == whole.digest and len(record["files"]) == 1
    assert working.unpacked(packed)["pkg0/m0.py"][0] == b"changed"


def test_in_ten_thousand_files_a_changed_line_makes_a_record_of_one_line() -> None:
    """The whole way of 10,000 real files is in bench/bundle.py, which fails above 500 KB."""
    files = {}
    for number in range(10_000):
        path = f"package{number % 25}/part{number // 25 % 20}/a_module_with_a_name_{number}.py".encode()
        files[path] = listing.File(path, "644", 6000, hashlib.sha256(path).hexdigest())
    places = {file.sha256: listing.Place("0" * 64, 0) for file in files.values()}
    assert len(encode_whole(files, places)) > 1_000_000
    assert len(encode_changes("0" * 64, list(files.values())[:1], [], places)) < 500


def test_what_was_written_a_moment_ago_is_read_again_and_not_uploaded_again(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "RACY_NANOSECONDS", 10**15)
    many(working, 150)
    working.pack()
    packed = working.pack()
    assert packed.uploaded_bytes == 0
    working.write("pkg0/m0.py", "changed")
    assert working.pack().uploaded_bytes < 1000


def test_many_changes_in_a_row_stay_small_and_right(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ship, "PACKS_OF_CHANGES_MAX", 5)
    many(working, 150)
    working.pack()
    for number in range(30):
        working.write(f"pkg{number % 7}/m{number}.py", f"edit {number}\n" * 50)
        packed = working.pack()
        assert packed.uploaded_bytes < 30_000
        assert packed.digest == working.pack_anew().digest
    bundle = read_bundle(working.store, packed.digest)
    assert len({place.pack for place in bundle.places.values()}) <= 8
    assert working.unpacked(packed)["pkg1/m29.py"][0] == b"edit 29\n" * 50


def test_changes_to_a_great_part_make_a_new_base(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "CHANGES_MIN", 3)
    many(working, 20)
    working.pack()
    for number in range(8):
        working.write(f"pkg{number % 7}/m{number}.py", "changed")
    packed = working.pack()
    assert "parent" not in json.loads(working.store.get(layout.bundle(packed.digest)).data)
    working.write("pkg0/m0.py", "again")
    again = working.pack()
    assert json.loads(working.store.get(layout.bundle(again.digest)).data)["parent"] == packed.digest
    assert len(working.unpacked(again)) == 20


def test_added_removed_and_renamed_files_are_changes_too(working: Working) -> None:
    many(working, 200)
    working.pack()
    working.write("new/file.py", "new")
    (working.directory / "pkg1" / "m1.py").unlink()
    (working.directory / "pkg2" / "m2.py").rename(working.directory / "renamed.py")
    packed = working.pack()
    assert packed.uploaded_bytes < 2000
    shipped = working.unpacked(packed)
    assert len(shipped) == 200
    assert "pkg1/m1.py" not in shipped and "renamed.py" in shipped and shipped["new/file.py"][0] == b"new"
    assert packed.digest == working.pack_anew().digest


def test_going_back_to_an_earlier_content_uploads_nothing(working: Working) -> None:
    many(working, 150)
    first = working.pack()
    original = (working.directory / "pkg0/m0.py").read_bytes()
    working.write("pkg0/m0.py", "changed")
    working.pack()
    working.write("pkg0/m0.py", original)
    back = working.pack()
    assert (back.digest, back.uploaded_bytes) == (first.digest, 0)
    working.write("pkg1/m1.py", "changed")
    assert working.pack().uploaded_bytes < 500
    assert len(keys(working.store, "packs/")) == 2


@pytest.mark.parametrize("remembered", [True, False])
def test_a_mode_alone_can_change(working: Working, remembered: bool) -> None:
    many(working, 150)
    working.settle()
    working.pack()
    (working.directory / "pkg0/m0.py").chmod(0o755)
    if not remembered:
        for path in working.cache.rglob("*.home"):
            path.unlink()
    packed = working.pack()
    assert packed.uploaded_bytes < 1500
    assert working.unpacked(packed)["pkg0/m0.py"][1] == 0o755


def test_a_second_machine_finds_what_the_first_has_shipped(working: Working, tmp_path: Path) -> None:
    many(working, 150)
    working.pack()
    working.cache = tmp_path / "another cache"
    packed = working.pack()
    assert packed.uploaded_bytes == 0
    working.cache = tmp_path / "a third cache"
    working.write("pkg0/m0.py", "changed")
    packed = working.pack()
    assert len(keys(working.store, "packs/")) == 2
    assert len(working.unpacked(packed)) == 150


def test_another_home_gets_all_of_it_and_the_first_goes_on(working: Working) -> None:
    many(working, 150)
    working.pack()
    other = MemoryStore("other")
    packed = working.pack(store=other)
    assert packed.uploaded_bytes > 0
    assert len(working.unpacked(packed, other)) == 150
    for number, store in enumerate((working.store, other, working.store, other)):
        working.write("pkg0/m0.py", f"changed {number}")
        packed = working.pack(store=store)
        assert working.unpacked(packed, store)["pkg0/m0.py"][0] == f"changed {number}".encode()


def test_a_home_that_was_emptied_is_filled_again(working: Working) -> None:
    many(working, 120)
    packed = working.pack()
    for key in keys(working.store, ""):
        working.store.delete(key)
    again = working.pack()
    assert again.digest == packed.digest and again.uploaded_bytes > 0
    assert len(working.unpacked(again)) == 120


@pytest.mark.parametrize("change", [False, True])
def test_a_pack_that_was_lost_is_made_again(working: Working, change: bool) -> None:
    many(working, 120)
    working.pack()
    working.write("pkg0/m0.py", "changed")
    working.pack()
    for key in keys(working.store, "packs/"):
        working.store.delete(key)
        if change:
            working.write("pkg1/m1.py", key)
        packed = working.pack()
        assert len(working.unpacked(packed)) == 120


def test_a_pack_that_was_cut_short_is_made_again(working: Working) -> None:
    many(working, 120)
    working.pack()
    (key,) = keys(working.store, "packs/")
    working.store.upload(key, [b"short"])
    assert len(working.unpacked(working.pack())) == 120


def test_a_record_that_was_lost_or_damaged_is_written_again(working: Working) -> None:
    many(working, 120)
    packed = working.pack()
    key = layout.bundle(packed.digest)
    working.store.delete(key)
    assert len(working.unpacked(working.pack())) == 120
    working.store.put(key, b"{}", if_generation=working.store.get(key).generation)
    shutil.rmtree(working.cache)
    assert len(working.unpacked(working.pack())) == 120


def test_a_base_that_was_lost_is_not_built_upon(working: Working) -> None:
    many(working, 120)
    first = working.pack()
    working.store.delete(layout.bundle(first.digest))
    working.write("pkg0/m0.py", "changed")
    assert len(working.unpacked(working.pack())) == 120


def test_a_dry_run_promises_nothing_to_the_next_one(working: Working) -> None:
    many(working, 120)
    dry = Dry(working.store)
    would = working.pack(store=dry)
    assert would.uploaded_bytes > 0 and keys(working.store, "") == []
    packed = working.pack()
    assert packed.digest == would.digest
    assert len(working.unpacked(packed)) == 120


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "flipped", "flipped at the end", "foreign"])
def test_a_damaged_cache_costs_time_and_nothing_else(working: Working, damage: str) -> None:
    many(working, 120)
    working.settle()
    packed = working.pack()
    for path in sorted(working.cache.rglob("*.*")):
        data = path.read_bytes()
        if damage == "gone":
            path.unlink()
        elif damage == "empty":
            path.write_bytes(b"")
        elif damage == "cut":
            path.write_bytes(data[: len(data) // 2])
        elif damage == "flipped at the end":
            path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        elif damage == "flipped":
            path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
        else:
            path.write_bytes(b"outlast cache 1\n" + os.urandom(500))
    assert working.pack().digest == packed.digest
    working.write("pkg0/m0.py", "changed")
    again = working.pack()
    assert again.digest == working.pack_anew().digest
    assert working.unpacked(again)["pkg0/m0.py"][0] == b"changed"


def test_a_cache_that_cannot_be_written_is_done_without(working: Working) -> None:
    working.write("a.py")
    working.cache.write_text("a file where a directory should be")
    assert working.pack().digest == working.pack().digest
    assert set(working.shipped()) == {"a.py"}


def test_large_files_travel_in_packs_of_their_own(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlast.bundle.reading.SMALL_BYTES_MAX", 1000)
    monkeypatch.setattr("outlast.bundle.unpack.HELD_BYTES_MAX", 1000)
    large = os.urandom(3_500_000)
    working.write("weights.bin", large)
    working.write("copy.bin", large)
    working.write("a.py", "small")
    packed = working.pack()
    assert sorted(entry.bytes for entry in working.store.list("packs/")) == [5, 3_500_000]
    shipped = working.unpacked(packed)
    assert shipped["weights.bin"][0] == shipped["copy.bin"][0] == large


def test_contents_are_spread_over_packs_of_a_limited_size(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "PACK_BYTES_MAX", 10_000)
    for number in range(300):
        working.write(f"f{number}", os.urandom(500))
    packed = working.pack()
    assert 14 <= len(keys(working.store, "packs/")) <= 16
    assert len(working.unpacked(packed)) == 300


def test_too_much_is_refused_before_anything_is_uploaded(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        working.write(f"f{number}", "x" * (number + 1) * 100)
    monkeypatch.setattr(listing, "BYTES_MAX", 1000)
    with pytest.raises(UsageError, match="above the limit") as error:
        working.pack()
    assert "`f5` (600 bytes)" in error.value.hint and ".outlastignore" in error.value.hint
    monkeypatch.setattr(listing, "BYTES_MAX", 10_000)
    monkeypatch.setattr(listing, "FILES_MAX", 5)
    with pytest.raises(UsageError, match="6 files"):
        working.pack()
    assert keys(working.store, "") == []


def test_the_commit_and_whether_the_directory_is_it_are_told(working: Working) -> None:
    working.write("a.py", "1")
    assert (working.pack().commit, working.pack().dirty) == ("", True)
    commit = working.commit()
    for _ in range(2):
        packed = working.pack()
        assert (packed.commit, packed.dirty) == (commit, False)
    working.write("a.py", "2")
    assert working.pack().dirty
    working.write("a.py", "1")
    assert not working.pack().dirty
    working.write("a.py", "3")
    working.git("add", "a.py")
    assert working.pack().dirty
    newer = working.commit()
    packed = working.pack()
    assert (packed.commit, packed.dirty) == (newer, False)
    working.write("new.py")
    assert working.pack().dirty
    working.git("tag", "-a", "-m", "x", "v1")
    working.git("checkout", "-q", "--detach", commit)
    (working.directory / "new.py").unlink()
    packed = working.pack()
    assert (packed.commit, packed.dirty) == (commit, False)
    working.git("checkout", "-q", "main")
    working.git("pack-refs", "--all")
    assert working.pack().commit == newer


def test_outside_of_git_there_is_no_commit_and_nothing_is_dirty(plain: Working) -> None:
    plain.write("a.py")
    packed = plain.pack()
    assert (packed.commit, packed.dirty) == ("", False)


def test_a_real_directory_as_home_works_alike(working: Working, tmp_path: Path) -> None:
    working.store = DirectoryStore(tmp_path / "home")
    many(working, 50)
    packed = working.pack()
    assert working.pack().uploaded_bytes == 0
    working.write("pkg0/m0.py", "changed")
    assert len(working.unpacked(packed)) == 50
    assert working.shipped()["pkg0/m0.py"][0] == b"changed"


def test_two_at_once_make_one_bundle(working: Working) -> None:
    """The second one writes between the first one's look and its write."""
    working.write("a.py")

    class Hasty(MemoryStore):
        def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
            if if_generation == 0:
                super().put(key, data, if_generation=0)
            return super().put(key, data, if_generation=if_generation)

    hasty = Hasty()
    packed = working.pack(store=hasty)
    assert len(working.unpacked(packed, hasty)) == 1


def test_a_target_that_is_left_out_is_refused_with_the_way_to_ship_it(working: Working) -> None:
    working.write(".gitignore", "train.py\n")
    working.write("train.py")
    with pytest.raises(UsageError, match=r"train\.py") as error:
        working.pack(target=Target(TargetKind.SCRIPT, "train.py"))
    assert "git add -f train.py" in error.value.hint
    working.git("add", "-f", "train.py")
    working.write("pkg/__main__.py")
    assert working.pack(target=Target(TargetKind.SCRIPT, "train.py")).files == 3
    assert working.pack(target=Target(TargetKind.MODULE, "pkg")).files == 3
    assert working.pack(target=Target(TargetKind.MODULE, "pkg.__main__")).files == 3
    with pytest.raises(UsageError):
        working.pack(target=Target(TargetKind.MODULE, "pkg.other"))
    (working.directory / "link.py").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match=r"`link\.py` is a link to outside of"):
        working.pack(target=Target(TargetKind.SCRIPT, "link.py"))


def test_a_file_that_vanishes_on_the_way_is_named(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    working.write("a.py")
    working.write("b.py")
    really = crew.read_rows

    def vanish(*args: Any) -> object:
        (working.directory / "b.py").unlink()
        return really(*args)

    monkeypatch.setattr(ship, "read_rows", vanish)
    with pytest.raises(OutlastError, match=r"b\.py.*vanished"):
        working.pack()


def test_the_report_is_made_anew_after_a_while(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlast.bundle.report.LARGE_BYTES", 100)
    working.write(".gitignore", "data\n")
    working.write("a.py")
    working.commit()
    working.settle()
    assert working.left_out() == {}
    working.write("data", "x" * 200)
    assert working.left_out() == {}
    real = SYSTEM.now
    monkeypatch.setattr(type(SYSTEM), "now", lambda self: real() + 700)
    assert working.left_out() == {"data": "ignored by git, large"}
