"""Every plan of kills has the kills that matter, at moments that can happen."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from outlast.errors import UsageError
from outlast.host import system
from outlast.jobs.drill_plan import KILLS_MAX, Course, Kind, TooShort, plan_kills


def test_every_plan_has_a_kill_in_mid_save_and_with_three_kills_one_of_each_kind() -> None:
    for seed in range(500):
        for kills in (1, 2, 3, 5, 8):
            plan = plan_kills(Course(seconds=10.0, steps=1000), kills, Random(seed))
            kinds = {kill.kind for kill in plan.kills}
            assert len(plan.kills) == kills
            assert Kind.SAVING in kinds
            assert kills < 2 or Kind.SUDDEN in kinds
            assert kills < 3 or kinds == set(Kind)


def test_kills_by_step_come_one_after_the_other_behind_the_first_save_and_before_the_end() -> None:
    for seed in range(500):
        for steps in (12, 13, 20, 57, 100, 5000):
            for kills in (1, 2, 3):
                plan = plan_kills(Course(seconds=1.0, steps=steps), kills, Random(seed))
                assert plan.save_steps is not None
                places = [
                    int(kill.pause.removeprefix("step:")) for kill in plan.kills if kill.pause.startswith("step:")
                ]
                assert places == sorted(set(places))
                assert all(plan.save_steps < place < steps for place in places)
                assert [kill.attempt for kill in plan.kills] == list(range(1, kills + 1))


def test_between_two_kills_there_is_a_save_so_that_every_attempt_gets_on() -> None:
    for seed in range(500):
        plan = plan_kills(Course(seconds=1.0, steps=2000), 4, Random(seed))
        assert plan.save_steps is not None
        shares = [kill.share * 2000 for kill in plan.kills]
        assert all(after - before > plan.save_steps for before, after in itertools.pairwise(shares))


def test_the_same_seed_makes_the_same_plan_and_another_seed_another_one() -> None:
    course = Course(seconds=10.0, steps=1000)
    assert plan_kills(course, 3, Random(7)) == plan_kills(course, 3, Random(7))
    assert len({plan_kills(course, 3, Random(seed)).kills for seed in range(50)}) > 40


def test_kills_by_the_clock_come_after_the_first_checkpoint() -> None:
    course = Course(seconds=10.0, commit_seconds=(2.0, 4.0, 6.0))
    for seed in range(500):
        plan = plan_kills(course, 3, Random(seed))
        shares = [kill.share for kill in plan.kills]
        assert shares == sorted(shares)
        assert shares[0] >= 0.2 and shares[-1] < 0.95
        assert not any(kill.pause for kill in plan.kills)


def test_a_script_that_saves_through_the_library_is_held_in_mid_save() -> None:
    course = Course(seconds=10.0, commit_seconds=(2.0, 4.0), saves_by_library=True)
    plan = plan_kills(course, 3, Random(1))
    assert [bool(kill.pause) for kill in plan.kills] == [kill.kind is Kind.SAVING for kill in plan.kills]


def test_too_short_a_training_is_refused_with_what_to_do() -> None:
    for course in (
        Course(seconds=1.0, steps=11),
        Course(seconds=1.0, steps=1),
        Course(seconds=1.0),
        Course(seconds=1.0, commit_seconds=(0.9,)),
    ):
        with pytest.raises(TooShort, match="too short to drill") as caught:
            plan_kills(course, 3, Random(1))
        assert caught.value.hint
        assert caught.value.exit_code == 2


def test_how_long_a_scripts_own_files_must_be_quiet_is_told_as_it_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for linux, seconds in ((True, "2 s"), (False, "4 s")):
        monkeypatch.setattr(system, "LINUX", linux)
        with pytest.raises(TooShort) as caught:
            plan_kills(Course(seconds=1.0, commit_seconds=(0.9,)), 3, Random(1))
        assert f"quiet for {seconds}" in caught.value.hint


def test_a_number_of_kills_that_makes_no_sense_is_refused() -> None:
    for kills in (0, -1, KILLS_MAX + 1):
        with pytest.raises(UsageError, match="between 1 and"):
            plan_kills(Course(seconds=1.0, steps=10_000), kills, Random(1))


def test_the_pauses_are_told_to_the_library_by_attempt() -> None:
    plan = plan_kills(Course(seconds=10.0, steps=1000), 3, Random(3))
    drill = plan.drill(1000)
    assert drill.steps_max == 1000
    assert drill.save_steps == plan.save_steps
    assert drill.pauses == {str(kill.attempt): kill.pause for kill in plan.kills}


def test_a_script_that_saves_so_often_that_its_files_are_never_quiet_is_told_to_save_less_often() -> None:
    often = Course(seconds=6.4, commit_seconds=(6.4,), first_save_seconds=1.1)
    with pytest.raises(TooShort, match=r"saved after 1\.1 s, and its files were never quiet") as caught:
        plan_kills(often, 3, Random(1))
    assert "save less often" in caught.value.hint
    late = Course(seconds=6.4, commit_seconds=(6.4,), first_save_seconds=6.3)
    with pytest.raises(TooShort, match=r"first checkpoint was there after 6\.4 of 6\.4 s"):
        plan_kills(late, 3, Random(1))
