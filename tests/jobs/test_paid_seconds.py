"""How long a sweep's money pays for each of its machines, and by which limit Google ends one that hangs."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from outlast.engines.compute import bodies
from outlast.engines.compute.variants import Variant
from outlast.engines.engine import Launch
from outlast.folder.bills import Bills
from outlast.folder.home import Home
from outlast.folder.records import LaunchRecord, SweepLaunch
from outlast.folder.sweep_records import Bill, Grid, as_text
from outlast.jobs.job import Job, to_start
from outlast.spec.record import encode
from outlast.spec.spec import Machine, Provenance, Rented, Spec, Sweep, Target, TargetKind
from outlast.store.memory import MemoryStore

RENTED = Rented("p", ("us-central1",), "n2-standard-8", image="projects/x/global/images/y", usd_per_hour=3.6)
DAY = 86400.0


def sweep(launch: int, max_cost_usd: float | None) -> tuple[Job, LaunchRecord, Spec]:
    store = MemoryStore()
    job = Job.of(Home(store, Random(1)), "lr")
    now = store.now()
    spec = Spec(
        job="lr",
        name="lr",
        target=Target(TargetKind.SCRIPT, "train.py"),
        bundle="b" * 64,
        python="/usr/bin/python3",
        provenance=Provenance("test"),
        submitted_at=now,
        cells=Sweep(),
    )
    record = LaunchRecord(
        launch, "2" * 16, "compute", 4, Machine(8, 0, RENTED), now, now + 7 * DAY, "b" * 64, usd_per_hour=3.6
    )
    grid = Grid(1, 1, 2, as_text({"n": [1, 2]}))
    store.put("jobs/lr/grids/000001.json", encode(grid), if_generation=0)
    return job, replace(record, max_cost_usd=max_cost_usd, cells=SweepLaunch(1)), spec


def properties(launch: Launch) -> dict[str, Any]:
    made = bodies.template(launch, RENTED, Variant(notice=False, action="DELETE", timed=True), 0, {"outlast-job": "lr"})
    found: dict[str, Any] = made["properties"]
    return found


def scheduling(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = properties(launch)["scheduling"]
    return found


def stays(launch: Launch) -> bool:
    return any(item["key"] == bodies.STAYS for item in properties(launch)["metadata"]["items"])


def test_its_machines_share_what_earlier_launches_have_left() -> None:
    job, record, spec = sweep(2, 8.0)
    now = job.folder.store.now()
    Bills(job.folder).write(f"{1:016d}-0-1", Bill(1, 0, "0-1", 3.6, now - 5000.0, now - 1000.0))  # 4 dollars
    Bills(job.folder).write(f"{record.id}-0-1", Bill(2, 0, "0-1", 3.6, now - 500.0, now))  # its own
    assert to_start(job, record, spec).paid_seconds == pytest.approx(1000.0)


def test_a_machine_ends_with_its_share_or_with_its_launch_whatever_comes_first() -> None:
    for max_cost_usd, paid_seconds in ((8.0, "2000"), (0.001, "30")):
        launch = to_start(*sweep(1, max_cost_usd))
        assert scheduling(launch)["maxRunDuration"] == {"seconds": paid_seconds}
        assert "terminationTime" not in scheduling(launch), "Google takes one of them"
        assert stays(launch), "made again it would have a whole share again"
    for limit in (None, 10_000.0):
        launch = to_start(*sweep(1, limit))
        assert "maxRunDuration" not in scheduling(launch) and scheduling(launch)["terminationTime"]
        assert not stays(launch)
