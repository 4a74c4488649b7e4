"""Launches that cannot go on end by themselves, and say why; those that can wait say for what."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.compute.renter import BUCKET, RUNNER, Renter
from tests.waiting import until

OWNER = "roles/owner"
LONG_SECONDS = "60s"


def boots(renter: Renter) -> list[str]:
    """What the machines wrote down about their boots."""
    found = renter.emulator.call("GET", f"/storage/v1/b/{BUCKET}/o?prefix=jobs/").json().get("items", [])
    return [one["name"].rpartition("/")[2] for one in found if "/boots/" in one["name"]]


def wait_for_failed_boots(renter: Renter, job: str) -> str:
    """Nobody looks meanwhile: the machines end their launch. What `show` says then."""
    until(lambda: "failed" in boots(renter), f"the boots were given up {boots(renter)}")
    renter.wait_until_nothing_is_paid_for()
    assert renter.head(job)["state"] != "failed", "nobody has looked"
    said = renter.user.outlast("show", job)
    assert said.code == 0, said.err
    assert renter.head(job)["state"] == "failed"
    assert {"0-1", "0-2", "0-3"} <= set(boots(renter)) and "0-4-up" not in boots(renter)
    assert "\\n" not in said.out, "the end of its log is one line"
    lines = renter.emulator.call("GET", "/_emulator/usage").json()["lines"]
    usd = sum(one["usd"] for one in lines if one["kind"] in ("compute.instance", "compute.disk"))
    assert 0 < usd <= renter.shown(job)["cost_usd"], "machines that never came up are paid for too"
    return said.out


def test_without_python_it_ends_after_three_boots(renter: Renter, tmp_path: Path) -> None:
    renter.ready(OWNER)
    renter.train()
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    libraries = [str(one) for one in Path("/usr/lib").glob("python3.*")]
    renter.post("world", shown={one: str(nothing) for one in libraries})
    assert renter.run("one").code == 0
    said = wait_for_failed_boots(renter, "one")
    assert "this image has no Python 3.10 or newer" in said


def test_without_room_on_the_disk_it_ends_after_three_boots(renter: Renter) -> None:
    renter.ready(OWNER)
    renter.train()
    renter.post("world", room_bytes=400_000)
    assert renter.run("one").code == 0
    said = wait_for_failed_boots(renter, "one")
    assert "the agent" in said


def test_with_a_broken_agent_it_ends_after_three_boots(renter: Renter) -> None:
    renter.ready(OWNER)
    renter.train()
    renter.post("world", room_bytes=1)  # no machine comes up before the agent is broken
    renter.emulator.switch(boot_seconds=200.0)
    assert renter.run("one").code == 0
    renter.post("world", room_bytes=0)
    listed = renter.emulator.call("GET", f"/storage/v1/b/{BUCKET}/o?prefix=agents/").json()["items"]
    for one in listed:
        assert renter.emulator.put(BUCKET, one["name"], b"no archive").status == 200
    said = wait_for_failed_boots(renter, "one")
    assert "the agent is not what was shipped" in said


def test_without_a_right_on_the_bucket_it_says_so_and_ends(renter: Renter) -> None:
    renter.ready()
    renter.train()
    renter.post("world", environment={"OUTLAST_PAUSE_SECONDS": "1"})
    assert renter.run("one").code == 0
    until(lambda: "could not be written: 403" in (renter.shown("one")["why"] or ""), "it says what it lacks")
    said = renter.user.outlast("show", "one").out
    assert "storage.objects.create" in said and RUNNER in said
    renter.post("world", environment={"OUTLAST_PAUSE_SECONDS": "0"})
    renter.post("machines/kill", instance=renter.machine("one"))
    until(lambda: renter.shown("one")["state"] == "failed", "it has ended")
    renter.wait_until_nothing_is_paid_for()
    said = renter.user.outlast("show", "one").out
    assert "no right on the bucket" in said and "403" in said
    assert renter.shown("one")["cost_usd"] > 0, "nobody knows how long it lived, and it is paid for"


def test_without_capacity_show_says_what_it_waits_for(renter: Renter) -> None:
    renter.ready(OWNER)
    renter.train()
    renter.post("capacity", zone="us-central1-*", machines=0)
    assert renter.run("one").code == 0
    until(lambda: "for capacity" in renter.user.outlast("show", "one").out, "it says that it waits for capacity")
    said = renter.user.outlast("show", "one").out
    assert "us-central1-" in said and "ZONE_RESOURCE_POOL_EXHAUSTED" in said
    assert not renter.rented()
    renter.emulator.call("DELETE", "/_emulator/capacity")
    assert renter.wait_for_state("one", "succeeded", "failed")["state"] == "succeeded"
    renter.wait_until_nothing_is_paid_for()


@pytest.mark.parametrize("at_once", [False, True])
def test_without_quota_it_stops_and_names_quota_region_and_limit(renter: Renter, at_once: bool) -> None:
    renter.ready(OWNER)
    renter.train()
    renter.emulator.switch(quota_refused_at_once=at_once)
    for metric in ("CPUS", "PREEMPTIBLE_CPUS"):
        renter.post("quotas", metric=metric, limit=1, region="us-central1")
    said = renter.user.outlast("run", "--on", "compute", "--job-id", "one", "train.py")
    print(said)
    assert said.code == 5, said
    assert "CPUS" in said.err and "us-central1" in said.err and "1.0" in said.err
    assert "`outlast doctor --on compute`" in said.err and "`outlast resume one` begins it" in said.err
    shown = renter.shown("one")
    assert shown["state"] == "failed"
    renter.wait_until_nothing_is_paid_for()


def test_the_users_bug_never_loops(renter: Renter) -> None:
    renter.ready(OWNER)
    renter.user.write("train.py", "raise RuntimeError('a bug of mine')\n")
    said = renter.user.outlast("run", "--on", "compute", "--job-id", "one", "train.py")
    assert said.code == 1, said.err
    renter.wait_until_nothing_is_paid_for()
    assert "a bug of mine" in renter.user.outlast("logs", "one").out
    head = renter.head("one")
    assert head["state"] == "failed" and head["attempt"] == 1
    assert renter.user.outlast("show", "one").code == 0, "to look at it starts nothing"
    assert not renter.rented()


SWITCHES: list[dict[str, Any]] = [
    {"group_shrinks_at_deadline": True, "past_termination_refused": True},
    {"group_shrinks_at_deadline": False, "past_termination_refused": True},
    {"group_shrinks_at_deadline": False, "past_termination_refused": False},
]


@pytest.mark.parametrize(
    "switches",
    [SWITCHES[0], *(pytest.param(one, marks=pytest.mark.soak) for one in SWITCHES[1:])],
    ids=lambda one: "-".join(str(value) for value in one.values()),
)
def test_max_run_ends_machines_whose_agent_is_dead(renter: Renter, switches: dict[str, Any]) -> None:
    renter.ready(OWNER)
    renter.emulator.switch(**switches)
    renter.train(steps=10_000)
    assert renter.run("one", "--max-run", LONG_SECONDS).code == 0
    until(lambda: renter.head("one").get("checkpoints"), "it trains")
    inside = processes_of(next(one["pid"] for one in renter.machines() if one["alive"]))
    frozen = [pid for pid in inside if b"outlast.machine" in command_of(pid)]
    assert frozen
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    renter.wait_until_nothing_is_paid_for()
    until(lambda: renter.shown("one")["state"] == "expired", "it has expired")
    until(lambda: not renter.rented(), "nothing is rented again")


def processes_of(machine: int) -> list[int]:
    """Of the tree below a machine's own process, as this computer numbers them."""
    found = [machine]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                found += [int(one) for one in task.read_text().split()]
            except OSError:
                continue
    return found


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_launch_that_was_refused_is_not_started_by_whoever_looks_later(renter: Renter) -> None:
    renter.ready(OWNER)
    renter.train()
    said = renter.run("one", "--project", "no-such-project", "--service-account", RUNNER)
    assert said.code == 3 and "no-such-project" in said.err, said.err
    assert "nobody will start it later" in said.err and "hint: `outlast doctor --on compute`" in said.err
    assert renter.head("one")["state"] == "failed"
    shown = renter.user.outlast("show", "one")
    assert shown.code == 0 and "it could not be started" in shown.out, shown.err
    assert renter.user.outlast("delete", "--yes", "one").code == 0


def test_a_resume_that_was_refused_is_not_started_later_either(renter: Renter) -> None:
    renter.ready(OWNER)
    renter.train(steps=10_000)
    assert renter.run("one").code == 0
    assert renter.user.outlast("stop", "one").code == 0
    renter.emulator.fault("compute.regionInstanceTemplates.insert", "error", status=403, times=10)
    said = renter.user.outlast("resume", "--detach", "one")
    assert said.code == 4 and "nobody will start it later" in said.err, said.err
    assert renter.head("one")["state"] == "failed"
    renter.emulator.clear_faults()
    assert renter.user.outlast("resume", "--detach", "one").code == 0
    assert renter.user.outlast("stop", "one").code == 0


def test_a_home_on_this_computer_is_refused_before_anything_is_written(renter: Renter) -> None:
    renter.ready("roles/compute.instanceAdmin.v1", "roles/storage.admin")
    renter.train()
    del renter.user.env["OUTLAST_HOME"]
    said = renter.run("one")
    assert said.code == 2 and "a rented machine cannot reach it" in said.err and "--bucket" in said.err, said.err
    assert renter.user.outlast("jobs", "--json").json == []
