"""Files of odd names, kinds and rights ship as they are, or are left out and told."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from outlast.errors import Denied
from tests.bundle.working import Working


def test_pipes_sockets_and_directories_in_a_files_place_are_left_out(working: Working) -> None:
    for name in ("train.py", "pipe", "socket", "directory"):
        working.write(name)
    working.commit()
    for name in ("pipe", "socket", "directory"):
        (working.directory / name).unlink()
    os.mkfifo(working.directory / "pipe")
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(working.directory)
        listener.bind("socket")
        os.chdir(here)
        (working.directory / "directory").mkdir()
        assert set(working.shipped()) == {"train.py"}
        assert working.left_out() == {"pipe": "a pipe", "socket": "a socket"}


def test_executable_bits_are_kept_and_no_others(working: Working) -> None:
    working.write("run.sh", "x", 0o700)
    working.write("a.py", "x", 0o600)
    working.write("odd.py", "x", 0o6777)
    assert {path: mode for path, (_, mode) in working.shipped().items()} == {
        "run.sh": 0o755,
        "a.py": 0o644,
        "odd.py": 0o755,
    }
    (working.directory / "run.sh").chmod(0o644)
    assert working.shipped()["run.sh"][1] == 0o644


ODD_NAMES = [
    "a b.py",
    "new\nline.py",
    "quo'te\".py",
    "日本語.py",
    "-rf.py",
    "$(touch x).py",
    "tab\t.py",
    " lead",
    "trail ",
    "#c",
    "*",
]


@pytest.mark.parametrize("git", [True, False])
def test_odd_names_ship_as_they_are(tmp_path: Path, git: bool) -> None:
    working = Working(tmp_path, git=git)
    for name in ODD_NAMES:
        working.write(f"d/{name}", name)
    assert {path: data.decode() for path, (data, _) in working.shipped().items()} == {
        f"d/{name}": name for name in ODD_NAMES
    }


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no such names")
@pytest.mark.parametrize("git", [True, False])
def test_names_that_are_no_text_ship_as_they_are(tmp_path: Path, git: bool) -> None:
    working = Working(tmp_path, git=git)
    name = os.fsdecode(b"\xff\xfe-\xc3.bin")
    working.write(name, "x")
    assert set(working.shipped()) == {name}


def test_a_name_with_a_backslash_is_left_out_and_told(working: Working) -> None:
    working.write("a\\b.py")
    working.write("a.py")
    assert set(working.shipped()) == {"a.py"}
    assert working.left_out() == {"a\\b.py": "its name holds a backslash"}


def test_an_unreadable_file_is_named(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    working.write("train.py")
    working.write("private.txt")
    really_open = os.open

    def refuse(path: bytes | str, *args: int, **more: int) -> int:
        if os.fsdecode(path).endswith("private.txt"):
            raise PermissionError(13, "Permission denied")
        return really_open(path, *args, **more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Denied, match=r"private\.txt") as error:
        working.pack()
    assert ".outlastignore" in error.value.hint


def test_an_unreadable_directory_is_named(plain: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    plain.write("train.py")
    plain.write("closed/a.py")
    really_scan = os.scandir

    def refuse(path: str | bytes) -> object:
        if os.fsencode(path).endswith(b"closed/"):
            raise PermissionError(13, "Permission denied")
        return really_scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(Denied, match="closed"):
        plain.pack()
    plain.write(".outlastignore", "closed\n")
    assert set(plain.shipped()) == {".outlastignore", "train.py"}
