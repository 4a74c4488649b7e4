"""Directories that go while a job runs: nothing goes on without its own, nothing spins, and a home that is away is waited for."""

from __future__ import annotations

import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from outlast.host import files
from outlast.host.machine_dir import MachineDir
from outlast.host.process import Process
from outlast.store.paths import TEMPORARY
from tests.bad_input.surroundings import alive, machines, processes
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


UNTIL_TOLD = """
import pathlib, sys, time
import outlast
place = pathlib.Path(sys.argv[1])
state = outlast.State(x=0)
loop = outlast.steps(1_000_000, state, save_steps=1)
for step in loop:
    state.x += 1
    print("at", step, flush=True)
    (place / "step.new").write_text(str(step))
    (place / "step.new").rename(place / "step")
    if (place / "enough").exists():
        loop.stop()
    time.sleep(0.02)
"""


def agent_of(user: User) -> Process | None:
    machines = (user.outlast_dir / "local" / "machines").glob("*/*")
    return next((Process.read(files.read_json(MachineDir(str(one)).agent)) for one in machines), None)


@pytest.mark.parametrize(("left", "killed"), [("an empty directory", False), ("nothing", True)])
def test_a_job_whose_home_is_unmounted_for_a_while_goes_on_and_commits_when_it_is_back(
    user: User, tmp_path: Path, left: str, killed: bool
) -> None:
    """`killed`: its agent is, meanwhile, and the next one finds no home."""
    home, drawer, place = tmp_path / "disk", tmp_path / "drawer", tmp_path / "place"
    place.mkdir()
    user.write("train.py", UNTIL_TOLD)
    started = user.outlast("run", "--detach", "--home", str(home), "--job-id", "j", "train.py", "--", str(place))
    assert started.code == 0
    until(lambda: user.outlast("show", "j", "--json").json["checkpoints"], "a checkpoint")
    home.rename(drawer)
    if left == "an empty directory":
        home.mkdir()
    gone_at = int((place / "step").read_text())
    if killed:
        agent = agent_of(user)
        assert agent is not None and agent.send(signal.SIGKILL)
        until(lambda: agent_of(user) not in (None, agent), "another agent")
    until(lambda: int((place / "step").read_text()) > gone_at + 200, "its trainer goes on")
    assert not home.exists() or not os.listdir(home), "a home was begun where the file system is not"
    if home.exists():
        home.rmdir()
    drawer.rename(home)
    (place / "enough").touch()
    logged = user.outlast("logs", "-f", "j")
    shown = user.outlast("show", "j", "--json").json
    assert shown["state"] == "succeeded" and shown["attempts"] == 1, shown
    last = int((place / "step").read_text())
    assert shown["checkpoints"][-1]["step"] == last + 1 > gone_at
    assert [int(line.split()[1]) for line in logged.out.splitlines() if line.startswith("at ")] == [*range(last + 1)]


def test_whoever_follows_a_job_whose_home_is_unmounted_is_told_that_it_goes_on(user: User, tmp_path: Path) -> None:
    """And rings for it nowhere else: a home that is begun in the mount point would be one without that job."""
    home, place = tmp_path / "disk", tmp_path / "place"
    place.mkdir()
    user.write("train.py", UNTIL_TOLD)
    with ThreadPoolExecutor(1) as thread:
        words = ("run", "--home", str(home), "--job-id", "j", "train.py", "--", str(place))
        following = thread.submit(user.outlast, *words)
        until((place / "step").exists, "it trains")
        home.rename(tmp_path / "drawer")
        home.mkdir()
        said = following.result()
    assert said.code == 6 and "job `j` goes on" in said.err and "logs -f j" in said.err, said.err
    assert not os.listdir(home)
    home.rmdir()
    (tmp_path / "drawer").rename(home)
    (place / "enough").touch()
    assert user.outlast("logs", "-f", "j").code == 0
    assert user.outlast("show", "j", "--json").json["state"] == "succeeded"


def test_a_home_that_is_not_mounted_is_said_to_be_so_and_is_not_begun_anew(user: User, tmp_path: Path) -> None:
    home = tmp_path / "disk"
    user.write("train.py", "print('hello')")
    assert user.outlast("run", "--home", str(home), "--job-id", "j", "train.py").code == 0
    home.rename(tmp_path / "drawer")
    home.mkdir()
    asked = user.outlast("jobs", "--home", str(home))
    assert asked.code == 6 and "mounted?" in asked.err
    listed = user.outlast("jobs")
    assert listed.code == 0 and "is not there" in listed.err
    assert user.outlast("stop", "--all").err.count("is not there") == 1
    assert "is not there" in user.outlast("show", "j").err
    assert user.outlast("show", f"{home}/jobs/j").code == 6
    assert "is not there" in user.outlast("doctor").out
    assert not os.listdir(home)
    home.rmdir()
    assert f"home `{home}` is not there" in user.outlast("show", "j").err
    assert user.outlast("jobs").err.startswith("no job yet")


@pytest.mark.parametrize("first", ["show", "resume"])
def test_a_job_that_its_machine_did_not_find_in_its_home_is_reported_and_goes_on(
    user: User, tmp_path: Path, first: str
) -> None:
    """Another home was there for a while."""
    home, place = tmp_path / "disk", tmp_path / "place"
    place.mkdir()
    user.write("train.py", UNTIL_TOLD)
    started = user.outlast("run", "--detach", "--home", str(home), "--job-id", "j", "train.py", "--", str(place))
    assert started.code == 0
    until(lambda: user.outlast("show", "j", "--json").json["checkpoints"], "a checkpoint")
    home.rename(tmp_path / "drawer")
    (home / TEMPORARY).mkdir(parents=True)
    until(lambda: os.listdir(user.outlast_dir / "local" / "ended"), "its machine has left")
    shutil.rmtree(home)
    (tmp_path / "drawer").rename(home)
    if first == "show":
        shown = user.outlast("show", "j", "--json").json
        assert shown["state"] == "failed" and "did not find it in its home" in shown["why"]
    (place / "enough").touch()
    resumed = user.outlast("resume", "j")
    assert resumed.code == 0, resumed.err
    assert "resumed the loop `train` at step" in resumed.out


def test_jobs_whose_home_was_removed_for_good_are_listed_and_stopped_where_they_run(user: User, tmp_path: Path) -> None:
    """Also one that waits for its turn; not those whose home is there."""
    home, place = tmp_path / "disk", tmp_path / "place"
    place.mkdir()
    user.write("train.py", UNTIL_TOLD)
    cpus = str(os.cpu_count())
    away = ("run", "--detach", "--home", str(home), "--cpus", cpus, "train.py", "--", str(place))
    for id in ("first", "second"):
        assert user.outlast(*away[:1], "--job-id", id, *away[1:]).code == 0
    assert user.outlast("run", "--detach", "--job-id", "third", "train.py", "--", str(place)).code == 0
    until(lambda: user.outlast("show", "first", "--json").json["checkpoints"], "a checkpoint")
    while home.exists():  # it is being written to
        shutil.rmtree(home, ignore_errors=True)

    listed = user.outlast("jobs", "--running", "--json")
    states = {row["job"]: row["state"] for row in listed.json}
    assert states == {"first": "running", "second": "waiting", "third": "waiting"}
    assert "`outlast stop first` ends it without" in listed.err and "stop third" not in listed.err
    assert user.outlast("jobs", "--json", "--home", str(tmp_path / "other")).json == []

    (directory,) = (user.outlast_dir / "local" / "machines").glob("*/*")
    assert f"`{directory}`" in listed.err
    assert f"home {home}: is not there, and 2 jobs are on this computer" in user.outlast("doctor").out
    said = user.outlast("stop", f"{home}/jobs/second", "first", "--json")
    assert said.code == 0 and said.err.count(f"its home `{home}` is not there") == 2, said.err
    assert [row["state"] for row in said.json] == ["stopped", "stopped"]
    assert directory.parent.name not in os.listdir(user.outlast_dir / "local" / "launches")
    until(lambda: user.outlast("show", "third", "--json").json["state"] == "running", "its slots are free")
    assert [row["job"] for row in user.outlast("jobs", "--json").json] == ["third"]
    assert user.outlast("stop", "first").code == 3


def test_a_job_that_was_stopped_without_its_home_has_stopped_when_it_is_back(user: User, tmp_path: Path) -> None:
    home, place = tmp_path / "disk", tmp_path / "place"
    place.mkdir()
    user.write("train.py", UNTIL_TOLD)
    started = user.outlast("run", "--detach", "--home", str(home), "--job-id", "j", "train.py", "--", str(place))
    assert started.code == 0
    until(lambda: user.outlast("show", "j", "--json").json["checkpoints"], "a checkpoint")
    home.rename(tmp_path / "drawer")
    home.mkdir()
    for words in ("jobs", "--home", str(home)), ("stop", "--all", "--yes", "--home", str(home)):
        asked = user.outlast(*words)
        assert asked.code == 6 and "job `j` is on this computer all the same; `outlast stop j`" in asked.err
    assert user.outlast("stop", "--all", "--yes").code == 0
    assert not machines(user)
    assert not os.listdir(home)
    home.rmdir()
    (tmp_path / "drawer").rename(home)
    assert user.outlast("show", "j", "--json").json["state"] == "stopped"
    (place / "enough").touch()
    resumed = user.outlast("resume", "j")
    assert resumed.code == 0 and "resumed the loop `train` at step" in resumed.out, resumed.err


def test_a_job_without_its_home_and_one_of_its_name_in_another_home_are_both_listed(user: User, tmp_path: Path) -> None:
    user.write("train.py", "import time\nprint('began', flush=True)\ntime.sleep(600)\n")
    user.write("short.py", "")
    gone, here = tmp_path / "gone", tmp_path / "here"
    assert user.outlast("run", "--detach", "--home", str(gone), "--job-id", "twin", "train.py").code == 0
    assert user.outlast("run", "--home", str(here), "--job-id", "twin", "short.py").code == 0
    until(lambda: "began" in user.outlast("logs", "twin", "--home", str(gone)).out, "its first line")
    gone.rename(tmp_path / "drawer")
    listed = user.outlast("jobs", "--json")
    assert listed.code == 0, listed.err
    assert sorted(row["state"] for row in listed.json) == ["running", "succeeded"]
    assert user.outlast("stop", f"{gone}/jobs/twin").code == 0
