"""`examples/survival-*` on real data and with a home in a bucket: preempted five times, and the same to the bit as in peace.

Kills without notice and in the middle of a save are in test_readmes.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outlast.jobs.api import JobHandle
from outlast.jobs.asked import Asked
from outlast.jobs.world import World
from tests.examples.by_hand import run_example
from tests.examples.places import EXAMPLES
from tests.examples.preempting import train_preempted

KILLS = 5

SMALL = {"survival-sklearn": ("--epochs", "2", "--batch-size", "256"), "survival-torch": ("--epochs", "2")}
OUTPUTS = {"survival-sklearn": ("model.npz",), "survival-torch": ("best.pt", "model.pt")}
NAMES = tuple(SMALL)


def asked_for(name: str, census: Path, **more: Any) -> Asked:
    directory = str(EXAMPLES / name)
    return Asked(target="train.py", directory=directory, args=SMALL[name], datasets=(str(census),), **more)


@pytest.mark.parametrize("name", [NAMES[0], pytest.param(NAMES[1], marks=pytest.mark.soak)])
def test_preempted_five_times_with_a_home_in_a_bucket_it_makes_what_it_makes_by_hand_and_is_evaluated(
    name: str, cloud_world: World, home: str, census: Path, tmp_path: Path
) -> None:
    survived = train_preempted(cloud_world, asked_for(name, census, home=home), KILLS, steps_between=20)
    assert survived.head.state.value == "succeeded", survived.log
    assert survived.head.attempt == KILLS + 1
    begun_at = survived.resumed_from()
    steps = [step for step in begun_at if step is not None]
    assert begun_at == sorted(set(steps)), begun_at
    ran = run_example(name, *SMALL[name], "--dataset", str(census), cwd=tmp_path)
    assert ran.code == 0, ran.err
    for output in OUTPUTS[name]:
        assert survived.output(output) == (tmp_path / "output" / output).read_bytes()
    evaluation = JobHandle(cloud_world, survived.job).evaluate()
    assert evaluation.wait().state == "succeeded", "".join(evaluation.logs())
    (result,) = JobHandle(cloud_world, survived.job).evaluations()
    assert 0.84 < result["metrics"]["accuracy"] < 0.87


@pytest.mark.parametrize("name", NAMES)
def test_without_a_checkpoint_there_is_nothing_to_evaluate(name: str, census: Path, tmp_path: Path) -> None:
    ran = run_example(name, "--mode", "evaluate", "--dataset", str(census), cwd=tmp_path)
    assert ran.code == 1 and "hint: `outlast evaluate JOB`" in ran.err
