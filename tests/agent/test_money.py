"""A trainer is told to leave when the money is nearly spent, as it is when the time is nearly over."""

from __future__ import annotations

from outlast.agent.child import Exit, Reason
from outlast.agent.verdict import Next, judge
from outlast.folder.records import Attempt, Cause, Head, State
from tests.agent.test_vigil import Trainer, vigil

HEAD = Head("job", 1, "aa", State.RUNNING, "bundle", attempt=1, attempts={"1": Attempt(1, 0.0)})


def test_the_limit_that_comes_first_is_the_one_that_is_named() -> None:
    trainer = Trainer()
    watch = vigil(trainer)
    watch.deadline_reason = Reason.COST
    watch.look(10.0, 11.0)
    assert not trainer.told
    watch.look(11.0, 11.0)
    assert [notice.reason for notice in trainer.told] == [Reason.COST]


def test_a_trainer_that_left_for_the_money_ends_its_job_and_the_sum_is_said() -> None:
    judged = judge(Exit(75), told=Reason.COST, stalled=False, retries=9, head=HEAD, spent="it has cost $5.00")
    assert (judged.cause, judged.next, judged.state) == (Cause.EXPIRED, Next.FINAL, State.EXPIRED)
    assert judged.reason == "it has cost $5.00"
    done = judge(Exit(0), told=Reason.COST, stalled=False, retries=0, head=HEAD)
    assert done.state is State.SUCCEEDED
