"""`examples/census` as a job: what was scored stays scored, whatever becomes of the machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from outlast.jobs.api import JobHandle
from outlast.jobs.asked import Asked
from outlast.jobs.world import World
from outlast_emulator.testing import Running
from tests.examples.by_hand import run_example, value
from tests.examples.places import CENSUS, EXAMPLES
from tests.examples.preempting import train_preempted

KILLS = 5
FOLDS = 3
DIRECTORY = str(EXAMPLES / "census")

DONE_ALREADY = re.compile(r"^(\d+) of \d+ fits are done already", flags=re.MULTILINE)


@pytest.mark.soak  # as in the walk-through, of which it is the half without machines
def test_with_everything_in_buckets_it_goes_on_with_what_was_scored_and_is_evaluated_from_the_laptop(
    cloud_world: World, emulator: Running, home: str, bucket: str, tmp_path: Path
) -> None:
    """The model that five machines have worked on is, to the bit, the one that was made by hand in one go."""
    for name in ("adult.data", "adult.test"):
        assert emulator.put(bucket, f"census/{name}", (CENSUS / name).read_bytes()).status == 200
    data = ("--census-data-path", f"gs://{bucket}/census")
    search = ("--cv-iterations", "8", "--rows", "2000")
    model = ("--model-output-path", f"gs://{bucket}/census.model")
    google = {"STORAGE_EMULATOR_HOST": emulator.url}
    asked = Asked(target="train.py", directory=DIRECTORY, args=(*data, *model, *search), home=home, env=google, cpus=2)
    survived = train_preempted(cloud_world, asked, KILLS, steps_between=2)
    assert survived.head.state.value == "succeeded", survived.log
    assert survived.head.attempt == KILLS + 1

    begun_with = [int(number) for number in DONE_ALREADY.findall(survived.log)]
    assert begun_with == sorted(set(begun_with)) and begun_with[0] == 0 and len(begun_with) >= KILLS, begun_with
    assert begun_with[1:] == [step for step in survived.resumed_from() if step is not None and step < 8 * FOLDS]

    by_hand = tmp_path / "by_hand.model"
    ran = run_example("census", *data, "--model-output-path", str(by_hand), *search, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert (
        emulator.get(bucket, "census.model", alt="media").body
        == by_hand.read_bytes()
        == survived.output("census.model")
    )

    evaluated = run_example("census", "--mode", "evaluate", *data, *model, cwd=tmp_path)
    assert value(evaluated.out, "accuracy") == value(survived.log, "accuracy") == value(ran.out, "accuracy")
    handle = JobHandle(cloud_world, survived.job)
    assert handle.evaluate().wait().state == "succeeded"
    (result,) = handle.evaluations()
    assert f"{result['metrics']['test_accuracy']:.4f}" == value(evaluated.out, "accuracy")
