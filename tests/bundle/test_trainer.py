"""The trainer's root: small, alone, compiled, made once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from outlast.bundle import trainer
from outlast.bundle.trainer import trainer_root


def test_it_holds_what_a_script_needs_and_nothing_else(tmp_path: Path) -> None:
    root = trainer_root(tmp_path / "cache")
    assert os.listdir(root) == ["outlast"]
    assert {name for name in os.listdir(root / "outlast") if name != "__pycache__"} == {
        "__init__.py",
        "errors.py",
        "clock.py",
        "training",
    }


def test_a_script_can_import_it_where_nothing_else_is_installed(tmp_path: Path) -> None:
    root = trainer_root(tmp_path / "cache")
    code = "import sys, outlast; outlast.steps; print(outlast.__file__); print('click' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(root)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == [str(root / "outlast" / "__init__.py"), "False False"]


def test_it_is_compiled_with_the_names_of_where_it_lies(tmp_path: Path) -> None:
    root = trainer_root(tmp_path / "cache")
    compiled = {path.name.split(".")[0] for path in root.rglob("*.pyc")}
    assert compiled == {path.stem for path in root.rglob("*.py")}
    (pyc,) = (root / "outlast" / "__pycache__").glob("errors.*")
    assert str(root / "outlast" / "errors.py").encode() in pyc.read_bytes()


def test_it_is_made_once(tmp_path: Path) -> None:
    first = trainer_root(tmp_path / "cache")
    made = (first / "outlast" / "errors.py").stat()
    second = trainer_root(tmp_path / "cache")
    assert second == first
    assert (second / "outlast" / "errors.py").stat().st_ino == made.st_ino
    assert os.listdir(tmp_path / "cache") == [first.name]


def test_another_content_has_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = trainer_root(tmp_path / "cache")
    really = trainer._files
    monkeypatch.setattr(trainer, "_files", lambda package: {**really(package), "extra.py": b"x = 1\n"})
    second = trainer_root(tmp_path / "cache")
    assert second != first and (second / "outlast" / "extra.py").exists() and first.exists()


@pytest.mark.parametrize("damage", ["file gone", "file cut", "all gone", "a file in its place"])
def test_a_damaged_one_is_replaced(tmp_path: Path, damage: str) -> None:
    root = trainer_root(tmp_path / "cache")
    errors = root / "outlast" / "errors.py"
    whole = errors.read_bytes()
    if damage == "file gone":
        errors.unlink()
    elif damage == "file cut":
        errors.write_bytes(b"")
    else:
        root.rename(tmp_path / "aside")
        if damage == "a file in its place":
            root.write_text("x")
    assert trainer_root(tmp_path / "cache") == root
    assert errors.read_bytes() == whole
    assert os.listdir(tmp_path / "cache") == [root.name]


def test_one_that_appears_while_ours_is_made_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = trainer._compile
    raced: list[int] = []

    def race(path: Path, final: Path) -> None:
        if not raced:
            raced.append(0)
            raced.append((trainer_root(tmp_path / "cache") / "outlast" / "errors.py").stat().st_ino)
        really(path, final)

    monkeypatch.setattr(trainer, "_compile", race)
    root = trainer_root(tmp_path / "cache")
    assert (root / "outlast" / "errors.py").stat().st_ino == raced[1]
    assert os.listdir(tmp_path / "cache") == [root.name]


def test_many_processes_at_once_make_one(tmp_path: Path) -> None:
    code = f"from outlast.bundle.trainer import *; print(trainer_root(Path({str(tmp_path / 'cache')!r})))"
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    answers = {process.communicate()[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0] * 4
    (root,) = answers
    assert os.listdir(tmp_path / "cache") == [Path(root).name]


def test_a_cache_that_cannot_be_written_is_the_disks_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(OSError):
        trainer_root(tmp_path / "cache")
