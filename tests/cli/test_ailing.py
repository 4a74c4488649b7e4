"""A job whose agent does not stay says so wherever somebody looks: nobody but the agent could say it in the home."""

from __future__ import annotations

import json
import os
import signal
import time

from outlast.host.process import Process
from tests.cli.user import SECONDS_MAX, User

TRAIN = """
import time
print("here", flush=True)
time.sleep(600)
"""
WORDS = "without an agent that stays"


def is_there(pid: int) -> bool:
    process = Process.of(pid)
    return process is not None and process.alive()


def until_training(user: User) -> None:
    """A machine whose agent is killed before it is up is replaced, and nobody is told."""
    give_up_at = time.monotonic() + SECONDS_MAX
    while not any(user.outlast_dir.glob("local/machines/*/0-1/trainer-1.pid.json")):
        assert time.monotonic() < give_up_at, "it never began"
        time.sleep(0.01)


def kill_agents(user: User, count: int) -> None:
    """So many in a row, each as soon as it is there."""
    give_up_at = time.monotonic() + SECONDS_MAX
    killed: set[int] = set()
    while len(killed) < count:
        assert time.monotonic() < give_up_at, f"only {len(killed)} agents came"
        for path in user.outlast_dir.glob("local/machines/*/0-1/agent.json"):
            pid = int(json.loads(path.read_bytes())["pid"])
            if pid not in killed and is_there(pid):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.01)


def until_said(user: User, *line: str) -> str:
    """Until the command says it; an agent that has come meanwhile, and speaks for the job, is killed first."""
    give_up_at = time.monotonic() + SECONDS_MAX
    while time.monotonic() < give_up_at:
        said = user.outlast(*line)
        assert said.code == 0, said.err
        if WORDS in said.out + said.err:
            return said.out + said.err
        kill_agents(user, 1)
    raise AssertionError(f"`outlast {' '.join(line)}` never said it")


def test_a_job_whose_agent_does_not_stay_says_so_and_what_helps(user: User) -> None:
    user.write("train.py", TRAIN)
    assert user.outlast("run", "--detach", "--job-id", "ill", "train.py").code == 0
    until_training(user)
    kill_agents(user, 4)
    shown = until_said(user, "show", "ill")
    assert "`outlast stop ill` and `outlast resume ill`" in shown and "machine.log" in shown
    until_said(user, "jobs")
    until_said(user, "logs", "ill")
    told = user.outlast("show", "ill", "--json").json
    assert told["state"] == "running" and WORDS in told["why"]
    assert user.outlast("stop", "ill").code == 0
    assert user.outlast("show", "ill", "--json").json["why"] is None
