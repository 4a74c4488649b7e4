"""A command that is forked, as most tests do it, cannot be told from a program that is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.cli.user import OUTLAST, SECONDS_MAX, User

TELLS = """
import os, signal, sys
print(sorted(os.listdir("/proc/self/fd")), os.getcwd(), sys.argv, os.umask(0), sys.flags)
print(list(os.environ), [os.environ[name] for name in ("HOME", "OUTLAST_DIR", "OUTLAST_TEST_WORD", "PATH", "TZ")])
print({number: str(signal.getsignal(number)) for number in signal.valid_signals()}, signal.pthread_sigmask(0, []))
sys.exit(7)
"""

LINES: dict[str, list[str | bytes]] = {
    "good": ["config"],
    "wrong": ["run", "--cpus", "two", "t.py"],
    "not found": ["show", "no-such-job"],
    "no utf-8": ["show", b"\xff"],
    "page": ["run", "--help"],
    "nothing": [],
    "program": ["emulator", "--", sys.executable, "-c", TELLS, "a b", "\n"],
}


@pytest.mark.parametrize("line", LINES)
def test_a_forked_command_is_like_one_that_is_started(user: User, line: str) -> None:
    """The second one finds imported what the first one had to import."""
    env = user.environ(OUTLAST_TEST_WORD="naïve \udcff", TZ="Asia/Tokyo")
    command = [*OUTLAST, *LINES[line]]
    started = subprocess.run(
        command, cwd=user.work, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    expected = (started.returncode, started.stdout, started.stderr)
    assert started.stdout or started.stderr
    for _ in range(2):
        assert forked.run(LINES[line], user.work, env, SECONDS_MAX) == expected


def test_a_forked_command_that_does_not_end_in_time_is_ended(user: User) -> None:
    """Its directory is its own: who works in it is one of those that were forked."""
    with pytest.raises(subprocess.TimeoutExpired):
        forked.run(["emulator"], user.work, user.environ(), 0.0)
    assert not [link for link in Path("/proc").glob("[0-9]*/cwd") if leads_to(link, user.work)]


def leads_to(link: Path, directory: Path) -> bool:
    try:
        return link.readlink() == directory
    except OSError:  # it has just ended
        return False
