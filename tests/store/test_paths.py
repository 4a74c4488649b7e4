"""Keys as paths: exact, unambiguous, and bearable for a file system."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from outlast.errors import KeyMissing
from outlast.store.directory import DirectoryStore
from outlast.store.keys import check_key
from outlast.store.paths import MARK, NAME_BYTES_MAX, TEMPORARY, generation_of, name_of, path_of, segment_of
from outlast.store.walk import walk
from tests.store.steps import HastyDisk

NAME_MAX = 255

tricky = st.sampled_from(
    ["~", "%", "+", ".", "..", "~1", "~0", "~+", "%7E", "/", "a", ".nfs", "._", ".DS_Store", "\n", "ä", "🙂"]
)
segments = st.one_of(
    st.lists(tricky.filter(lambda text: text != "/"), min_size=1, max_size=6).map("".join),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="/\0"), min_size=1, max_size=12),
    st.tuples(st.sampled_from("x~ä🙂."), st.integers(200, 320), tricky).map(lambda made: made[0] * made[1] + made[2]),
)


def is_legal(key: str) -> bool:
    try:
        check_key(key)
    except ValueError:
        return False
    return True


keys = st.lists(segments, min_size=1, max_size=4).map("/".join).filter(is_legal)


@given(keys)
@example("x" * 768)
@example("~" * 768)
@example("y" * NAME_BYTES_MAX + "..")
@settings(deadline=None)
def test_every_segment_of_a_key_comes_back_from_its_name(key: str) -> None:
    for segment in key.split("/"):
        assert segment_of(name_of(segment)) == segment


@given(keys)
@settings(deadline=None)
def test_every_name_fits_into_a_directory_with_a_generation_of_fourteen_digits(key: str) -> None:
    for name in f"{path_of(key)}{MARK}{10**13}".split("/"):
        assert name not in ("", ".", "..")
        assert len(name.encode()) <= NAME_MAX
        assert name != TEMPORARY
        assert name.isprintable() or not name.isascii()


@given(st.lists(keys, min_size=2, max_size=8, unique=True))
@settings(deadline=None)
def test_no_two_keys_have_one_path(some: list[str]) -> None:
    taken: dict[str, str] = {}
    for key in some:
        for form in (path_of(key), f"{path_of(key)}~0", f"{path_of(key)}~1", f"{path_of(key)}~17"):
            assert taken.setdefault(form, key) == key


@given(
    st.lists(
        st.tuples(keys, st.sampled_from(["if", "twice", "plain", "upload"])), max_size=8, unique_by=lambda made: made[0]
    ),
    st.one_of(keys, tricky, st.just("")),
    st.one_of(keys, st.just("")),
)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_a_home_holds_exactly_the_keys_that_were_written(
    written: list[tuple[str, str]], prefix: str, after: str
) -> None:
    home = Path(tempfile.mkdtemp(prefix="outlast-keys-"))
    try:
        store = DirectoryStore(home, disk=HastyDisk())
        for key, how in written:
            if how == "upload":
                store.upload(key, [key.encode()])
            elif how == "plain":
                store.put(key, key.encode())
            else:
                generation = store.put(key, b"first" if how == "twice" else key.encode(), if_generation=0)
                if how == "twice":
                    store.put(key, key.encode(), if_generation=generation)
        expected = sorted((key for key, _ in written), key=str.encode)
        assert [entry.key for entry in store.list("")] == expected
        for reader in (store, DirectoryStore(home)):
            assert all(reader.get(key).data == key.encode() for key, _ in written)
        assert [entry.key for entry in store.list(prefix, after=after)] == [
            key for key in expected if key.startswith(prefix) and key.encode() > after.encode()
        ]
        store.purge(expected)
        assert os.listdir(home) == ([TEMPORARY] if written else [])
    finally:
        shutil.rmtree(home)


def test_ordinary_keys_are_their_own_paths() -> None:
    for key in (
        "jobs/mnist-7f3a/outputs/model.pt",
        "jobs/x/outputs/Größe der 模型 (1).csv",
        "outputs/.hidden/a b+c=d,e",
    ):
        assert path_of(key) == key


@pytest.mark.parametrize(
    "name", ["a%41", "a%7e", "%", "%zz", "a~", "~1", "a~01", "a~-1", "a~+", "a~1~2", "+a", "._x", ".nfs1"]
)
def test_what_is_not_a_name_of_ours_is_not_listed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"foreign\n")
    (tmp_path / "real~1").write_bytes(b"ours\n")
    found = [key for key, _ in walk(str(tmp_path), "", "")]
    assert found == (["+a", "real"] if name == "+a" else ["real"])


def test_foreign_things_in_a_home_are_no_objects(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put("a/real", b"1")
    os.mkfifo(tmp_path / "a/pipe")
    os.symlink("/etc/passwd", tmp_path / "a/link")
    os.symlink("/etc", tmp_path / "a/linked directory")
    os.mkdir(tmp_path / "a/empty")
    (tmp_path / "a" / os.fsdecode(b"not utf-8 \xff")).write_bytes(b"x")
    assert [entry.key for entry in store.list("")] == ["a/real"]
    for key in ("a/pipe", "a/link", "a/empty"):
        with pytest.raises(KeyMissing):
            store.get(key)


def test_generations_are_written_in_one_way_only() -> None:
    assert [generation_of(text) for text in ("0", "1", "10", "", "01", "+1", "1 ", "١", "1_0", "-1")] == [
        0, 1, 10, None, None, None, None, None, None, None,
    ]  # fmt: skip
