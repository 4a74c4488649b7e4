"""A trainer that somebody kills goes on from its checkpoint; one that kills itself for ever is given up."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.cli.user import User
from tests.waiting import until

COUNTS = """
import os, pathlib, sys, time
import outlast

place = pathlib.Path(sys.argv[1])
(place / "pid").write_text(str(os.getpid()))
state = outlast.State(total=0)
for step in outlast.steps(20, state, save_steps=5):
    state.total += step
    while step == 12 and not (place / "go").exists():
        (place / "here").touch()
        time.sleep(0.01)
print("total", state.total, flush=True)
"""


def place_of(user: User) -> Path:
    place = user.root / "place"
    place.mkdir()
    return place


def test_a_trainer_killed_by_somebody_goes_on_from_its_checkpoint(user: User) -> None:
    place = place_of(user)
    user.write("train.py", COUNTS)
    user.outlast("run", "--detach", "--job-id", "hit", "train.py", "--", str(place))
    until((place / "here").exists, "step 12")
    until(lambda: bool(user.outlast("show", "--json").json["checkpoints"]), "a commit")
    os.kill(int((place / "pid").read_text()), signal.SIGKILL)
    (place / "go").touch()
    until(lambda: user.outlast("show", "--json").json["state"] in ("succeeded", "failed"), "the end")
    shown = user.outlast("show", "--json").json
    assert shown["state"] == "succeeded" and shown["preemptions"] == 1
    first, second = shown["attempt_list"]
    assert (first["cause"], first["exit_code"]) == ("killed", 137) and second["resumed_from_step"] in (5, 10)
    assert first["machine"] == second["machine"]
    logs = user.outlast("logs", "hit")
    assert "total 190" in logs.out and "killed" in logs.out + logs.err
    assert "killed" in user.outlast("show", "hit").out


def test_a_shell_script_says_of_its_child_that_it_was_killed(user: User) -> None:
    place = place_of(user)
    user.write("train.py", COUNTS)
    user.write("train.sh", f'python3 train.py "{place}"')
    user.outlast("run", "--detach", "--job-id", "hit", "train.sh", PATH=os.environ["PATH"])
    until((place / "here").exists, "step 12")
    os.kill(int((place / "pid").read_text()), signal.SIGKILL)
    (place / "go").touch()
    until(lambda: user.outlast("show", "--json").json["state"] in ("succeeded", "failed"), "the end")
    shown = user.outlast("show", "--json").json
    assert (shown["state"], shown["attempt_list"][0]["cause"]) == ("succeeded", "killed")


def test_a_script_that_kills_itself_for_ever_is_given_up_for_making_no_progress(user: User) -> None:
    user.write("train.py", "import os\nprint('here', flush=True)\nos.kill(os.getpid(), 9)")
    said = user.outlast("run", "train.py")
    assert said.code == 1 and "10 attempts in a row made no progress" in said.err and "killed" in said.err, said.err
    assert len(user.outlast("show", "--json").json["attempt_list"]) == 10
