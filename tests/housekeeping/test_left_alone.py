"""A job whose machine is gone and which no other came to: whoever looks ends it, and counts what was there."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.engines.engine import Condition, Launch, LaunchState
from outlast.folder import life
from outlast.folder.records import Beat, Cause
from outlast.jobs.look import look
from outlast.jobs.submit import submit
from tests.housekeeping.user import NoMachines, make_user


class NoneComesUp(NoMachines):
    def state(self, launch: Launch) -> LaunchState:
        return LaunchState(Condition.BOOT_FAILED, "there is no python")


def test_its_last_attempt_has_ended_with_its_last_beat_and_not_when_somebody_looked(tmp_path: Path) -> None:
    user = make_user(tmp_path)
    job = submit(user.world(), user.asked("one")).job
    at = job.folder.read_head()
    began_at = user.store.now() - 4000.0
    begun = life.next_attempt(at.head, nonce="n", by=0, alone=True, machine="m", now=began_at, beat=None)
    assert job.folder.swap(at, begun, "begin") is not None
    job.folder.rewrite(job.folder.keys.beat(1), Beat(1, began_at + 30.0, 55, 0))
    user.engine = NoneComesUp()
    status = look(user.world(), job)
    assert status.state == "failed" and "there is no python" in status.head.reason
    last = status.head.attempts["1"]
    assert last.cause is Cause.PREEMPTED
    assert last.ended_at == pytest.approx(began_at + 30.0)
    assert status.head.ended_at is not None and status.head.ended_at > began_at + 3000.0
