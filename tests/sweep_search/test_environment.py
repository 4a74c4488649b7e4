"""A search whose job has packages of its own: its adviser runs among them, and not in outlast's Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.user import User, stop_everything
from tests.environments.conftest import offline
from tests.environments.wheels import make_wheel
from tests.sweep_search.test_sweeps import RANGES, TRAINS, rows, trials

STANDS_FOR_OPTUNA = """
import sys, types
__version__ = "9.0"

class TrialState:
    COMPLETE, PRUNED, RUNNING = "complete", "pruned", "running"

class Study:
    def add_trial(self, trial):
        pass
    def ask(self, fixed_distributions):
        return types.SimpleNamespace(params={"0": 0.625, "1": 1})

def create_study(**options):
    return Study()

def module(name, **contents):
    made = sys.modules[f"optuna.{name}"] = types.ModuleType(f"optuna.{name}")
    vars(made).update(contents)
    return made

nothing = lambda *words, **options: None
logging = module("logging", set_verbosity=nothing, ERROR=40)
samplers = module("samplers", TPESampler=nothing)
trial = module("trial", TrialState=TrialState, create_trial=nothing)
distributions = module("distributions", CategoricalDistribution=nothing, FloatDistribution=nothing, IntDistribution=nothing)
"""
"""It always chooses the same: whatever does so was advised by it."""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    links = tmp_path / "links"
    links.mkdir()
    make_wheel(links, "optuna", "9.0", files={"optuna/__init__.py": STANDS_FOR_OPTUNA})
    make_wheel(links, "lonely", "1.0", files={"lonely.py": ""})
    one = User(tmp_path, env={**offline(tmp_path, links), "OUTLAST_LOCAL_CPUS": "2"})
    one.work.mkdir()
    one.write("train.py", TRAINS)
    one.write("ranges.json", json.dumps(RANGES))
    one.write("needed.txt", "lonely\n")
    yield one
    stop_everything(one)


def test_optuna_is_resolved_beside_the_jobs_packages_and_advises_from_there(user: User) -> None:
    said = user.outlast(
        *("run", "--sweep", "ranges.json", "--name", "s", "--parallel", "2", "--search", "tpe", "--trials", "14"),
        *("--metric", "loss", "--requirements", "needed.txt", "train.py"),
    )
    assert said.code == 0, said.err
    assert "2 packages" in said.err and "needed.txt, --search tpe" in said.err
    assert {row["state"] for row in rows(user).values()} == {"succeeded"} and len(rows(user)) == 14
    assert {"x": 0.625, "kind": "b"} in trials(user).values()
