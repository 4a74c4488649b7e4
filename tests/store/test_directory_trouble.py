"""A full disk, a read-only home, a directory that may not be read, damage: a clear error, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from outlast.errors import Damaged, Denied, KeyMissing, PreconditionFailed, StoreFull
from outlast.store import directories as directories_module
from outlast.store.directory import DirectoryStore
from outlast.store.files import TEMPORARY_SECONDS_MAX
from outlast.store.paths import TEMPORARY
from outlast.store.walk import scan

NOBODY = 65534


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 kB. Only root may mount one; for everybody else there is a limit on the size of files."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() == 0 and sys.platform == "linux":
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, check=False
        )
        if mounted.returncode == 0:
            yield place
            subprocess.run(["umount", str(place)], check=True)
            return
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield place
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def as_somebody_else(call: Callable[[], None]) -> None:
    """In a process for which permissions count, also when the tests are run by root."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            call()
            code = 0
        except BaseException:
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that everybody can reach, which pytest's own are not."""
    place = Path(tempfile.mkdtemp(prefix="outlast-open-"))
    os.chmod(place, 0o777)
    yield place
    subprocess.run(["chmod", "-R", "u+rwx", str(place)], check=True)
    shutil.rmtree(place)


def test_a_full_disk_is_said_to_be_full_and_what_was_there_stays(small_disk: Path) -> None:
    store = DirectoryStore(small_disk / "home")
    generation = store.put("job/head", b"first", if_generation=0)
    store.put("job/beat", b"first")
    large = b"x" * 400_000
    for write in (
        lambda: store.put("job/head", large, if_generation=generation),
        lambda: store.put("job/beat", large),
        lambda: store.upload("job/part", [large[:50_000]] * 8),
    ):
        with pytest.raises(StoreFull) as caught:
            write()
        assert str(small_disk) in str(caught.value)
        assert "space" in caught.value.hint
    assert {entry.key: store.get(entry.key).data for entry in store.list("")} == {
        "job/head": b"first",
        "job/beat": b"first",
    }
    assert list((small_disk / "home" / TEMPORARY).iterdir()) == []
    store.put("job/head", b"second", if_generation=generation)
    assert store.get("job/head").data == b"second"


def test_a_read_only_home_can_be_read_and_says_why_it_cannot_be_written(open_place: Path) -> None:
    def check() -> None:
        home = open_place / "home"
        store = DirectoryStore(home)
        store.put("job/head", b"1", if_generation=0)
        store.put("job/beat", b"1")
        for directory in (home, home / "job", home / TEMPORARY):
            os.chmod(directory, 0o500)
        store = DirectoryStore(home)
        assert [entry.key for entry in store.list("")] == ["job/beat", "job/head"]
        for write in (
            lambda: store.put("job/head", b"2", if_generation=1),
            lambda: store.put("job/beat", b"2"),
            lambda: store.put("new/job/spec", b"2", if_generation=0),
            lambda: store.upload("job/part", [b"2"]),
            lambda: store.delete("job/head"),
            lambda: store.delete("job/beat"),
            lambda: store.purge(["job/head"]),
        ):
            with pytest.raises(Denied) as caught:
                write()
            assert str(home) in str(caught.value)
            assert "--home" in caught.value.hint
        assert store.get("job/head").data == b"1"

    as_somebody_else(check)


def test_a_directory_that_may_not_be_read_is_not_taken_for_an_empty_one(open_place: Path) -> None:
    def check() -> None:
        home = open_place / "home"
        store = DirectoryStore(home)
        store.put("job/head", b"1", if_generation=0)
        store.put("job/beat", b"1")
        knowing = DirectoryStore(home)
        knowing.get("job/head")
        os.chmod(home / "job", 0o000)
        for reader in (DirectoryStore(home), knowing):
            for read in (
                lambda: reader.get("job/head"),  # noqa: B023 - called at once
                lambda: reader.get("job/beat"),  # noqa: B023
                lambda: reader.get("job/never"),  # noqa: B023
                lambda: list(reader.list("")),  # noqa: B023
                lambda: list(reader.download("job/beat")),  # noqa: B023
                lambda: reader.put("job/head", b"2", if_generation=0),  # noqa: B023
                lambda: reader.put("job/head", b"2", if_generation=1),  # noqa: B023
            ):
                with pytest.raises(Denied, match="Permission denied"):
                    read()
        os.chmod(home / "job", 0o700)
        assert store.get("job/head").data == b"1"

    as_somebody_else(check)


def test_a_home_that_cannot_be_made_is_an_error_and_reading_makes_none(open_place: Path) -> None:
    def check() -> None:
        store = DirectoryStore(open_place / "closed" / "home")
        assert list(store.list("")) == []
        with pytest.raises(KeyMissing):
            store.get("job/head")
        with pytest.raises(Denied, match="Permission denied"):
            store.put("job/head", b"", if_generation=0)
        assert not (open_place / "closed" / "home").exists()

    (open_place / "closed").mkdir()
    os.chmod(open_place / "closed", 0o555)
    as_somebody_else(check)


def test_nobody_else_can_read_what_is_written(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = DirectoryStore(tmp_path / "home")
        generation = store.put("job/head", b"1", if_generation=0)
        for _ in range(4):
            generation = store.put("job/head", b"1", if_generation=generation)
        store.upload("job/outputs/model.pt", [b"1"])
    finally:
        os.umask(before)
    for path in [tmp_path / "home", *(tmp_path / "home").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_a_person_can_open_what_is_written_without_condition_and_read_what_is_not(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.upload("jobs/x/outputs/plots/model.pt", [b"weights"])
    store.put("jobs/x/head.json", b'{"state": "running"}', if_generation=0)
    assert (tmp_path / "jobs/x/outputs/plots/model.pt").read_bytes() == b"weights"
    assert (tmp_path / "jobs/x/head.json~1").read_text() == '{"state": "running"}\n'


@pytest.mark.parametrize("damage", [b"", b"cut o", b"deleted?", b"\0" * 9])
def test_a_generation_that_was_cut_off_is_damaged_not_missing(damage: bytes, tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put("k", b"one", if_generation=0)
    store.put("k", b"two", if_generation=1)
    (tmp_path / "k~2").write_bytes(damage)
    for reader in (store, DirectoryStore(tmp_path)):
        with pytest.raises(Damaged, match="k~2"):
            reader.get("k")
        with pytest.raises(PreconditionFailed):
            reader.put("k", b"three", if_generation=0)
        assert [entry.key for entry in reader.list("")] == ["k"]
    store.delete("k")
    assert list(store.list("")) == []
    store.purge(["k"])
    assert [path.name for path in tmp_path.iterdir()] == [TEMPORARY]


def test_a_key_is_written_with_conditions_or_without_never_both(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put("if", b"", if_generation=0)
    plain = store.put("plain", b"")
    store.put("displaced", b"")
    store.put("displaced/below", b"")
    for write in (
        lambda: store.put("if", b"!"),
        lambda: store.upload("if", [b"!"]),
        lambda: store.put("plain", b"!", if_generation=0),
        lambda: store.put("plain", b"!", if_generation=plain),
        lambda: store.delete("plain", if_generation=plain),
        lambda: store.put("displaced", b"!", if_generation=0),
    ):
        with pytest.raises(ValueError, match="condition"):
            write()
    assert store.get("if").data == store.get("plain").data == store.get("displaced").data == b""


def test_a_temporary_file_of_a_crash_is_removed_when_it_is_old_and_not_before(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put("k", b"1", if_generation=0)
    for name, age in (("old", TEMPORARY_SECONDS_MAX + 60), ("young", TEMPORARY_SECONDS_MAX - 60)):
        left = tmp_path / TEMPORARY / name
        left.write_bytes(b"half")
        os.utime(left, (store.now() - age, store.now() - age))
    store.put("k", b"2", if_generation=1)  # this one has looked already
    assert len(list((tmp_path / TEMPORARY).iterdir())) == 2
    assert [entry.key for entry in store.list("")] == ["k"]
    DirectoryStore(tmp_path).put("k", b"3", if_generation=2)
    assert [left.name for left in (tmp_path / TEMPORARY).iterdir()] == ["young"]


def test_one_who_is_late_to_displace_an_object_moves_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path)
    store.put("a", b"plain")
    store.put("a/b", b"1", if_generation=0)
    store.delete("a")
    with monkeypatch.context() as patch:
        # What it saw before it slept: `a` was a file.
        answers = iter([True])
        patch.setattr(directories_module, "is_regular", lambda path: next(answers, False))
        store._directories.make_parents(str(tmp_path / "a" / "c"))
    assert store.get("a/b").data == b"1"
    assert [entry.key for entry in store.list("")] == ["a/b"]


def test_a_name_that_a_scan_missed_because_it_was_replaced_meanwhile_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path)
    store.put("d/plain", b"1")
    real = os.scandir
    scans = []

    class Missing:
        """btrfs: a name that is renamed over while the directory is read is not in it."""

        def __init__(self, path: str) -> None:
            scans.append(path)
            self.entries = real(path)

        def __enter__(self) -> list[os.DirEntry[str]]:
            if len(scans) > 1:
                return list(self.entries)
            store.put("d/plain", b"2")
            status = os.stat(tmp_path / "d")
            os.utime(
                tmp_path / "d", ns=(status.st_atime_ns, status.st_mtime_ns + 1)
            )  # clocks of file systems are coarse
            return []

        def __exit__(self, *error: object) -> None:
            self.entries.close()

    monkeypatch.setattr(os, "scandir", Missing)
    assert list(scan(str(tmp_path / "d")).newest) == ["plain"]
    assert len(scans) == 2


def test_a_list_finds_an_object_by_its_first_generation_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All other names may be missed by a scan, because they are new or were renamed over."""
    store = DirectoryStore(tmp_path)
    generation = 0
    for number in range(9):
        generation = store.put("k", b"%d" % number, if_generation=generation)
    inode = (tmp_path / "k~1").stat().st_ino
    store.put("k", b"9", if_generation=generation)
    assert (tmp_path / "k~1").stat().st_ino == inode
    assert {path.name for path in tmp_path.glob("k~*") if path.stat().st_size} == {"k~1", "k~9", "k~10"}
    monkeypatch.setattr("outlast.store.directory.walk", lambda root, prefix, after: iter([("k", 1)]))
    assert [(entry.generation, entry.bytes) for entry in store.list("")] == [(10, 1)]
