"""A machine of a sweep that is not needed any more, in a project whose machines may not leave their groups (an older `outlast init`)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from outlast.folder.bills import Bills
from outlast.folder.sweep_records import Bill
from outlast.jobs.asked import Asked
from outlast.jobs.audit import Verdict, audit
from outlast.jobs.job import Job
from outlast.jobs.look import look
from outlast.jobs.plan import plan
from outlast.jobs.sweep import SweepAsked, submit_sweep
from outlast.jobs.sweep_check import with_workers
from outlast.spec.spec import Sweep
from outlast_emulator.testing import Running
from tests.cloud.member import Member, as_launch_of, take_away
from tests.cloud.test_rights import ann, emulator, scratch
from tests.waiting import until

__all__ = ["ann", "emulator", "scratch"]

CELLS = SweepAsked({"seed": [1, 2, 3]}, "cells.json", Sweep(), parallel=2)
UPDATE = "compute.instanceGroupManagers.update"


@dataclass
class Trapped:
    """Two machines, the second of which has nothing to do and has said that it may not leave."""

    member: Member
    job: Job
    machine: str
    """The second's life."""

    def alive(self) -> list[str]:
        found = self.member.emulator.call("GET", "/compute/v1/projects/emulated/aggregated/instances").json()["items"]
        mine = as_launch_of(self.job).id
        names = [one["name"] for scope in found.values() for one in scope.get("instances", []) if mine in one["name"]]
        return sorted(name.rpartition("-")[2] for name in names)

    def bill(self) -> Bill:
        found = Bills(self.job.folder).read(f"{as_launch_of(self.job).id}-1-1")
        assert found is not None
        return found


@pytest.fixture
def trapped(ann: Member) -> Trapped:
    home = f"gs://a-home/{ann.number}"
    asked = Asked("train.py", directory=str(ann.directory), on="compute", home=home, job_id="lr", cells=CELLS.cells)
    planned, _ = with_workers(ann.world, plan(ann.world, asked), CELLS, 3)
    job = submit_sweep(ann.world, planned, CELLS).job
    launch = as_launch_of(job)
    found = Trapped(ann, job, "1-1")
    until(lambda: found.alive() == ["0", "1"], "both machines are there")
    until(lambda: not look(ann.world, job).why, "and run")
    for name in ("0-1", "0-1-up", "1-1", "1-1-up", "1-1-spare"):
        job.folder.store.put(f"{launch.boots}{name}", b"403")
    now = job.folder.store.now()
    Bills(job.folder).write(f"{launch.id}-1-1", Bill(1, 1, "1-1", 0.5, now - 3600, now - 1800))
    return found


def test_whoever_looks_and_may_sends_it_away_and_its_bill_ends(trapped: Trapped) -> None:
    before = trapped.job.folder.store.now()
    said = look(trapped.member.world, trapped.job).why
    assert "sent away" in said and "`outlast init`" in said, said
    until(lambda: trapped.alive() == ["0"], "it has gone, and is not made again")
    assert trapped.bill().until >= before, "it was paid for until now"
    assert Bills(trapped.job.folder).idle(1) == frozenset(), "and no longer"
    assert "sent away" not in look(trapped.member.world, trapped.job).why


def test_whoever_may_not_reads_which_right_is_missing(trapped: Trapped, emulator: Running) -> None:
    take_away(emulator, UPDATE)
    said = look(trapped.member.world, trapped.job).why
    assert "may not leave" in said and "`outlast init`" in said and UPDATE in said, said
    assert trapped.alive() == ["0", "1"]
    failed = audit(trapped.member.world, "", None, fix=True).failed
    assert [UPDATE in why for why in failed.values()] == [True], failed


def test_audit_calls_it_a_leak_and_removes_it_for_good(trapped: Trapped) -> None:
    leaks = audit(trapped.member.world).leaks
    assert [(one.found.kind, one.trapped, one.verdict) for one in leaks] == [("machine", True, Verdict.LEAK)]
    assert "`outlast init`" in leaks[0].why
    fixed = audit(trapped.member.world, fix=True)
    assert fixed.leaks == [] and [one.found.name for one in fixed.removed] == [leaks[0].found.name]
    until(lambda: trapped.alive() == ["0"], "it has gone, and is not made again")
