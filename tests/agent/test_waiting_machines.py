"""Machines of several that have waited for another one's successor were paid for meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from outlast.folder import cost
from outlast.folder.records import Attempt, Cause, State, Worker
from outlast.spec.spec import Machine, Rented
from tests.agent.by_hand import LAUNCH, Job, Trainer

RENTED = Machine(8, 0, Rented("project", ("us-central1",), "n2-standard-8", usd_per_hour=3.6))
GAP_SECONDS = 600.0


@pytest.mark.parametrize("survived", [True, False])
def test_who_was_part_of_both_attempts_is_counted_between_them(survived: bool) -> None:
    job = Job(workers=2, machine=RENTED)
    began_at = job.clock.at
    first = Attempt(
        1, began_at, machine=f"{LAUNCH}-0-0", running_at=began_at, ended_at=began_at + 100, cause=Cause.PREEMPTED
    )
    at = job.folder.read_head()
    before = replace(at.head, state=State.RUNNING, attempt=1, nonce="n", by=0, attempts={"1": first})
    assert job.folder.swap(at, before, "op") is not None
    for attempt, machine in ((1, f"{LAUNCH}-1-1"), (2, f"{LAUNCH}-1-1" if survived else f"{LAUNCH}-1-2")):
        job.folder.create(job.folder.keys.worker(attempt, 1), Worker("s", 1, 1, machine))
    job.clock.sleep(100 + GAP_SECONDS)
    assert job.serve(Trainer(job))
    assert job.head.state is State.SUCCEEDED and job.head.attempt == 2
    waited = GAP_SECONDS * 3.6 / 3600
    assert dict(job.head.beside_usd) == ({"attempt-2": pytest.approx(waited)} if survived else {})
    without = replace(job.head, beside_usd={})
    now = job.clock.at
    assert cost.spent_usd(job.head, now) - cost.spent_usd(without, now) == pytest.approx(waited if survived else 0.0)
