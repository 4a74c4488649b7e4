"""`outlast jobs --watch`: redrawn on a terminal, a stream in a pipe, and the terminal is as it was afterwards."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.user import Terminal, User, stop_everything


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    user = User(tmp_path)
    user.work.mkdir()
    user.write("train.py", "print('hello')\n")
    yield user
    stop_everything(user)


@pytest.mark.parametrize("keys", [b"q", b"\x03"], ids=["q", "Ctrl-C"])
def test_on_a_terminal_it_is_redrawn_until_somebody_ends_it(user: User, keys: bytes) -> None:
    terminal = Terminal(user, "jobs", "--watch")
    terminal.read_until(b"no job is like that yet")
    assert user.outlast("run", "--job-id", "fresh", "train.py").code == 0
    terminal.read_until(b"fresh")
    terminal.read_until(b"succeeded")
    terminal.press(keys)
    assert terminal.wait() == 0
    assert terminal.seen.startswith(b"\x1b[?1049h\x1b[?25l") and terminal.seen.endswith(b"\x1b[?25h\x1b[?1049l")


def test_in_a_pipe_it_is_a_line_of_json_for_whatever_changes(user: User) -> None:
    assert user.outlast("run", "--job-id", "first", "train.py").code == 0
    watching = user.start("jobs", "--watch", "--json")
    assert watching.stdout is not None
    try:
        assert json.loads(watching.stdout.readline())["job"] == "first"
        assert user.outlast("run", "--job-id", "second", "train.py").code == 0
        states: list[str] = []
        while not states or states[-1] != "succeeded":
            row = json.loads(watching.stdout.readline())
            assert row["job"] == "second", "what has not changed is not told again"
            states.append(row["state"])
        assert user.outlast("delete", "first", "--yes").code == 0
        assert json.loads(watching.stdout.readline()) == {"job": "first", "state": "deleted"}
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 0
    finally:
        watching.kill()
        watching.communicate()


def test_it_ends_when_nobody_reads_any_more(user: User) -> None:
    assert user.outlast("run", "--job-id", "first", "train.py").code == 0
    watching = user.start("jobs", "--watch")
    assert watching.stdout is not None
    try:
        assert watching.stdout.readline() == b"first\tsucceeded\n"
        watching.stdout.close()
        assert user.outlast("run", "--job-id", "second", "train.py").code == 0
        assert watching.wait(60) == 0
    finally:
        watching.kill()
        watching.wait()
        assert watching.stderr is not None
        watching.stderr.close()
