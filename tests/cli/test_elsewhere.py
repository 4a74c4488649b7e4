"""Whole jobs, kills and drills on a system that is not Linux (`stranger`)."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.cli.stranger import estranged
from tests.cli.user import SECONDS_MAX, User

TRAIN = """
import os, time
import outlast
assert not hasattr(os, "pidfd_open"), "this is Linux"
state = outlast.State(total=0)
loop = outlast.steps(40, state, save_steps=5)
for step in loop:
    state.total += step
    outlast.log(total=state.total)
    while loop.attempt < 5 and step == 7 * loop.attempt and not outlast.should_stop():
        time.sleep(0.02)
print("the sum is", state.total)
"""

DRILLED = """
import multiprocessing, os, random
import outlast
assert not hasattr(os, "pidfd_open"), "this is Linux"

def drawn(seed):
    return random.Random(seed).random()

class Loader:  # shuffled, with worker processes
    def __iter__(self):
        order = random.sample(range(20), 20)
        yield from workers.imap(drawn, order)

if __name__ == "__main__":
    assert multiprocessing.get_start_method() == "spawn"
    random.seed(1)
    state = outlast.State(total=0.0)
    with multiprocessing.Pool(2) as workers:
        for step, batch in outlast.batches(Loader(), epochs=3, state=state, save_steps=5):
            state.total = state.total * 0.9 + batch + random.random()
            outlast.log(total=state.total)
"""


@pytest.fixture
def stranger(user: User, monkeypatch: pytest.MonkeyPatch) -> User:
    user.write("train.py", TRAIN)
    return estranged(user, monkeypatch)


def until_held(user: User, attempt: int) -> None:
    """Until it stands at its step, and what it saved on the way is committed."""
    give_up_at = time.monotonic() + SECONDS_MAX
    while time.monotonic() < give_up_at:
        shown = user.outlast("show", "far", "--json").json
        assert shown["state"] != "failed", user.outlast("logs", "far").out
        saved = any(one["attempt"] == attempt for one in shown["checkpoints"])
        if saved and (shown["attempts"], shown["step"]) == (attempt, 7 * attempt):
            return
        time.sleep(0.05)
    raise AssertionError(f"attempt {attempt} never came there: {shown}")


def newest(user: User, name: str) -> Path:
    (path,) = sorted(user.outlast_dir.glob(f"local/machines/*/*/{name}"), key=lambda one: one.stat().st_mtime)[-1:]
    return path


def kill(path: Path) -> int:
    pid = int(json.loads(path.read_bytes())["pid"])
    os.kill(pid, signal.SIGKILL)
    return pid


def until_gone(path: Path) -> None:
    """By itself: nobody types a command, and no supervisor is there to end it."""
    pid = int(json.loads(path.read_bytes())["pid"])
    give_up_at = time.monotonic() + SECONDS_MAX
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < give_up_at, f"the process of {path.name} stays without the one that it works for"
        time.sleep(0.05)


def until_replaced(path: Path, pid: int, user: User) -> None:
    """Until somebody else has written down that it is there; a supervisor comes with the next command."""
    give_up_at = time.monotonic() + SECONDS_MAX
    while int(json.loads(path.read_bytes())["pid"]) == pid:
        assert time.monotonic() < give_up_at, f"nobody came for {path.name}"
        user.outlast("jobs")
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="it is another system already")
def test_a_job_outlasts_all_that_keeps_it_going_and_a_stop_where_there_is_no_linux(stranger: User) -> None:
    started = stranger.outlast("run", "--detach", "--job-id", "far", "train.py")
    assert started.code == 0, started.err
    until_held(stranger, 1)
    kill(newest(stranger, "init.json"))
    until_held(stranger, 2)
    supervisor = stranger.outlast_dir / "local/supervisor.json"
    agent = newest(stranger, "agent.json")
    for path in (supervisor, newest(stranger, "init.json")):
        kill(path)
    until_gone(agent)
    until_held(stranger, 3)
    until_replaced(supervisor, kill(supervisor), stranger)
    agent = newest(stranger, "agent.json")
    until_replaced(agent, kill(agent), stranger)
    kill(newest(stranger, "trainer-3.pid.json"))
    until_held(stranger, 4)
    assert stranger.outlast("stop", "far").code == 0
    done = stranger.outlast("resume", "far")
    assert done.code == 0, done.err
    assert f"the sum is {sum(range(40))}" in done.out
    shown = stranger.outlast("show", "far", "--json").json
    assert [one["cause"] for one in shown["attempt_list"]] == [
        "preempted",
        "preempted",
        "killed",
        "stopped",
        "succeeded",
    ]
    assert all(one["resumed_from_step"] for one in shown["attempt_list"][1:])
    assert not (stranger.root / "tools/refused").exists()
    found = stranger.outlast("doctor", "--json")
    assert found.code == 0 and not [one for one in found.json if one["health"] == "bad"], found.out


@pytest.mark.skipif(sys.platform != "linux", reason="it is another system already")
def test_a_training_is_drilled_where_there_is_no_linux(stranger: User) -> None:
    stranger.write("drilled.py", DRILLED)
    done = stranger.outlast("drill", "drilled.py", "--kills", "3", "--seed", "1", "--json")
    assert (done.code, done.json["survived"], done.json["identical"]) == (0, True, True), done.out + done.err
    assert done.json["kills"] >= 3 and "in mid-save" in done.err and "without notice" in done.err
    assert not (stranger.root / "tools/refused").exists()
