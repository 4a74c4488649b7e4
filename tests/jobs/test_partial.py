"""Files on their way to their place: whose they are, and what a writer leaves that was killed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlast.jobs import partial


def test_each_of_two_writers_has_a_file_of_its_own(tmp_path: Path) -> None:
    one, first = partial.begin(tmp_path / "model")
    two, second = partial.begin(tmp_path / "model")
    with first, second:
        assert one != two and one.exists() and two.exists()
        os.replace(one, tmp_path / "model")
        three, third = partial.begin(tmp_path / "model")
        with third:
            assert three not in (two, tmp_path / "model") and third.tell() == 0


@pytest.mark.parametrize("left", ["file", "link", "nothing"])
def test_what_a_killed_writer_left_is_removed_and_no_link_is_followed(tmp_path: Path, left: str) -> None:
    path, victim = partial.partial(tmp_path / "model"), tmp_path / "victim"
    victim.write_text("old")
    if left == "link":
        path.symlink_to(victim)
    elif left == "file":
        os.link(victim, path)
    mine, stream = partial.begin(tmp_path / "model")
    with stream:
        stream.write(b"new")
    assert mine == path and path.read_text() == "new" and not path.is_symlink() and victim.read_text() == "old"


def test_a_directory_of_that_name_is_passed_over(tmp_path: Path) -> None:
    partial.partial(tmp_path / "model").mkdir()
    path, stream = partial.begin(tmp_path / "model")
    stream.close()
    assert path.is_file() and partial.partial(tmp_path / "model").is_dir()


def test_a_file_that_its_writer_renamed_before_it_let_go_is_not_the_next_ones(tmp_path: Path) -> None:
    path, stream = partial.begin(tmp_path / "model")
    late = os.open(path, os.O_RDONLY)
    os.replace(path, tmp_path / "model")
    stream.close()
    assert not partial._is_mine(path, late)
    os.close(late)
