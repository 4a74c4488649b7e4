"""What an ended trainer means for its job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from outlast.agent.child import Exit, Reason
from outlast.agent.verdict import Next, judge
from outlast.folder.records import Attempt, Cause, Head, State

HEAD = Head("job", 1, "aa", State.RUNNING, "bundle", attempt=1, attempts={"1": Attempt(1, 0.0)})


def verdict(
    code: int, told: Reason | None = None, *, stalled: bool = False, retries: int = 0, head: Head = HEAD
) -> object:
    judged = judge(Exit(code), told=told, stalled=stalled, retries=retries, head=head)
    return judged.cause, judged.next, judged.state


def test_a_trainer_that_finished_has_succeeded_whatever_it_was_told() -> None:
    for told in (None, *Reason):
        assert verdict(0, told) == (Cause.SUCCEEDED, Next.FINAL, State.SUCCEEDED)


@pytest.mark.parametrize("code", [75, 143, 137, 1])
def test_a_trainer_that_was_told_to_leave_left_for_that_reason(code: int) -> None:
    assert verdict(code, Reason.STOP) == (Cause.STOPPED, Next.FINAL, State.STOPPED)
    assert verdict(code, Reason.DEADLINE) == (Cause.EXPIRED, Next.FINAL, State.EXPIRED)
    assert verdict(code, Reason.PREEMPTED) == (Cause.PREEMPTED, Next.OTHER_MACHINE, None)


def test_a_bug_ends_the_job_unless_it_has_retries() -> None:
    assert verdict(1) == (Cause.FAILED, Next.FINAL, State.FAILED)
    assert verdict(1, retries=1) == (Cause.FAILED, Next.SAME_MACHINE, None)
    once = replace(HEAD, attempt=2, attempts={"1": Attempt(1, 0.0, cause=Cause.FAILED), "2": Attempt(1, 0.0)})
    assert verdict(1, retries=1, head=once) == (Cause.FAILED, Next.FINAL, State.FAILED)
    assert verdict(1, retries=2, head=once) == (Cause.FAILED, Next.SAME_MACHINE, None)


@pytest.mark.parametrize(
    ("code", "words"), [(1, "exited with 1"), (139, "was ended by SIGSEGV"), (200, "exited with 200")]
)
def test_a_signal_is_told_by_its_name_and_any_other_code_as_it_is(code: int, words: str) -> None:
    assert judge(Exit(code), told=None, stalled=False, retries=0, head=HEAD).reason == f"the trainer {words}"


def test_judging_the_same_attempt_again_after_a_restart_of_the_agent_says_the_same() -> None:
    judged = replace(HEAD, attempts={"1": Attempt(1, 0.0, cause=Cause.FAILED)})
    assert verdict(1, retries=1, head=judged) == verdict(1, retries=1)


def test_retries_of_an_earlier_launch_do_not_count() -> None:
    resumed = replace(
        HEAD, launch=2, attempt=2, attempts={"1": Attempt(1, 0.0, cause=Cause.FAILED), "2": Attempt(2, 0.0)}
    )
    assert verdict(1, retries=1, head=resumed) == (Cause.FAILED, Next.SAME_MACHINE, None)


def test_out_of_memory_and_a_full_disk_are_not_retried() -> None:
    for exit, cause in (
        (Exit(137, out_of_memory=True), Cause.OUT_OF_MEMORY),
        (Exit(1, disk_full=True), Cause.DISK_FULL),
    ):
        judged = judge(exit, told=None, stalled=False, retries=9, head=HEAD)
        assert (judged.cause, judged.next, judged.state) == (cause, Next.FINAL, State.FAILED)


def test_a_trainer_that_somebody_killed_goes_on_whatever_its_retries() -> None:
    judged = judge(Exit(137, killed=True), told=None, stalled=False, retries=0, head=HEAD)
    assert (judged.cause, judged.next, judged.state) == (Cause.KILLED, Next.SAME_MACHINE, None)
    assert verdict(137) == (Cause.FAILED, Next.FINAL, State.FAILED)  # ended by us, for no reason that it was told


def test_a_stalled_trainer_and_one_that_left_by_itself_are_started_again() -> None:
    assert verdict(137, stalled=True) == (Cause.STALLED, Next.SAME_MACHINE, None)
    assert verdict(75) == (Cause.PREEMPTED, Next.SAME_MACHINE, None)
