"""A second user of the same computer can read nothing of anybody's data, whatever the home directory's own mode is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.user import User
from tests.data.material import make

NOBODY = 65534


def readable_by_others(top: Path) -> list[Path]:
    """What somebody else could open, if all directories above were open."""
    found = []
    left = [top]
    while left:
        path = left.pop()
        mode = path.lstat().st_mode
        if path.is_symlink():
            continue
        if mode & 0o044:
            found.append(path)
        if path.is_dir() and mode & 0o011:
            left += path.iterdir()
    return found


@pytest.mark.usefixtures("open_umask")
def test_nothing_of_a_dataset_a_commit_or_a_configuration_is_for_others(user: User) -> None:
    user.root.chmod(0o755)
    make(user.work, {"data/x": b"1", "train.py": b"", "c.json": b'{"a": 1}'})
    for line in (
        ["push", "data", "mine"],
        ["run", "--dataset", "mine", "-c", "c.json", "train.py"],
        ["run", "--dataset", "data", "--link", "data", "train.py"],
    ):
        assert user.outlast(*line).code == 0
    assert readable_by_others(user.outlast_dir) == []
    assert readable_by_others(user.outlast_dir / "cache" / "datasets") == []
    assert readable_by_others(user.outlast_dir / "cache" / "pushes") == []
    assert readable_by_others(user.home) == []
    if os.geteuid() == 0:
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            try:
                os.listdir(user.outlast_dir)
            except PermissionError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.usefixtures("open_umask")
def test_in_a_directory_that_was_open_before_nothing_but_names_is_for_others(user: User) -> None:
    user.outlast_dir.mkdir()
    user.outlast_dir.chmod(0o755)
    (user.outlast_dir / "cache").mkdir()
    (user.outlast_dir / "cache").chmod(0o755)  # as earlier versions made it
    make(user.work, {"data/x": b"1", "train.py": b"", "outlast.toml": b"cpus = 1\n"})
    for line in (
        ["config", "--trust"],
        ["run", "--home", str(user.root / "second"), "--dataset", "data", "train.py"],
        ["jobs"],
    ):
        assert user.outlast(*line).code == 0
    assert readable_by_others(user.outlast_dir) == [user.outlast_dir]
