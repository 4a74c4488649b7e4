"""Repositories within repositories, and those that are only partly there."""

from __future__ import annotations

from pathlib import Path

from tests.bundle.working import Working


def test_a_subdirectory_of_a_repository_is_a_bundle_of_its_own(working: Working) -> None:
    working.write(".gitignore", "*.log\n")
    working.write("top.py")
    working.write("sub/a.py")
    working.write("sub/a.log")
    working.commit()
    working.directory /= "sub"
    assert set(working.shipped()) == {"a.py"}


def test_a_directory_that_its_repository_ignores_ships_as_if_there_were_none(working: Working) -> None:
    working.write(".gitignore", "/scratch/\n")
    working.write("scratch/train.py")
    working.write("scratch/.gitignore", "*.log\n")
    working.write("scratch/a.log")
    working.commit()
    working.directory /= "scratch"
    assert set(working.shipped()) == {"train.py", ".gitignore"}


def test_submodules_and_repositories_within_ship_with_their_own_rules(working: Working, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    library = Working(tmp_path / "library")
    library.write("lib.py")
    library.write(".gitignore", "*.tmp\n")
    library.commit()
    working.write("train.py")
    working.git("submodule", "--quiet", "add", str(library.directory), "vendor/lib")
    working.commit()
    working.git("clone", "-q", str(library.directory), "cloned")
    working.write("vendor/lib/new.py")
    working.write("vendor/lib/x.tmp")
    working.write("cloned/x.tmp")
    expected = {"train.py", ".gitmodules", "vendor/lib/lib.py", "vendor/lib/.gitignore", "vendor/lib/new.py"}
    assert set(working.shipped()) == expected | {"cloned/lib.py", "cloned/.gitignore"}
    working.write("vendor/lib/lib.py", "changed")
    assert working.shipped()["vendor/lib/lib.py"][0] == b"changed"


def test_a_submodule_that_is_not_checked_out_is_told(working: Working, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    library = Working(tmp_path / "library")
    library.write("lib.py")
    library.commit()
    working.write("train.py")
    working.git("submodule", "--quiet", "add", str(library.directory), "lib")
    working.git("submodule", "--quiet", "deinit", "-f", "lib")
    assert set(working.shipped()) == {"train.py", ".gitmodules"}
    assert working.left_out() == {"lib": "a submodule that is not checked out"}


def test_a_worktree_ships_like_a_clone(working: Working, tmp_path: Path) -> None:
    working.write("a.py")
    commit = working.commit()
    working.git("worktree", "add", "-q", str(tmp_path / "tree"), "HEAD")
    working.directory = tmp_path / "tree"
    packed = working.pack()
    assert set(working.unpacked(packed)) == {"a.py"}
    assert (packed.commit, packed.dirty) == (commit, False)


def test_files_out_of_a_sparse_checkout_are_not_missed(working: Working) -> None:
    working.write("in/a.py")
    working.write("out/b.py")
    working.commit()
    working.git("sparse-checkout", "set", "--cone", "in")
    assert set(working.shipped()) == {"in/a.py"}
