"""A search that learns finds better parameters than one that does not, with as many trials; by a real Optuna."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from typing import Any

from outlast.clock import SYSTEM
from outlast.folder.sweep_records import Row, Trial
from outlast.machine.study_process import Python, StudyProcess
from outlast.spec.spec import Sweep
from outlast.spec.sweep.space import space
from tests.sweep_search.parts import Home

RANGES = {
    "lr": {"log": [1e-6, 1]},
    "decay": {"float": [0, 1]},
    "depth": {"int": [1, 12]},
    "kind": ["adam", "sgd", "lion"],
}
TRIALS = 40
SEEDS = range(6)
AT_ONCE = 3
"""So many workers have a cell each, all the time."""


def loss(params: Mapping[str, Any]) -> float:
    """A bowl: at its bottom, 0.003 of learning rate, 0.3 of decay, five layers and `adam`."""
    away = (math.log10(params["lr"] / 0.003)) ** 2 + 4 * (params["decay"] - 0.3) ** 2 + (params["depth"] - 5) ** 2 / 9
    return float(away + (params["kind"] != "adam"))


def searched(seed: int, adviser: StudyProcess) -> float:
    """The least loss, with as many workers that ask before the others have told."""
    home = Home(Sweep(search="tpe", seed=seed, metric="loss"), TRIALS, RANGES)
    home.clock = SYSTEM  # type: ignore[assignment]
    studies = [home.study(adviser) for _ in range(AT_ONCE)]
    run: list[int] = []
    rows: list[Row] = []
    for cell in range(1, TRIALS + 1):
        params = studies[cell % AT_ONCE].choose(cell)
        assert home.folder.create(home.keys.trial(cell, 1), Trial(cell, params, 0.0))
        run.append(cell)
        if len(run) == AT_ONCE or cell == TRIALS:
            ended = run.pop(0)
            rows.append(Row(ended, "succeeded", 1, metrics={"loss": loss(home.sweep.trials(1)[ended].params)}))
            home.put_rows(rows)
    chosen = [tuple(one.params.values()) for one in home.sweep.trials(1).values()]
    assert len(set(chosen)) == TRIALS, "no two are the same"
    assert not studies[0]._words, studies[0]._words
    return min(row.metrics["loss"] for row in rows)


def test_a_search_that_learns_beats_one_that_does_not() -> None:
    adviser = StudyProcess(lambda: [Python(sys.executable, {"PATH": os.defpath})], SYSTEM)
    try:
        learned = [searched(seed, adviser) for seed in SEEDS]
    finally:
        adviser.close()
    ranges = space(RANGES, "test")
    random = [min(loss(ranges.random(seed, index)) for index in range(TRIALS)) for seed in SEEDS]
    better = sum(1 for one, other in zip(learned, random, strict=True) if one < other)
    assert better >= len(SEEDS) - 1, (learned, random)
    assert sum(learned) < sum(random) / 2, (learned, random)
