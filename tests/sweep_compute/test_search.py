"""A search that learns, on rented machines: its adviser is among the job's packages there, and whoever is taken away, it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from outlast.folder.sweep import SweepFolder
from tests.environments.conftest import offline
from tests.environments.wheels import make_wheel
from tests.sweep_compute.sweeper import Sweeper
from tests.sweep_search.test_environment import STANDS_FOR_OPTUNA
from tests.sweep_search.test_sweeps import RANGES, TRAINS

TRIALS = 16


@pytest.mark.soak
def test_a_search_learns_on_rented_machines_that_are_taken_away(sweeper: Sweeper, tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.mkdir()
    make_wheel(links, "optuna", "9.0", files={"optuna/__init__.py": STANDS_FOR_OPTUNA})
    user = sweeper.user
    user.env.update(offline(tmp_path, links))
    user.write("train.py", TRAINS)
    user.write("ranges.json", json.dumps(RANGES))
    search = ("--search", "tpe", "--trials", str(TRIALS), "--metric", "loss", "--seed", "3")
    options = ("--sweep", "ranges.json", "--name", "s", "--parallel", "2", "--yes", "--detach")
    said = user.outlast("run", "--on", "compute", *options, *search, "train.py")
    assert said.code == 0, said.err
    for count in (4, 12):
        sweeper.wait_for_rows("s", count)
        for machine in sweeper.alive()[:1]:
            sweeper.post("preempt", instance=machine, notice_seconds=0)
    assert sweeper.wait_for_end("s")["state"] == "succeeded"
    sweeper.wait_until_nothing_is_paid_for()
    trials = SweepFolder(sweeper.folder("s")).trials(1)
    assert sorted(trials) == sorted(sweeper.rows("s")) == list(range(1, TRIALS + 1))
    chosen = [dict(one.params) for one in trials.values()]
    assert {"x": 0.625, "kind": "b"} in chosen, "what only its adviser chooses"
    assert len({json.dumps(one) for one in chosen}) > 8, "the first ones are spread"
    for cell, row in sweeper.rows("s").items():
        assert dict(row.params) == dict(trials[cell].params), "a cell that is begun again keeps its parameters"
