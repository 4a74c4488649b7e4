"""Directories that somebody removes while a job runs: nothing goes on without them, and nothing spins."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.bad_input.surroundings import alive, processes
from tests.cli.user import User
from tests.waiting import until

DAEMON = """
import os, pathlib, sys, time
place = pathlib.Path(sys.argv[1])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        (place / "daemon").write_text(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
while not (place / "daemon").exists():
    time.sleep(0.01)
(place / "trainer").write_text(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.parametrize(
    "gone", ["outlast", pytest.param("outlast/local", marks=pytest.mark.soak), "outlast/local/machines"]
)
def test_whoever_loses_his_directory_ends_with_all_that_he_started(user: User, tmp_path: Path, gone: str) -> None:
    place = tmp_path / "place"
    place.mkdir()
    user.write("train.py", DAEMON)
    assert user.outlast("run", "--detach", "train.py", "--", str(place)).code == 0
    written = [place / name for name in ("trainer", "daemon")]
    until(lambda: all(path.exists() and path.read_text() for path in written), "the trainer, and what it started")
    pids = [int(path.read_text()) for path in written]
    while (tmp_path / gone).exists():
        shutil.rmtree(tmp_path / gone, ignore_errors=True)
    if gone == "outlast/local/machines":
        user.outlast("stop", "train")
    try:
        until(lambda: not any(map(alive, pids)), "the end of trainer and daemon")
        until(lambda: not processes(user), "the end of init, agent and supervisor")
    finally:
        for pid in filter(alive, pids):
            os.kill(pid, 9)


def test_a_trainer_that_removes_its_machine_again_and_again_fails_for_that_on_one_line(user: User) -> None:
    user.write("train.sh", 'rm -rf "$(dirname "$OUTLAST_RUN_DIR")"\nsleep 600\n')
    said = user.outlast("run", "train.sh")
    assert said.code == 1 and "directory was removed, 3 times in a row) after" in said.err, said.err
    assert "\\n" not in said.err


COUNTS = """
import time
import outlast
state = outlast.State(x=0)
for step in outlast.steps(60, state, save_steps=5):
    state.x += step
    time.sleep(0.05)
"""


@pytest.mark.parametrize("first", ["show", "resume"])
def test_a_job_whose_home_was_away_is_reported_and_goes_on(user: User, tmp_path: Path, first: str) -> None:
    """A disk that is taken out: an empty directory is where it was."""
    home = tmp_path / "disk"
    user.write("train.py", COUNTS)
    assert user.outlast("run", "--detach", "--home", str(home), "--job-id", "j", "train.py").code == 0
    until(lambda: user.outlast("show", "j", "--json").json["checkpoints"], "a checkpoint")
    home.rename(tmp_path / "drawer")
    home.mkdir()
    until(lambda: os.listdir(user.outlast_dir / "local" / "ended"), "its machine has left")
    shutil.rmtree(home)
    (tmp_path / "drawer").rename(home)
    if first == "show":
        shown = user.outlast("show", "j", "--json").json
        assert shown["state"] == "failed" and "did not find it in its home" in shown["why"]
    resumed = user.outlast("resume", "j")
    assert resumed.code == 0, resumed.err
    assert "resumed the loop `train` at step" in resumed.out
