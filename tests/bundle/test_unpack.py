"""Unpacking trusts nobody: whatever stands in a home, nothing is written outside, and what is written is what was shipped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outlast.bundle.listing import EMPTY_SHA256, File, Place, all_canonical, digest_of, is_canonical
from outlast.bundle.record import encode_whole
from outlast.bundle.unpack import unpack
from outlast.errors import Damaged, NewerFormat, OutlastError, UsageError
from outlast.folder import layout
from outlast.store.memory import MemoryStore
from tests.bundle.working import Working, tree_of

PACK = "0" * 64
DATA = b"hello"
SHA256 = hashlib.sha256(DATA).hexdigest()


def hostile(store: MemoryStore, rows: list[tuple[str, str, int, str]], places: dict[str, Place] | None = None) -> str:
    """A bundle that is right in all but what its rows say: the digest in its name is that of its rows."""
    files = [File(path.encode("utf-8", "surrogateescape"), mode, size, sha256) for path, mode, size, sha256 in rows]
    digest = digest_of(sorted(files))
    store.upload(layout.pack(PACK), [DATA])
    known = places or {sha256: Place(PACK, 0) for _, _, _, sha256 in rows}
    document = json.loads(encode_whole({bytes([i]): file for i, file in enumerate(files)}, known))
    store.put(layout.bundle(digest), json.dumps(document).encode(), if_generation=0)
    return digest


def put(store: MemoryStore, document: Any, digest: str = "1" * 64) -> str:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    store.put(layout.bundle(digest), data, if_generation=0)
    return digest


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Path]:
    """A directory to unpack into, in surroundings that must stay as they are."""
    around = tmp_path / "around"
    (around / "inner").mkdir(parents=True)
    (around / "victim").write_text("untouched")
    yield around / "inner" / "to"
    assert sorted(path.name for path in around.iterdir()) == ["inner", "victim"]
    assert (around / "victim").read_text() == "untouched"
    assert {path.name for path in (around / "inner").iterdir()} <= {"to"}


TRAVERSALS = [
    "",
    ".",
    "..",
    "/",
    "/etc/passwd",
    "//etc/passwd",
    "../victim",
    "../../victim",
    "a/../../victim",
    "a/..",
    "a/../b",
    "./a",
    "a/.",
    "a/./b",
    "a//b",
    "a/",
    "a\0b",
    "..\\victim",
    "a\\..\\..\\victim",
    "C:\\windows",
    "\\\\host\\share",
    ".git/hooks/post-checkout",
    "sub/.git/config",
    ".GIT/config",
    ".git",
    "a/" * 2500 + "b",
    "x" * 256,
    "../" * 50 + "etc/passwd",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_a_path_that_leads_elsewhere_is_refused_before_anything_is_written(guarded: Path, path: str) -> None:
    store = MemoryStore()
    digest = hostile(store, [("fine.txt", "644", 5, SHA256), (path, "644", 5, SHA256)])
    with pytest.raises(Damaged):
        unpack(store, digest, guarded)
    assert not guarded.exists()


@pytest.mark.parametrize(
    "path",
    [
        "%2e%2e/x",
        "...",
        "..a",
        "a..",
        "..a/b",
        " ",
        "-",
        "~",
        "~/x",
        "con",
        "a:b",
        "*",
        "\n",
        "\u202e",
        ".gitignore",
        ".github/x",
        "git",
    ],
)
def test_paths_that_only_look_odd_are_files_inside(guarded: Path, path: str) -> None:
    store = MemoryStore()
    unpack(store, hostile(store, [(path, "644", 5, SHA256)]), guarded)
    assert tree_of(guarded) == {path: (DATA, 0o644)}


segment = st.binary(min_size=0, max_size=6) | st.sampled_from([b"..", b".", b".git", b"a", b"\\", b"\0"])


@settings(max_examples=1000)
@given(st.lists(segment, max_size=5).map(b"/".join))
def test_a_canonical_path_stays_inside_whatever_it_is_made_of(path: bytes) -> None:
    if is_canonical(path):
        joined = os.path.normpath(b"/root/to/" + path)
        assert joined == b"/root/to/" + path
        assert b"\0" not in path and b"\\" not in path
    assert is_canonical(path) == all_canonical([path])


@given(st.lists(st.lists(segment, max_size=3).map(b"/".join), max_size=5))
def test_asking_about_many_paths_is_asking_about_each(paths: list[bytes]) -> None:
    assert all_canonical(paths) == all(is_canonical(path) for path in paths)


@settings(
    max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(data=st.data())
def test_no_listing_writes_outside(tmp_path: Path, data: st.DataObject) -> None:
    paths = data.draw(
        st.lists(st.lists(segment, min_size=1, max_size=4).map(b"/".join), min_size=1, max_size=4, unique=True)
    )
    around = tmp_path / str(len(os.listdir(tmp_path)))
    around.mkdir()
    store = MemoryStore()
    rows = [(path.decode("utf-8", "surrogateescape"), "644", 5, SHA256) for path in paths]
    digest = hostile(store, rows)
    try:
        unpack(store, digest, around / "to")
    except (Damaged, OutlastError):
        pass
    else:
        assert len(tree_of(around / "to")) == len(paths)
    assert set(os.listdir(around)) <= {"to"}


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "777", 5, SHA256)],
        [("a", "4755", 5, SHA256)],
        [("a", "", 5, SHA256)],
        [("a", "120000", 5, SHA256)],
        [("a", "644", -1, SHA256)],
        [("a", "644", 10**19, SHA256)],
        [("a", "644", 5, "0" * 63)],
        [("a", "644", 5, SHA256.upper())],
        [("a", "644", 5, "../../x" + "0" * 57)],
        [("a", "644", 0, SHA256)],
        [("a", "644", 5, EMPTY_SHA256)],
        [("a", "644", 5, SHA256), ("b", "644", 4, SHA256)],
        [("a", "644", 5, SHA256), ("a/b", "644", 5, SHA256)],
        [("a/b/c", "644", 5, SHA256), ("a/b", "644", 5, SHA256)],
    ],
)
def test_a_row_that_cannot_be_is_refused(guarded: Path, rows: list[tuple[str, str, int, str]]) -> None:
    store = MemoryStore()
    with pytest.raises(Damaged):
        unpack(store, hostile(store, rows), guarded)


ROW = ["a", "644", 5, SHA256, 0, 0]
WHOLE: dict[str, Any] = {"format": 1, "packs": [PACK], "files": [ROW]}


def test_a_path_that_stands_there_twice_is_refused_whatever_the_digest_says(guarded: Path) -> None:
    store = MemoryStore()
    store.upload(layout.pack(PACK), [DATA])
    digest = digest_of([File(b"a", "644", 5, SHA256)])
    put(store, {**WHOLE, "files": [ROW, ROW]}, digest)
    with pytest.raises(Damaged, match="describes no file"):
        unpack(store, digest, guarded)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"\xff",
        b"null",
        b"[]",
        b"1",
        b'"x"',
        b"{" * 100_000,
        b"[" * 100_000,
        b'{"format": 1, "files": [["a", "644", ' + b"9" * 10_000 + b"]]}",
        {},
        {"format": True, "packs": [], "files": []},
        {"format": "1", "packs": [], "files": []},
        {"format": 1},
        {"format": 1, "packs": {}, "files": []},
        {"format": 1, "packs": [], "files": {}},
        {**WHOLE, "packs": ["../../x"]},
        {**WHOLE, "packs": [1]},
        {**WHOLE, "packs": []},
        {**WHOLE, "more": 1},
        {**WHOLE, "files": [None]},
        {**WHOLE, "files": ["abcdef"]},
        {**WHOLE, "files": [[]]},
        {**WHOLE, "files": [ROW[:-1]]},
        {**WHOLE, "files": [[*ROW, 1]]},
        {**WHOLE, "files": [[1, *ROW[1:]]]},
        {**WHOLE, "files": [["\ud800", *ROW[1:]]]},
        {**WHOLE, "files": [["a", 644, *ROW[2:]]]},
        {**WHOLE, "files": [["a", "644", 5.0, *ROW[3:]]]},
        {**WHOLE, "files": [["a", "644", True, *ROW[3:]]]},
        {**WHOLE, "files": [["a", "644", 5, [], 0, 0]]},
        {**WHOLE, "files": [["a", "644", 5, SHA256, -1, 0]]},
        {**WHOLE, "files": [["a", "644", 5, SHA256, 1, 0]]},
        {**WHOLE, "files": [["a", "644", 5, SHA256, 0, -5]]},
        {**WHOLE, "files": [ROW, ROW]},
        {**WHOLE, "parent": 1, "removed": []},
        {**WHOLE, "parent": "../x", "removed": []},
        {**WHOLE, "parent": "2" * 64, "removed": []},
        {**WHOLE, "parent": "1" * 64, "removed": []},
        {**WHOLE, "parent": "2" * 64, "removed": {}},
        {**WHOLE, "parent": "2" * 64, "removed": [1]},
        {**WHOLE, "parent": "2" * 64, "removed": ["\ud800"]},
        WHOLE,
    ],
    ids=repr,
)
def test_a_record_that_nobody_wrote_is_damaged(guarded: Path, document: Any) -> None:
    store = MemoryStore()
    with pytest.raises(Damaged) as error:
        unpack(store, put(store, document), guarded)
    assert "bundles/" in error.value.message
    assert not guarded.exists()


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(mutation=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_flipped_byte_anywhere_is_damage_or_changes_nothing(tmp_path: Path, mutation: int, byte: int) -> None:
    store = MemoryStore()
    digest = hostile(store, [("a", "644", 5, SHA256), ("d/b", "755", 5, SHA256)])
    key = layout.bundle(digest)
    data = bytearray(store.get(key).data)
    data[mutation % len(data)] = byte
    store.put(key, bytes(data), if_generation=store.get(key).generation)
    to = tmp_path / str(len(os.listdir(tmp_path)))
    try:
        unpack(store, digest, to)
    except (Damaged, NewerFormat):
        return
    assert tree_of(to) == {"a": (DATA, 0o644), "d/b": (DATA, 0o755)}


def test_a_parent_of_a_parent_is_refused(guarded: Path) -> None:
    store = MemoryStore()
    put(store, {**WHOLE, "parent": "2" * 64, "removed": []}, "1" * 64)
    put(store, {**WHOLE, "parent": "3" * 64, "removed": []}, "2" * 64)
    with pytest.raises(Damaged, match="parent"):
        unpack(store, "1" * 64, guarded)


def test_a_newer_format_says_update(guarded: Path) -> None:
    store = MemoryStore()
    with pytest.raises(NewerFormat) as error:
        unpack(store, put(store, {**WHOLE, "format": 2}), guarded)
    assert "update" in error.value.hint


@pytest.mark.parametrize("digest", ["", "x", "../../jobs/a/head", "0" * 64, "A" * 64])
def test_a_bundle_that_is_not_there_is_named(guarded: Path, digest: str) -> None:
    with pytest.raises(Damaged) as error:
        unpack(MemoryStore(), digest, guarded)
    assert digest[:20] in error.value.message


def test_a_lost_pack_is_named(working: Working) -> None:
    working.write("a.py")
    packed = working.pack()
    (entry,) = working.store.list("packs/")
    working.store.delete(entry.key)
    with pytest.raises(Damaged, match=entry.key) as error:
        working.unpacked(packed)
    assert "submit" in error.value.hint


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
@pytest.mark.parametrize("held", [1 << 20, 1])
def test_a_damaged_pack_is_named(working: Working, monkeypatch: pytest.MonkeyPatch, damage: str, held: int) -> None:
    monkeypatch.setattr("outlast.bundle.unpack.HELD_BYTES_MAX", held)
    working.write("a.py", "a" * 3000)
    working.write("b.py", "b" * 3000)
    packed = working.pack()
    (entry,) = working.store.list("packs/")
    data = b"".join(working.store.download(entry.key))
    new = {"cut": data[:4000], "flipped": data[:4000] + b"?" + data[4001:], "empty": b""}[damage]
    working.store.upload(entry.key, [new])
    with pytest.raises(Damaged, match=entry.key):
        working.unpacked(packed)


def test_places_that_overlap_or_lie_beyond_the_end_are_damage(guarded: Path, tmp_path: Path) -> None:
    store = MemoryStore()
    other = hashlib.sha256(b"ell").hexdigest()
    rows = [("a", "644", 5, SHA256), ("b", "644", 3, other)]
    digest = hostile(store, rows, {SHA256: Place(PACK, 0), other: Place(PACK, 1)})
    with pytest.raises(Damaged, match="overlap"):
        unpack(store, digest, guarded)
    store = MemoryStore()
    digest = hostile(store, rows[:1], {SHA256: Place(PACK, 10**15)})
    with pytest.raises(Damaged, match="ends after 5 bytes"):
        unpack(store, digest, tmp_path / "beyond")


def test_only_a_new_or_empty_directory_is_unpacked_into(working: Working, tmp_path: Path) -> None:
    working.write("d/a.py")
    packed = working.pack()
    full = tmp_path / "full"
    (full / "d").mkdir(parents=True)
    with pytest.raises(UsageError, match="not empty"):
        unpack(working.store, packed.digest, full)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError):
        unpack(working.store, packed.digest, tmp_path / "link")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError):
        unpack(working.store, packed.digest, tmp_path / "file")
    assert os.listdir(tmp_path / "elsewhere") == []
    (tmp_path / "empty").mkdir()
    unpack(working.store, packed.digest, tmp_path / "empty")
    assert set(tree_of(tmp_path / "empty")) == {"d/a.py"}


def test_a_link_that_appears_meanwhile_is_not_followed(working: Working, tmp_path: Path) -> None:
    """Another process of the same user, faster than us."""
    working.write("d/a.py", "a")
    packed = working.pack()
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    to = tmp_path / "to"

    class Swapping(MemoryStore):
        def download(self, key: str) -> Iterator[bytes]:
            (to / "d" / "a.py").symlink_to(victim)
            return super().download(key)

    swapping = Swapping()
    for entry in working.store.list("packs/"):
        swapping.upload(entry.key, working.store.download(entry.key))
    for entry in working.store.list("bundles/"):
        swapping.put(entry.key, working.store.get(entry.key).data, if_generation=0)
    with pytest.raises(OutlastError):
        unpack(swapping, packed.digest, to)
    assert victim.read_text() == "untouched"


def test_two_names_that_the_file_system_takes_for_one_are_an_error(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    working.write("a.py")
    packed = working.pack()

    def taken(path: object, flags: int, mode: int = 0o777) -> int:
        raise FileExistsError(17, "File exists")

    monkeypatch.setattr(os, "open", taken)
    with pytest.raises(OutlastError, match="two names"):
        working.unpacked(packed)


def test_a_full_disk_is_the_disks_own_error(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    working.write("a.py")
    packed = working.pack()

    def full(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        working.unpacked(packed)


def test_a_write_that_takes_only_a_part_is_gone_on_with(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    working.write("a.py", os.urandom(5000))
    expected = (working.directory / "a.py").read_bytes()
    packed = working.pack()
    really = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: really(handle, bytes(data[:700])))
    assert working.unpacked(packed)["a.py"][0] == expected


@pytest.mark.parametrize("umask", [0, 0o077])
def test_modes_are_what_they_are_for_their_owner_whatever_the_umask(working: Working, umask: int) -> None:
    working.write("d/run.sh", "x", 0o755)
    working.write("d/a.py", "x")
    packed = working.pack()
    before = os.umask(umask)
    try:
        shipped = working.unpacked(packed)
    finally:
        os.umask(before)
    assert shipped["d/run.sh"][1] & 0o700 == 0o700 and shipped["d/a.py"][1] & 0o700 == 0o600
    assert shipped["d/run.sh"][1] & 0o022 == 0
