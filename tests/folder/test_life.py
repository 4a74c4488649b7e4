"""How head changes: budgets, kept checkpoints, ends that never change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from outlast.folder import cost, life
from outlast.folder.records import Attempt, Beat, Cause, Checkpoint, Head, LaunchRecord, Manifest, State
from outlast.spec.spec import Machine

LAUNCH = LaunchRecord(1, "aa", "local", 1, Machine(), 100.0, 1000.0, "bundle")


def begin(head: Head, now: float = 0.0, beat: Beat | None = None, *, alone: bool = True) -> Head:
    nonce = f"n{head.attempt + 1}"
    return life.next_attempt(head, nonce=nonce, by=0, alone=alone, machine="m", now=now, beat=beat)


def commit(head: Head, step: int, name: str | None = None, metrics: dict[str, float] | None = None) -> Head:
    manifest = Manifest(name or f"{head.attempt}-{step}", head.attempt, step, False, 0.0, (), metrics or {})
    return life.committed(head, manifest, 5.0, {})


def fresh() -> Head:
    return life.begun("job", LAUNCH, ())


def test_an_attempt_that_died_without_a_word_is_recorded_as_preempted_by_the_next_one() -> None:
    head = commit(begin(fresh(), now=1.0), step=40)
    head = begin(head, now=60.0, beat=Beat(1, 30.0, 55, 0))
    first = head.attempts["1"]
    assert (first.cause, first.ended_at, first.steps_lost) == (Cause.PREEMPTED, 30.0, 15)
    assert head.attempts["2"].resumed_from_step == 40


def test_a_beat_from_before_the_attempt_or_from_the_future_does_not_bend_time() -> None:
    head = begin(fresh(), now=50.0)
    assert begin(head, now=60.0, beat=Beat(1, 10.0, 1, 0)).attempts["1"].ended_at == 50.0
    assert begin(head, now=60.0, beat=Beat(1, 99.0, 1, 0)).attempts["1"].ended_at == 60.0


def test_five_attempts_without_a_new_step_fail_the_job_and_progress_forgives_all() -> None:
    head = commit(begin(fresh()), step=10)
    for _ in range(4):
        head = begin(head)
    head = commit(head, step=11)
    for _ in range(5):
        head = begin(head)
        assert head.state is State.RUNNING
    assert begin(head).state is State.FAILED


def test_a_job_that_never_had_a_checkpoint_gets_ten_attempts() -> None:
    head = fresh()
    for _ in range(10):
        head = begin(head)
        assert head.state is State.RUNNING
    assert begin(head).state is State.FAILED


def test_attempts_that_only_gathered_are_not_charged() -> None:
    head = fresh()
    for _ in range(30):
        head = begin(head, alone=False)
    assert head.state is State.GATHERING


def test_repeating_an_old_step_is_no_progress() -> None:
    head = commit(begin(fresh()), step=10)
    head = commit(begin(head), step=10)
    assert head.attempts["2"].progressed is False
    assert begin(head).barren == 1


def test_committing_twice_changes_nothing() -> None:
    once = commit(begin(fresh()), step=3)
    assert commit(once, step=3) == once


def test_three_checkpoints_are_kept_and_the_best_one_beside_them() -> None:
    head = begin(fresh())
    for step, loss in ((1, 0.5), (2, 0.1), (3, 0.4), (4, 0.3), (5, 0.2)):
        head = commit(head, step=step, metrics={"val_loss": loss})
    assert [one.step for one in head.checkpoints] == [2, 3, 4, 5]
    best = life.best_checkpoint(head.checkpoints)
    assert best is not None and best.step == 2


@pytest.mark.parametrize(("metric", "best"), [("accuracy", 2), ("val_loss", 1), ("RMSE", 1)])
def test_a_loss_is_best_when_low_and_anything_else_when_high(metric: str, best: int) -> None:
    checkpoints = tuple(Checkpoint(str(step), step, 0, 1, 0.0, metrics={metric: float(step)}) for step in (1, 2))
    chosen = life.best_checkpoint(checkpoints)
    assert chosen is not None and chosen.step == best


def test_a_final_head_has_no_nonce_and_names_the_end_of_its_launch() -> None:
    head = life.final(begin(fresh(), now=1.0), State.STOPPED, 9.0)
    assert (head.nonce, head.by, head.ends, head.ended_at) == ("", -1, {"1": "stopped"}, 9.0)
    assert head.attempts["1"].cause is Cause.STOPPED


def test_resume_keeps_history_and_checkpoints_and_begins_budgets_at_zero() -> None:
    head = commit(begin(fresh()), step=7)
    head = life.final(replace(head, barren=4), State.FAILED, 9.0, exit_code=1, reason="bug")
    again = life.relaunched(head, replace(LAUNCH, launch=2, id="bb"))
    assert (again.launch, again.launch_id, again.state, again.barren) == (2, "bb", State.SUBMITTED, 0)
    assert (again.exit_code, again.reason, again.ended_at) == (None, "", None)
    assert again.checkpoints == head.checkpoints
    assert again.attempts == head.attempts
    assert again.ends == {"1": "failed"}


def test_resume_from_an_older_checkpoint_makes_it_the_one_that_is_restored() -> None:
    head = begin(fresh())
    for step in (1, 2, 3):
        head = commit(head, step=step)
    head = life.final(head, State.STOPPED, 9.0)
    again = life.relaunched(head, replace(LAUNCH, launch=2, id="bb", resume_from="1-1"))
    assert again.checkpoints[-1].step == 1
    assert {one.step for one in again.checkpoints} == {1, 2, 3}
    assert commit(begin(again), step=2, name="2-2").attempts["2"].progressed


def test_an_end_is_recorded_once() -> None:
    attempt = life.with_end(Attempt(1, 0.0), Cause.FAILED, 5.0, exit_code=3)
    assert life.with_end(attempt, Cause.STOPPED, 9.0) == attempt


def test_what_was_committed_was_reached_also_when_the_machine_died_before_its_next_beat() -> None:
    head = commit(begin(fresh(), now=1.0), step=40)
    lost = begin(head, now=60.0, beat=Beat(1, 2.0, 3, 0)).attempts["1"]
    assert (lost.ended_at, lost.step, lost.steps_lost) == (5.0, 40, None)


def test_an_attempt_that_nobody_followed_ended_with_its_last_beat_and_is_paid_for_until_then() -> None:
    rent = cost.Rent(usd_per_hour=3600.0)
    head = life.next_attempt(fresh(), nonce="n", by=0, alone=True, machine="m", now=1.0, beat=None, rent=rent)
    alone = life.left_alone(head, Beat(1, 30.0, 55, 0), 4000.0)
    failed = life.final(alone, State.FAILED, 4000.0, reason="the machine could not boot")
    assert (failed.attempts["1"].cause, failed.attempts["1"].ended_at) == (Cause.PREEMPTED, 30.0)
    assert (failed.state, failed.ended_at) == (State.FAILED, 4000.0)
    assert cost.spent_usd(failed, 5000.0) == pytest.approx(30.0 - 1.0 + cost.BOOT_SECONDS)
    assert life.left_alone(fresh(), None, 5.0) == fresh(), "nobody had begun"
    stopped = life.final(life.left_alone(head, Beat(1, 30.0, 55, 0), 4000.0, stopped=True), State.STOPPED, 4000.0)
    assert (stopped.attempts["1"].cause, stopped.attempts["1"].ended_at) == (Cause.STOPPED, 30.0)


def test_nobody_claims_that_nothing_was_lost_with_a_machine_that_went_on_after_its_last_beat() -> None:
    head = commit(begin(fresh(), now=1.0), step=40)
    beat = Beat(1, 6.0, 40, 0)
    assert begin(head, now=60.0, beat=beat).attempts["1"].steps_lost is None
    assert begin(head, now=60.0, beat=replace(beat, step=43)).attempts["1"].steps_lost == 3
    assert begin(head, now=60.0, beat=replace(beat, doing=f"{life.HELD}step:40")).attempts["1"].steps_lost == 0


def test_how_long_machines_live_is_what_all_of_them_worked_by_how_often_one_was_taken() -> None:
    assert life.machine_life_seconds(fresh()) is None
    failed = Attempt(1, 0.0, cause=Cause.FAILED, ended_at=30.0)
    taken = Attempt(1, 100.0, cause=Cause.PREEMPTED, ended_at=150.0)
    killed = Attempt(1, 200.0, cause=Cause.KILLED, ended_at=220.0)
    runs = Attempt(1, 300.0)
    assert life.machine_life_seconds(replace(fresh(), attempts={"1": failed})) is None
    attempts = {"1": failed, "2": taken, "3": killed, "4": runs}
    assert life.machine_life_seconds(replace(fresh(), attempts=attempts)) == (30.0 + 50.0 + 20.0) / 2
