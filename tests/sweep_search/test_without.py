"""Optuna where it is not: an error before anything is submitted; where it is broken: a random search. And where a job has packages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import urllib3

import outlast
from outlast.bundle.environment.declared import Declared, with_line
from outlast.bundle.python import Interpreter
from outlast.errors import UsageError
from outlast.jobs.study import REQUIREMENT, check_study, with_study
from outlast.jobs.world import World
from outlast.spec.spec import Sweep
from outlast.spec.sweep.space import space
from tests.cli.user import SECONDS_MAX, Said, User, stop_everything
from tests.sweep_search.test_sweeps import RANGES, TRAINS, rows, trials

TPE = Sweep(search="tpe", metric="loss")
ROOT = Path(__file__).parents[2]


class Installed(User):
    """Somebody whose outlast lies in an environment of its own, with what is put there."""

    @property
    def environment(self) -> Path:
        return self.root / "environment"

    def install(self, *more: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(self.environment)], check=True)
        packages = self.root / "packages"
        packages.mkdir()
        for one in (outlast, click, urllib3):
            assert one.__file__ is not None
            (packages / one.__name__).symlink_to(Path(one.__file__).parent)
        if sys.version_info < (3, 11):
            import tomli

            (packages / "tomli").symlink_to(Path(tomli.__file__).parent)
        for path in more:
            (packages / path.name).symlink_to(path)
        site = next(self.environment.glob("lib/python3.*/site-packages"))
        (site / "packages.pth").write_text(f"{packages}\n")

    def installed(self, *words: str) -> Said:
        done = subprocess.run(
            [str(self.environment / "bin" / "python"), "-m", "outlast.cli", *words],
            cwd=self.work,
            env=self.environ(VIRTUAL_ENV=str(self.environment)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Installed]:
    one = Installed(tmp_path, env={"OUTLAST_LOCAL_CPUS": "2"})
    one.work.mkdir()
    one.write("train.py", TRAINS)
    one.write("ranges.json", json.dumps(RANGES))
    yield one
    stop_everything(one)


RUN = ("run", "--sweep", "ranges.json", "--name", "s", "--parallel", "2", "--trials", "13")


def test_without_optuna_nothing_is_submitted_and_the_error_says_what_to_type(user: Installed) -> None:
    user.install()
    said = user.installed(*RUN, "--search", "tpe", "--metric", "loss", "train.py")
    python = user.environment / "bin" / "python"
    assert said.code == 2, said.err
    assert f"`--search tpe` needs Optuna, which neither `{python}`" in said.err
    assert f"`{python} -m pip install optuna`" in said.err and "pip install 'outlast[search]'" in said.err
    assert not (user.home / "jobs").exists()
    early = user.installed(*RUN, "--search", "random", "--early", "asha", "--metric", "loss", "train.py")
    assert early.code == 2 and "`--early asha` needs Optuna" in early.err


def test_a_search_whose_adviser_never_answers_is_random_and_the_log_says_so(user: Installed) -> None:
    broken = user.root / "broken" / "optuna"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('its files are damaged')")
    user.install(broken)
    said = user.installed(*RUN, "--search", "tpe", "--metric", "loss", "train.py")
    assert said.code == 0, said.err
    assert len(rows(user)) == 13
    assert {row["state"] for row in rows(user).values()} == {"succeeded"}
    ranges, chosen = space(RANGES, "test"), trials(user)
    random = [cell for cell in chosen if chosen[cell] == ranges.random(0, cell - 1)]
    assert random, "the last ones are random"
    logs = "".join(user.installed("logs", f"s.{cell}").out for cell in random)
    assert "has random parameters" in logs and "its files are damaged" in logs


@pytest.mark.parametrize("sweep", [Sweep(search="tpe"), Sweep(early="asha"), Sweep(search="sobol", early="median")])
def test_what_a_search_goes_by_must_be_said(sweep: Sweep) -> None:
    with pytest.raises(UsageError, match="goes by a metric") as raised:
        check_study(sweep)
    assert "--metric loss" in (raised.value.hint or "")
    check_study(Sweep(search="random"))
    check_study(TPE)


def interpreter() -> Interpreter:
    return Interpreter(sys.executable, "this one", ".".join(map(str, sys.version_info[:3])))


def world(tmp_path: Path) -> World:
    from outlast.jobs.world import system_world

    return system_world(make=False)


def test_where_a_job_has_an_environment_optuna_is_resolved_into_it(tmp_path: Path) -> None:
    declared = Declared("requirements.txt", lines=("torch",), content="1")
    found = with_study(declared, TPE, interpreter(), world(tmp_path), same_machine=True)
    assert found is not None and found.lines == ("torch", REQUIREMENT)
    assert found.content != declared.content and found.source == "requirements.txt, --search tpe"
    assert with_study(declared, Sweep(search="random"), interpreter(), world(tmp_path), same_machine=True) is declared
    assert with_study(declared, None, interpreter(), world(tmp_path), same_machine=True) is declared


def test_on_another_computer_it_is_resolved_even_for_a_script_without_packages(tmp_path: Path) -> None:
    found = with_study(None, TPE, interpreter(), world(tmp_path), same_machine=False)
    assert found is not None and found.lines == (REQUIREMENT,)
    assert with_study(None, TPE, interpreter(), world(tmp_path), same_machine=True) is None, "here it is installed"


@pytest.mark.parametrize("named", ["optuna", "optuna==4.1", "Optuna >= 4", "optuna[optional]"])
def test_a_job_that_asks_for_optuna_itself_gets_its_own_version(tmp_path: Path, named: str) -> None:
    in_line = Declared("pyproject.toml", lines=("torch", named), content="1")
    assert with_study(in_line, TPE, interpreter(), world(tmp_path), same_machine=True) is in_line
    path = tmp_path / "requirements.txt"
    path.write_text(f"torch\n{named}\n")
    in_file = Declared("requirements.txt", files=(path,), content="1")
    assert with_study(in_file, TPE, interpreter(), world(tmp_path), same_machine=True) is in_file
    path.write_text("torch\noptuna-dashboard\n# optuna\n")
    assert with_study(in_file, TPE, interpreter(), world(tmp_path), same_machine=True) == with_line(
        in_file, REQUIREMENT, "--search tpe"
    )


def test_the_extra_and_what_is_resolved_are_the_same() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert f'search = ["{REQUIREMENT}"]' in text
