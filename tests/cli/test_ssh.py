"""`outlast ssh`: where the job is, with what the job has."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from outlast.engines.compute.shell import ENTER, Proxy, ssh_command
from outlast.machine.enter import WORKER, find
from tests.cli.user import SECONDS_MAX, User


@pytest.fixture
def machine(user: User) -> User:
    user.write(
        "train.py", "import pathlib, time; pathlib.Path('written').write_text('by the trainer'); time.sleep(600)"
    )
    assert user.outlast("run", "--job-id", "there", "--env", "COLOUR=green", "--detach", "train.py").code == 0
    while user.outlast("ssh", "there", "--", "test -e written").code:
        pass
    return user


def test_a_command_runs_in_the_jobs_directory_with_its_environment(machine: User) -> None:
    said = machine.outlast(
        "ssh", "there", "--", "cat written; echo; echo $COLOUR $OUTLAST_JOB; python -c 'import outlast'"
    )
    assert said.code == 0, said.err
    assert said.out.splitlines() == ["by the trainer", "green there"]


def test_words_reach_it_as_they_are_and_its_exit_code_comes_back(machine: User) -> None:
    said = machine.outlast("ssh", "there", "--", "printf", "%s|", "a b", "$HOME", "it's", "*")
    assert said.out == "a b|$HOME|it's|*|"
    assert machine.outlast("ssh", "there", "--", "exit 7").code == 7


def test_secrets_stay_with_the_trainer(user: User) -> None:
    user.write("train.py", "import time; time.sleep(600)")
    assert (
        user.outlast(
            "run", "--job-id", "there", "--secret", "TOKEN=env:MINE", "--detach", "train.py", MINE="canary-123"
        ).code
        == 0
    )
    while user.outlast("ssh", "there", "--", "true").code:
        pass
    assert "canary" not in user.outlast("ssh", "there", "--", "env").out


def test_where_nothing_runs_it_says_what_there_is(machine: User) -> None:
    machine.outlast("stop", "there")
    said = machine.outlast("ssh", "there")
    assert said.code == 3 and "`outlast pull there`" in said.err


def test_a_cell_of_a_sweep_is_entered_where_it_runs(user: User) -> None:
    user.env["OUTLAST_LOCAL_CPUS"] = "2"
    user.write("train.py", "import pathlib, sys, time; pathlib.Path('mine').write_text(sys.argv[2]); time.sleep(600)")
    user.write("cells.json", '{"n": [7, 8]}')
    words = ("--sweep", "cells.json", "--name", "lr", "--parallel", "2", "--detach")
    assert user.outlast("run", *words, "train.py").code == 0
    give_up_at = time.monotonic() + SECONDS_MAX
    for cell in ("lr.1", "lr.2"):
        while user.outlast("ssh", cell, "--", "test -e mine").code:
            assert time.monotonic() < give_up_at, user.outlast("show", "lr").out
    said = [
        user.outlast("ssh", cell, "--", "cat mine; echo; echo $OUTLAST_JOB").out.split() for cell in ("lr.1", "lr.2")
    ]
    assert said == [["7", "lr.1"], ["8", "lr.2"]]


def test_of_those_who_share_a_machine_the_one_is_entered_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("2-1", "3-1", "13-1"):
        (tmp_path / "local/machines/abc" / name).mkdir(parents=True)
        (tmp_path / "local/machines/abc" / name / "machine.json").touch()
    found = find(tmp_path, "3")
    assert found is not None and Path(found.path).name == "3-1"
    assert find(tmp_path, "4") is None and find(tmp_path) is not None
    monkeypatch.setattr("shutil.which", lambda name: name)
    assert ssh_command("p", "z", "m", ("ls",), (), Proxy(), 3)[-1] == f"sudo env {WORKER}=3 {ENTER} ls"
