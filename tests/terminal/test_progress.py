"""Bars: on a terminal, after a second, gone at the end; nothing of them anywhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast.cli.progress import Bar, bar, line_of
from outlast.cli.table import columns as columns_of
from tests.cli.user import User, stop_everything

MANY = "import outlast\n(outlast.output_dir() / 'big.bin').write_bytes(bytes(300_000_000))\n"


class Hands:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    user = User(tmp_path)
    user.work.mkdir()
    yield user
    stop_everything(user)


def test_nothing_is_drawn_in_the_first_second_then_ten_times_a_second_and_it_is_wiped_away() -> None:
    clock, written = Hands(), [""]
    one = Bar(clock, written.append, 80, blocks=True)
    for number in range(2000):
        one("uploading", number * 1000, 2_000_000)
        clock.at += 0.001
    drawn = [text for text in written if "uploading" in text]
    assert 8 <= len(drawn) <= 11
    assert all(columns_of(re.sub("\x1b\\[[^A-Za-z]*[A-Za-z]|\r", "", text)) < 80 for text in drawn)
    assert "50%" in drawn[0] or "51%" in drawn[0]
    one.clear()
    assert written[-1] == "\r\x1b[K"


def test_what_takes_long_without_a_word_shows_the_time_that_it_takes() -> None:
    clock, written = Hands(), [""]
    one = Bar(clock, written.append, 80, blocks=True)
    one("resolving packages", 0, 0, "packages")
    assert written == [""]
    clock.at = 3.0
    one.again()
    assert "resolving packages  3.0 s" in written[-1]


def test_what_is_said_meanwhile_stands_above_the_bar() -> None:
    clock, written = Hands(), [""]
    one = Bar(clock, written.append, 80, blocks=True)
    clock.at = 3.0
    one("training", 1, 2, "steps")
    one.above(lambda: written.append("Kill 1\n"))
    clock.at = 4.0
    one.again()
    assert "training" in written[1] and written[2:4] == ["\r\x1b[K", "Kill 1\n"] and "training" in written[4]


def test_what_is_quick_leaves_no_trace() -> None:
    written: list[str] = []
    one = Bar(Hands(), written.append, 80, blocks=True)
    one("uploading", 1, 2)
    one.clear()
    assert written == []


def test_a_line_says_how_much_how_fast_and_how_long() -> None:
    line = line_of("uploading", 1_200_000_000, 3_900_000_000, "bytes", 84e6, blocks=True)
    assert line.startswith("uploading  ███████") and line.endswith("30%  1.2 GB of 3.9 GB  84.0 MB/s  32 s left")
    assert line_of("looking at jobs", 1200, 0, "jobs", 0.0, blocks=False) == "looking at jobs  1,200 jobs"
    assert line_of("deleting jobs", 5, 10, "jobs", 1.0, blocks=False).endswith("] " + " 50%  5 of 10 jobs  5.0 s left")


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("blocks", [True, False])
def test_a_bar_is_always_as_wide(ratio: float, blocks: bool) -> None:
    assert len(bar(ratio, blocks=blocks)) == (24 if blocks else 26)


def test_a_copy_that_takes_long_has_a_bar_on_a_terminal_and_none_in_a_pipe(user: User) -> None:
    user.write("big.py", MANY)
    assert user.outlast("run", "--job-id", "big", "big.py").code == 0
    seen = user.on_terminal("pull", "big", "--to", "here")
    assert seen.code == 0
    if "copying" in seen.out:  # a machine that copies this in a second has nothing to show
        assert seen.out.rindex("\x1b[K") > seen.out.rindex("copying")
    piped = user.outlast("pull", "big", "--to", "there")
    assert "\x1b" not in piped.out + piped.err and "copying" not in piped.err
    dumb = user.on_terminal("pull", "big", "--to", "elsewhere", TERM="dumb")
    assert "copying" not in dumb.out
