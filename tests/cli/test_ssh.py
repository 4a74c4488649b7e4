"""`outlast ssh`: where the job is, with what the job has."""

from __future__ import annotations

import pytest

from tests.cli.user import User


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
