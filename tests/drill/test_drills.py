"""Real trainings, really killed: each ends bit for bit like the one that was left in peace.

One test runs one reference and then several seeds against it. A failure prints its seed; `outlast drill --seed` repeats it.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from outlast.jobs.asked import Asked
from outlast.jobs.drill import drill, prepare
from outlast.jobs.drill_plan import Kind
from outlast.jobs.drill_story import Story
from outlast.jobs.world import World
from tests.drill.asking import EXAMPLES, SCRIPTS, asked_for, unmodified

KILLS = 3
DRILLS_MIN = 30

DEMO = asked_for(EXAMPLES / "demo/train.py", args=("--steps", "1500"))
NUMPY = asked_for(EXAMPLES / "numpy_rebinding/train.py")
DIGITS = asked_for(EXAMPLES / "torch_mnistlike/train.py")
ACCUMULATE = asked_for(EXAMPLES / "torch_accumulate/train.py")
UNMODIFIED = unmodified(EXAMPLES / "unmodified/train.py", resume_args=("--resume", "checkpoints/last.npz"))
OWN_FOLDER = asked_for(SCRIPTS / "own_folder.py")

DRILLS: dict[str, tuple[Asked, range]] = {
    "digits": (DIGITS, range(1)),
    "accumulate": (ACCUMULATE, range(1)),
    "unmodified, first seeds": (UNMODIFIED, range(2)),
    "unmodified, more seeds": (UNMODIFIED, range(2, 4)),
    "own folder": (OWN_FOLDER, range(3)),
    "demo": (DEMO, range(5)),
    "numpy, first seeds": (NUMPY, range(8)),
    "numpy, more seeds": (NUMPY, range(8, 16)),
}
"""Each attempt of the two that use torch imports it for three seconds: most seeds are of those that do not."""


def test_there_are_at_least_thirty_drills() -> None:
    assert sum(len(seeds) for _, seeds in DRILLS.values()) >= DRILLS_MIN


@pytest.mark.parametrize("name", DRILLS)
def test_a_killed_training_ends_bit_for_bit_like_one_in_peace(world: World, name: str) -> None:
    asked, seeds = DRILLS[name]
    lines: list[str] = []
    prepared = prepare(world, asked, report=lines.append)
    for seed in seeds:
        result = prepared.kill(KILLS, seed)
        said = "\n".join(lines)
        assert result.survived, f"seed {seed}:\n{said}"
        assert result.identical, f"seed {seed}:\n{said}"
        assert result.kills == KILLS, f"seed {seed}:\n{said}"
        assert result.attempts == KILLS + 1, f"seed {seed}:\n{said}"
    prepared.remove()


def test_the_kills_of_a_drill_come_as_they_are_promised(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least one after the first checkpoint, one in mid-save, one without notice: seen in the records, not in the plan."""
    prepared = prepare(world, NUMPY)
    stories: list[Story] = []
    run = type(prepared.runner).run

    def noted(*arguments: Any) -> Story:
        stories.append(run(*arguments))
        return stories[-1]

    monkeypatch.setattr(type(prepared.runner), "run", noted)
    assert prepared.kill(KILLS, 77).survived
    (story,) = stories
    assert {killed.kill.kind for killed in story.killed} == set(Kind)
    assert all(story.head.attempts[str(number)].resumed_from_step for number in range(2, KILLS + 2))
    for killed in story.killed:
        attempt = story.head.attempts[str(killed.kill.attempt)]
        if killed.kill.kind is Kind.NOTICED:
            assert attempt.steps_lost == 0
            assert attempt.exit_code == 75
        else:
            assert attempt.exit_code is None
    prepared.remove()


def test_a_training_of_a_day_is_drilled_in_seconds_by_capping_its_steps(world: World) -> None:
    result = drill(world, asked_for(SCRIPTS / "long_loop.py"), steps=400, seed=5)
    assert result.survived
    assert result.identical
    assert result.steps_lost is not None and result.steps_lost < 400


def test_a_time_limit_chooses_the_steps(world: World) -> None:
    lines: list[str] = []
    result = drill(world, asked_for(SCRIPTS / "long_loop.py"), seconds=6.0, kills=1, seed=5, report=lines.append)
    assert result.survived, lines


def test_a_drill_like_a_job_takes_its_target_arguments_and_directories(world: World) -> None:
    from outlast.jobs.submit import submit
    from outlast.jobs.watch import wait

    job = submit(world, UNMODIFIED).job
    wait(world, job)
    result = drill(world, Asked(target=""), like=job.id, kills=1, seed=2)
    assert result.survived


def test_only_the_results_of_a_survived_drill_stay_and_they_until_the_next_one(world: World) -> None:
    drills = world.user_dir / "drills"
    others = set(drills.glob("train-*"))  # of tests that share this user, and did not end their drills
    lines: list[str] = []
    first = drill(world, NUMPY, kills=1, seed=1, report=lines.append)
    assert lines[-1] == f"Results: `{first.directory}`"
    assert [str(path) for path in set(drills.glob("train-*")) - others] == [os.path.dirname(first.directory)]
    assert (drills / first.directory / "outputs/model.npz").is_file()
    second = drill(world, NUMPY, kills=1, seed=1)
    assert [str(path) for path in set(drills.glob("train-*")) - others] == [os.path.dirname(second.directory)]
    assert not any(
        home.url.startswith(os.path.dirname(one.directory)) for home in world.homes() for one in (first, second)
    )
