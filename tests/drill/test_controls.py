"""Scripts that must be refused are refused, each for what it does wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from outlast.errors import OutlastError
from outlast.folder.records import Checkpoint, Head
from outlast.jobs import drill_runner
from outlast.jobs.drill import Compared, drill, prepare
from outlast.jobs.drill_plan import TooShort
from outlast.jobs.drill_story import Story
from outlast.jobs.drill_verdict import DrillResult, Wrong
from outlast.jobs.world import World
from tests.drill.asking import SCRIPTS, asked_for, unmodified

RESUMES = ("--resume", "checkpoints/last.json")
BRISK = ("--step-seconds", "0.03", "--save-steps", "20")


def drilled(world: World, name: str, **options: Any) -> DrillResult:
    resume_args = options.pop("resume_args", RESUMES)
    args = options.pop("args", ())
    asked = unmodified(SCRIPTS / name, args=args, resume_args=resume_args)
    return drill(world, asked, seed=options.pop("seed", 1), **options)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a file `JOB-SAVE` for each commit that a drill has seen: a script can wait for it."""
    note = drill_runner._Run._note_commit

    def tell(run: drill_runner._Run, head: Head, checkpoint: Checkpoint) -> None:
        note(run, head, checkpoint)
        (tmp_path / f"{run.job.id}-{checkpoint.step}").touch()

    monkeypatch.setattr(drill_runner._Run, "_note_commit", tell)
    return tmp_path


def wrongs(result: DrillResult) -> set[Wrong]:
    assert not result.survived
    assert result.exit_code == 1
    return {problem.wrong for problem in result.problems}


def test_a_script_that_ignores_its_checkpoint_is_refused_although_its_result_is_right(world: World) -> None:
    result = drilled(world, "ignores_checkpoint.py", resume_args=(), kills=1)
    assert wrongs(result) == {Wrong.BEGAN_AT_ZERO}
    assert result.identical
    assert "began at zero although a checkpoint was there" in result.problems[0].words


def test_a_script_that_ignores_its_checkpoint_is_refused_although_each_of_its_saves_holds_another_time(
    world: World,
) -> None:
    """Whoever leaves out what holds a time, as a drill says, is not told that all is well."""
    result = drilled(world, "tells_the_time.py", args=("--blind",), kills=1, ignore=("last.json",))
    assert wrongs(result) == {Wrong.BEGAN_AT_ZERO}


def test_a_script_that_writes_in_place_is_caught_with_a_torn_file(world: World, kept: Path) -> None:
    # Its file is taken when it has been quiet for two seconds and somebody has looked, so it waits for that before it writes again.
    given = ("--steps", "30", "--save-steps", "10", "--kept", str(kept))
    result = drilled(world, "writes_in_place.py", args=given, kills=1)
    assert wrongs(result) == {Wrong.TORN}
    assert "`last.json` is written in place and was caught torn" in result.problems[0].words


def test_a_script_that_is_not_deterministic_is_told_from_one_that_does_not_resume(world: World) -> None:
    told: list[str] = []
    result = drill(
        world,
        asked_for(SCRIPTS / "not_deterministic.py"),
        seed=1,
        kills=2,
        on_progress=lambda doing, done, total, unit="bytes": told.append(doing),
    )
    assert told[-1] == "comparing" and told[0] in ("starting", "the reference")
    assert {*told} <= {"starting", "the reference", "attempt 1", "attempt 2", "attempt 3", "comparing"}
    assert wrongs(result) == {Wrong.NOT_DETERMINISTIC}
    assert not result.identical
    assert "outputs/model.json" in result.problems[0].words
    assert "steady.json" not in result.problems[0].words


def test_a_script_that_forgets_part_of_its_state_does_not_resume(world: World) -> None:
    result = drilled(world, "forgets_generator.py", kills=1)
    assert wrongs(result) == {Wrong.RESUMES_DIFFERENTLY}
    assert not result.identical


def test_a_script_that_runs_on_after_the_notice_is_told_so(world: World) -> None:
    result = drilled(world, "runs_on.py", args=("--steps", "160"), kills=3, notice_seconds=2.0)
    assert wrongs(result) == {Wrong.RAN_ON}
    assert result.identical


def test_a_script_that_fails_when_it_resumes_is_reported_with_its_attempt(world: World) -> None:
    result = drilled(world, "fails_on_resume.py", kills=2)
    assert wrongs(result) == {Wrong.FAILED}
    assert "attempt 2" in result.problems[0].words
    assert "exited with 1" in result.problems[0].words
    assert not result.identical


@pytest.mark.parametrize("name", ["two_steps.py", "no_checkpoint.py"])
def test_too_short_a_training_is_no_proof(world: World, name: str) -> None:
    with pytest.raises(TooShort, match="too short to drill") as caught:
        drill(world, asked_for(SCRIPTS / name), seed=1)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    assert not list((world.user_dir / "drills").glob(f"{name.removesuffix('.py').replace('_', '-')}-*"))


def test_a_training_that_is_faster_than_its_reference_was_is_not_too_short(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference ran on a busy computer: all that happened to it took three times as long."""
    prepared = prepare(
        world,
        unmodified(SCRIPTS / "tells_the_time.py", args=BRISK, resume_args=RESUMES),
        compared=Compared(ignore=("last.json",)),
    )
    reference = prepared.reference
    reference.seen[:] = [replace(seen, seconds=3 * seen.seconds) for seen in reference.seen]
    reference.commits[:] = [replace(commit, seconds=3 * commit.seconds) for commit in reference.commits]
    seconds = 3 * reference.seconds
    monkeypatch.setattr(Story, "seconds", property(lambda story: seconds))
    result = prepared.kill(1, 1)
    assert result.survived
    prepared.remove()


def test_a_script_that_fails_without_a_kill_is_not_drilled(world: World) -> None:
    with pytest.raises(OutlastError, match="the reference itself failed") as caught:
        drill(
            world, asked_for(SCRIPTS / "two_steps.py", env={"PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere"}), seed=1
        )
    assert "outlast logs" in caught.value.hint
