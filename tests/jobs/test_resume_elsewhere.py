"""Resume of a job that has not ended, on another engine, while others write to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from outlast.clock import SYSTEM
from outlast.engines.engine import Capabilities, Condition, Engine, Launch, LaunchState
from outlast.errors import UsageError
from outlast.folder import life
from outlast.folder.records import LaunchRecord
from outlast.jobs import resume as resuming
from outlast.jobs import stop as stopping
from outlast.jobs.elsewhere import SILENT_SECONDS
from outlast.jobs.job import Job
from outlast.jobs.launch import launch_record
from outlast.jobs.other_engine import check_goes, workers_at
from outlast.jobs.world import World
from outlast.spec.record import encode
from outlast.spec.spec import Machine, Pool, Provenance, Rented, Spec, Target, TargetKind
from outlast.store.memory import MemoryStore

MACHINE = Machine(1, 0, Rented("p", ("r",), "t", usd_per_hour=1.0))
CAPABILITIES = Capabilities(gpus=False, same_machine=False, preempts=False, rents=True)


class Renting:
    """As much of an engine as a resume asks."""

    capabilities = CAPABILITIES

    def __init__(self) -> None:
        self.started: list[Launch] = []
        self.stopped: list[Launch] = []
        self.condition = Condition.ABSENT

    def start(self, launch: Launch) -> None:
        self.started.append(launch)

    def stop(self, launch: Launch) -> None:
        self.stopped.append(launch)

    def state(self, launch: Launch) -> LaunchState:
        return LaunchState(self.condition)


class Busy(MemoryStore):
    """Before the first write that would move head to another launch, somebody else writes head."""

    def __init__(self, first: Callable[[], None]) -> None:
        super().__init__()
        self.first: Callable[[], None] | None = first

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        if self.first is not None and key.endswith("head.json") and if_generation and b"-resume" in data:
            first, self.first = self.first, None
            first()
        return super().put(key, data, if_generation=if_generation)


class Running:
    def __init__(
        self, tmp_path: Path, first: Callable[[Job], None], *, place: str = "", heard_seconds_ago: float = 0.0
    ) -> None:
        self.here, self.there = Renting(), Renting()
        store = Busy(lambda: first(self.job))
        self.world = World(
            clock=SYSTEM,
            random=Random(1),
            user_dir=tmp_path,
            open_store=lambda url: store,
            make_engine=lambda name: cast(Engine, {"here": self.here, "there": self.there}[name]),
        )
        self.job = Job.of(self.world.home("memory:home"), "one")
        spec = Spec(
            job="one",
            name="one",
            target=Target(TargetKind.SCRIPT, "train.py"),
            bundle="b" * 64,
            python="/usr/bin/python3",
            provenance=Provenance("test"),
            submitted_at=store.now(),
            machine=MACHINE,
        )
        at = store.now() - heard_seconds_ago
        record = LaunchRecord(1, "a1", "here", 1, MACHINE, at, at + 1e6, spec.bundle, place=place)
        keys = self.job.folder.keys
        for key, one in (
            (keys.spec, spec),
            (keys.launch(1), record),
            (keys.head, life.begun("one", record, ())),
        ):
            store.put(key, encode(cast(Any, one)), if_generation=0)


@pytest.fixture(autouse=True)
def nothing_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a machine is at another engine, and the agent that it fetches, are no matter here."""
    monkeypatch.setattr(resuming, "machine_again", lambda world, previous, changes, home: previous.machine)
    monkeypatch.setattr(resuming, "agent_for", lambda world, job, engine: "")


def _noted(job: Job) -> None:
    """Head is another one, of the same launch."""
    at = job.folder.read_head()
    assert job.folder.swap(at, replace(at.head, reason="noted"), "somebody") is not None


def test_a_running_job_goes_on_at_another_engine_also_when_somebody_else_writes_head_first(tmp_path: Path) -> None:
    running = Running(tmp_path, _noted)
    resuming.resume(running.world, running.job, changes={"on": "there"})
    head = running.job.folder.read_head().head
    record = running.job.folder.read_launch(head.launch)
    assert "somebody" in head.ops, "what the other one wrote is kept"
    assert record.engine == "there" and head.launch_id == record.id != "a1"
    assert head.ends == {"1": "moved"}
    assert [launch.id for launch in running.there.started] == [record.id], "started there, and once"
    assert [launch.id for launch in running.here.stopped] == ["a1"] and not running.here.started


def test_if_its_own_engine_has_it_again_by_then_it_stays_there(tmp_path: Path) -> None:
    """It is looked at anew, not only tried anew."""

    def came_up(job: Job) -> None:
        _noted(job)
        running.here.condition = Condition.RUNNING

    running = Running(tmp_path, came_up)
    with pytest.raises(UsageError, match="cannot go to `there` now"):
        resuming.resume(running.world, running.job, changes={"on": "there"})
    assert running.job.folder.read_head().head.launch_id == "a1"
    assert not running.there.started and not running.here.stopped


def test_one_of_several_pools_goes_elsewhere_when_its_machine_is_named(tmp_path: Path) -> None:
    world = Running(tmp_path, lambda job: None).world
    assert MACHINE.rented is not None
    pools = replace(MACHINE, rented=replace(MACHINE.rented, machine_type="n1-standard-4", pools=(Pool("t", 1),)))
    record = LaunchRecord(1, "a1", "here", 2, pools, 0.0, 1e6, "b" * 64)
    with pytest.raises(UsageError, match="has several pools of machines, and `there` has no such") as caught:
        check_goes(world, "one", record, "there")
    assert "`outlast resume one --on there --machine-type n1-standard-4` on one machine" in caught.value.hint
    assert check_goes(world, "one", record, "there", resized=True) is world.engine("there")
    assert workers_at(MACHINE, record) == 1


@pytest.mark.parametrize(("heard_seconds_ago", "taken"), [(SILENT_SECONDS - 60, False), (SILENT_SECONDS + 60, True)])
def test_a_job_of_another_computer_is_taken_over_when_that_is_silent_and_not_before(
    tmp_path: Path, heard_seconds_ago: float, taken: bool
) -> None:
    running = Running(tmp_path, _noted, place="far:1:2", heard_seconds_ago=heard_seconds_ago)
    running.here.capabilities = replace(CAPABILITIES, place="near:3:4")
    resuming.resume(running.world, running.job)
    head = running.job.folder.read_head().head
    assert ((head.launch_id != "a1"), [launch.id for launch in running.here.started]) == (
        taken,
        [head.launch_id] if taken else [],
    )


def test_a_stop_that_has_waited_long_enough_does_not_end_what_somebody_has_resumed_meanwhile(tmp_path: Path) -> None:
    running = Running(tmp_path, _noted)
    asked = running.job.folder.read_head()
    resuming.resume(running.world, running.job, changes={"on": "there"})
    stopping._wait(running.world, running.job, asked.head, 0.0)
    assert not running.job.folder.read_head().head.state.final


def test_a_resume_does_not_go_on_with_what_another_one_that_was_killed_had_asked_for(tmp_path: Path) -> None:
    job = Running(tmp_path, _noted).job
    first = launch_record(job, 2, "here", job.spec(), 1.0, args=("--lr", "1"))
    second = launch_record(job, 2, "here", job.spec(), 2.0, args=("--lr", "2"))
    assert (first.launch, second.launch) == (2, 3)
    assert job.folder.read_launch(3).args == ("--lr", "2")
