"""Whatever is remembered, what ships is what lies in the working directory now."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from outlast.bundle import crew, reading
from outlast.bundle.memory import Memory, tree_name
from outlast.errors import OutlastError
from outlast.store.memory import MemoryStore
from tests.bundle.working import Working


def content(working: Working, path: str = "a.py") -> bytes:
    return working.shipped()[path][0]


def test_a_change_of_the_same_size_in_the_same_moment_is_seen(working: Working) -> None:
    working.write("a.py", "aaaa")
    working.commit()
    for number in range(20):
        text = f"{number:04d}"
        working.write("a.py", text)
        assert content(working) == text.encode()


def test_what_was_written_just_before_it_was_read_is_not_believed_to_stay(
    working: Working,
) -> None:
    """A second change in the same tick of the kernel's clock would leave no mark; so it is read again."""
    working.write("old.py", "1")
    working.settle()
    working.write("new.py", "1")
    working.pack()
    kept = Memory(working.cache).recall(tree_name([working.directory]))
    assert kept is not None
    changed = kept.tree.glance()
    assert changed is not None and [kept.tree.complete().paths[row] for row in changed] == [b"new.py"]


def test_a_change_that_keeps_size_and_time_is_seen(working: Working) -> None:
    path = working.write("a.py", "aaaa")
    working.commit()
    working.settle()
    assert content(working) == b"aaaa"
    times = path.stat()
    path.write_text("bbbb")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert content(working) == b"bbbb"


def test_a_file_that_was_replaced_by_another_of_the_same_age_is_seen(working: Working) -> None:
    path = working.write("a.py", "aaaa")
    other = working.scratch / "other"
    other.write_text("bbbb")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    working.commit()
    working.settle()
    assert content(working) == b"aaaa"
    other.rename(path)
    assert content(working) == b"bbbb"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_flags_in_gits_index_hide_nothing(working: Working, flag: str) -> None:
    working.write("a.py", "old")
    working.commit()
    working.settle()
    assert content(working) == b"old"
    working.git("update-index", flag, "a.py")
    assert content(working) == b"old"
    working.write("a.py", "new")
    assert content(working) == b"new"
    assert working.pack().digest == working.pack_anew().digest


def test_line_endings_ship_as_they_lie_in_the_working_directory(working: Working) -> None:
    working.git("config", "core.autocrlf", "true")
    working.write("a.py", "one\r\ntwo\n")
    working.commit()
    working.settle()
    assert content(working) == b"one\r\ntwo\n"
    working.write("a.py", "one\ntwo\r\n")
    assert working.git("status", "--porcelain") == ""
    assert content(working) == b"one\ntwo\r\n"


def test_what_a_filter_stores_elsewhere_ships_as_it_lies_in_the_working_directory(working: Working) -> None:
    """As with large file storage: the index holds a pointer, the working directory the content."""
    working.git("config", "filter.pointer.clean", "echo pointer")
    working.git("config", "filter.pointer.smudge", "cat")
    working.write(".gitattributes", "*.bin filter=pointer\n")
    working.write("w.bin", "real weights")
    working.commit()
    assert working.git("show", "HEAD:w.bin") == "pointer"
    working.settle()
    assert content(working, "w.bin") == b"real weights"
    working.write("w.bin", "other weight")
    assert working.git("status", "--porcelain") == ""
    assert content(working, "w.bin") == b"other weight"


def test_edits_go_on_from_a_listing_that_was_shipped_as_changes_and_then_forgotten(working: Working) -> None:
    """As a drill in between forgets it, which has a home of its own, or another computer with the same home."""
    for number in range(6):
        working.write("a.py", f"{number}")
        assert content(working) == f"{number}".encode()
        elsewhere = MemoryStore("elsewhere")
        assert working.unpacked(working.pack(store=elsewhere), elsewhere) == working.shipped()


def test_another_branch_ships_its_own(working: Working) -> None:
    working.write("a.py", "main")
    working.commit()
    working.git("checkout", "-q", "-b", "other")
    working.write("a.py", "side")
    working.write("b.py", "side")
    working.commit()
    assert set(working.shipped()) == {"a.py", "b.py"}
    working.git("checkout", "-q", "main")
    assert {path: data for path, (data, _) in working.shipped().items()} == {"a.py": b"main"}


def test_a_new_rule_in_gitignore_counts_at_once(working: Working) -> None:
    working.write("a.py")
    working.commit()
    working.write("notes.txt")
    assert "notes.txt" in working.shipped()
    working.write(".git/info/exclude", "notes.txt\n")
    assert "notes.txt" not in working.shipped()


class Growing:
    """A file to which another process appends whenever it has just been read."""

    def __init__(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, changes: list[bytes], *, rewrite: bool = False
    ) -> None:
        really_read = os.read

        def read(handle: int, size: int) -> bytes:
            data = really_read(handle, size)
            if changes and os.path.samestat(os.fstat(handle), path.stat()):
                new = changes.pop(0)
                path.write_bytes(new if rewrite else path.read_bytes() + new)
            return data

        monkeypatch.setattr(os, "read", read)


def test_a_file_that_grows_is_taken_as_it_was_at_first(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    path = working.write("run.log", "one\n")
    Growing(path, monkeypatch, [b"two\n"] * 50)
    assert content(working, "run.log") == b"one\n"


def test_a_large_file_that_grows_is_taken_as_it_was_at_first(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SMALL_BYTES_MAX", 1)
    path = working.write("run.log", "one\n")
    Growing(path, monkeypatch, [b"two\n"] * 50)
    assert content(working, "run.log") == b"one\n"


def test_a_file_that_changes_once_while_it_is_read_is_read_again(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = working.write("a.py", "old")
    Growing(path, monkeypatch, [b"new content"], rewrite=True)
    assert content(working) == b"new content"


def test_a_file_that_keeps_changing_is_named(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    path = working.write("a.py", "old")
    Growing(path, monkeypatch, [b"%d" % number for number in range(50)], rewrite=True)
    with pytest.raises(OutlastError, match=r"a\.py.*changed") as error:
        working.pack()
    assert ".outlastignore" in error.value.hint


def test_a_large_file_that_changes_between_hash_and_upload_is_named(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SMALL_BYTES_MAX", 1)
    path = working.write("weights.bin", "old weights")
    really = reading.chunks_of

    def late(*args: Any) -> object:
        path.write_bytes(b"new weights")
        return really(*args)

    monkeypatch.setattr("outlast.bundle.ship.chunks_of", late)
    with pytest.raises(OutlastError, match=r"weights\.bin.*changed"):
        working.pack()
    assert list(working.store.list("")) == []


def test_several_hands_read_all_files_in_order_and_leave(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "ALONE_MAX", 10)
    monkeypatch.setattr(crew, "BATCH_FILES_MAX", 3)
    for number in range(500):
        working.write(f"f{number:03d}", f"{number}" * number)
    before = threading.active_count()
    assert {path: data for path, (data, _) in working.shipped().items()} == {
        f"f{number:03d}": (f"{number}" * number).encode() for number in range(500)
    }
    assert threading.active_count() == before


def test_an_error_of_one_hand_is_the_error_and_nobody_keeps_reading(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "ALONE_MAX", 10)
    monkeypatch.setattr(crew, "BATCH_FILES_MAX", 2)
    for number in range(400):
        working.write(f"f{number:03d}", f"{number}")
    really = reading.read_content

    def fail(path: bytes, *more: Any) -> object:
        if path.endswith(b"f200"):
            raise OutlastError("`f200` cannot be read")
        return really(path, *more)

    monkeypatch.setattr(crew, "read_content", fail)
    before = threading.active_count()
    with pytest.raises(OutlastError, match="f200"):
        working.pack()
    assert threading.active_count() == before


NAMES = st.sampled_from(["a.py", "b.py", "d/c.py", "d/e/f.py", "data/x", "run.sh"])
CONTENTS = st.binary(max_size=3)


class Editing(RuleBasedStateMachine):
    """A user who edits, removes, links, stages, commits, ignores; after each pack, memory must have made no difference."""

    working: Working

    @initialize()
    def begin(self) -> None:
        scratch = Path(self.base) / str(next(self.count))
        scratch.mkdir()
        self.working = Working(scratch)
        self.working.write("train.py", "x")

    @rule(name=NAMES, data=CONTENTS, executable=st.booleans())
    def write(self, name: str, data: bytes, executable: bool) -> None:
        path = self.working.directory / name
        if path.is_symlink() or path.is_dir():
            return
        if not any(parent.is_symlink() for parent in path.parents):
            self.working.write(name, data, 0o755 if executable else 0o644)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        path = self.working.directory / name
        if path.is_symlink() or path.is_file():
            path.unlink()

    @rule(name=st.sampled_from(["link", "b.py"]), to=st.sampled_from(["a.py", "d", "nothing", "/etc/passwd", "."]))
    def link(self, name: str, to: str) -> None:
        path = self.working.directory / name
        if path.is_symlink() or path.is_file():
            path.unlink()
        path.symlink_to(to)

    @rule()
    def stage(self) -> None:
        self.working.git("add", "-A")

    @rule()
    def commit(self) -> None:
        self.working.commit()

    @rule(
        text=st.sampled_from(["", "data\n", "*.sh\n", "d/\n"]), name=st.sampled_from([".gitignore", ".outlastignore"])
    )
    def ignore(self, text: str, name: str) -> None:
        self.working.write(name, text)

    @rule()
    def lose_cache(self) -> None:
        for path in self.working.cache.rglob("*.tree"):
            path.unlink()

    @rule()
    def pack_elsewhere(self) -> None:
        self.working.pack(store=MemoryStore("elsewhere"))

    @rule()
    def lose_a_pack(self) -> None:
        for entry in list(self.working.store.list("packs/"))[:1]:
            self.working.store.delete(entry.key)

    @rule()
    def pack(self) -> None:
        packed = self.working.pack()
        anew = self.working.pack_anew()
        assert (packed.digest, packed.files, packed.bytes) == (anew.digest, anew.files, anew.bytes)
        assert sorted(map(repr, packed.left_out)) == sorted(map(repr, anew.left_out))
        assert (packed.commit, packed.dirty) == (anew.commit, anew.dirty)
        assert len(self.working.unpacked(packed)) == packed.files

    base = ""
    count = iter(range(10**6))


def test_memory_never_makes_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Editing, "base", str(tmp_path))
    run_state_machine_as_test(
        Editing,
        settings=settings(
            max_examples=25, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
