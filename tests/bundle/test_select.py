"""What is shipped: what git tracks and what it does not ignore, as it lies in the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.errors import NotFound, UsageError
from outlast.store.directory import DirectoryStore
from tests.bundle.working import Working


def test_tracked_and_untracked_files_ship_and_ignored_ones_do_not(working: Working) -> None:
    working.write(".gitignore", "*.log\n/data/\n")
    working.write("train.py", "print(1)\n")
    working.commit()
    working.write("new.py")
    working.write("deep/er/new.py")
    working.write("run.log")
    working.write("data/big.bin")
    assert set(working.shipped()) == {".gitignore", "train.py", "new.py", "deep/er/new.py"}


def test_what_ships_is_the_working_directory_not_the_commit(working: Working) -> None:
    working.write("a.py", "old")
    working.write("b.py", "old")
    working.write("c.py", "old")
    working.commit()
    working.write("a.py", "staged")
    working.git("add", "a.py")
    working.write("b.py", "not staged")
    (working.directory / "c.py").unlink()
    assert {path: data for path, (data, _) in working.shipped().items()} == {"a.py": b"staged", "b.py": b"not staged"}


def test_a_file_that_comes_back_ships_again(working: Working) -> None:
    for name in ("a.py", "b.py"):
        working.write(name)
    working.commit()
    (working.directory / "b.py").unlink()
    assert set(working.shipped()) == {"a.py"}
    working.write("b.py", "again")
    assert working.shipped()["b.py"][0] == b"again"


def test_outlastignore_leaves_out_what_git_ships_in_the_same_syntax(working: Working) -> None:
    for name in ("train.py", "notes/a.txt", "notes/keep.txt", "docs/x.md", "deep/docs/x.md"):
        working.write(name)
    working.commit()
    assert "docs/x.md" in working.shipped()
    working.write(".outlastignore", "notes/*\n!notes/keep.txt\n/docs/\n")
    assert set(working.shipped()) == {".outlastignore", "train.py", "notes/keep.txt", "deep/docs/x.md"}
    working.write(".outlastignore", "")
    assert "docs/x.md" in working.shipped()


def test_outside_of_git_gitignore_files_count_at_every_level(plain: Working) -> None:
    plain.write(".gitignore", "*.log\n/data\n")
    plain.write("sub/.gitignore", "!keep.log\nbuild/\n")
    for name in ("a.py", "a.log", "data/x", "sub/data/x", "sub/keep.log", "sub/other.log", "sub/build/x", "build/x"):
        plain.write(name)
    plain.write(".outlastignore", "build\n")
    expected = {".gitignore", ".outlastignore", "sub/.gitignore", "a.py", "sub/data/x", "sub/keep.log"}
    assert set(plain.shipped()) == expected


def test_without_a_git_program_the_rules_are_the_same(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    working.write(".gitignore", "*.log\n")
    working.write("a.py")
    working.write("a.log")
    monkeypatch.setenv("PATH", "/nowhere")
    packed = working.pack()
    assert set(working.unpacked(packed)) == {".gitignore", "a.py"}
    assert packed.commit == ""


@pytest.mark.parametrize("git", [True, False])
def test_environments_caches_and_version_control_never_ship(tmp_path: Path, git: bool) -> None:
    working = Working(tmp_path, git=git)
    never = [
        "env/pyvenv.cfg",
        "env/lib/python3.11/site-packages/x.py",
        "deep/conda/conda-meta/history",
        "deep/conda/lib/x.py",
        "web/node_modules/x/index.js",
        "pkg/__pycache__/a.cpython-311.pyc",
        ".mypy_cache/3.11/x.json",
        ".pytest_cache/x",
        ".ipynb_checkpoints/a.ipynb",
        "a.pyc",
        ".hg/store",
        ".DS_Store",
    ]
    for name in [*never, "train.py", "environment.yml", "pkg/env.py", "cache.py"]:
        working.write(name)
    if git:
        working.git("add", "-A", "-f")
    assert set(working.shipped()) == {"train.py", "environment.yml", "pkg/env.py", "cache.py"}
    assert working.left_out() == {}


def test_an_environment_made_in_the_project_itself_leaves_the_project(plain: Working) -> None:
    for name in ("pyvenv.cfg", "bin/python", "lib/python3.11/site-packages/x.py", "train.py", "library/a.py"):
        plain.write(name)
    assert set(plain.shipped()) == {"train.py", "library/a.py"}


def test_a_machine_to_work_on_needs_no_files(working: Working) -> None:
    assert working.unpacked(working.pack(may_be_empty=True)) == {}


def test_nothing_to_ship_is_an_error_that_says_so(working: Working) -> None:
    with pytest.raises(UsageError, match="nothing to ship"):
        working.pack()
    working.write("key", "-----BEGIN PRIVATE KEY-----\n")
    with pytest.raises(UsageError, match="nothing to ship"):
        working.pack()
    assert list(working.store.list("")) == []
    working.directory = working.directory / "absent"
    with pytest.raises(NotFound, match="absent"):
        working.pack()


def test_a_home_and_a_cache_inside_the_project_are_no_part_of_it(plain: Working) -> None:
    plain.write("train.py")
    plain.store = DirectoryStore(plain.directory / "home")
    plain.cache = plain.directory / "state" / "cache"
    first = plain.pack()
    assert set(plain.unpacked(first)) == {"train.py"}
    assert plain.pack().digest == first.digest


def test_a_home_inside_an_extra_directory_is_no_part_of_it(working: Working, tmp_path: Path) -> None:
    working.write(".gitignore", "/data/\n")
    working.write("data/a.csv")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "b.csv").touch()
    for extra in (working.directory / "data", tmp_path / "beside"):
        working.store = DirectoryStore(extra / "home")
        first = working.pack(extra=(extra,))
        assert working.pack(extra=(extra,)).digest == first.digest
        assert not [path for path in working.unpacked(first) if "home" in path]


def test_extra_directories_ship_although_ignored_and_from_outside_under_their_own_name(
    working: Working, tmp_path: Path
) -> None:
    working.write(".gitignore", "/data/\n")
    working.write("train.py")
    working.write("data/a.csv")
    working.write("data/.env")
    working.write("data/sub/b.csv")
    working.commit()
    other = tmp_path / "shared"
    (other / "deep").mkdir(parents=True)
    (other / "deep" / "c.py").write_text("c")
    (other / ".gitignore").write_text("*.log\n")
    (other / "c.log").write_text("c")
    (tmp_path / "one.yaml").write_text("1")
    extra = (
        working.directory / "data",
        other,
        tmp_path / "one.yaml",
        working.directory / "train.py",
        working.directory,
    )
    shipped = working.unpacked(working.pack(extra=extra))
    expected = {
        ".gitignore",
        "train.py",
        "data/a.csv",
        "data/sub/b.csv",
        "shared/deep/c.py",
        "shared/.gitignore",
        "one.yaml",
    }
    assert set(shipped) == expected
    (other / "deep" / "c.py").write_text("changed")
    assert working.unpacked(working.pack(extra=extra))["shared/deep/c.py"][0] == b"changed"
    assert "shared/deep/c.py" not in working.shipped()


def test_an_extra_directory_that_is_not_there_or_collides_is_an_error(working: Working, tmp_path: Path) -> None:
    working.write("lib/a.py")
    with pytest.raises(NotFound, match="absent"):
        working.pack(extra=(tmp_path / "absent",))
    (tmp_path / "other" / "lib").mkdir(parents=True)
    (tmp_path / "other" / "lib" / "a.py").write_text("b")
    with pytest.raises(UsageError, match="both"):
        working.pack(extra=(tmp_path / "other" / "lib",))
