"""`outlast audit`: what is paid for, in every region, and whether a job needs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from outlast.folder.folder import Folder
from outlast.folder.home import Home
from outlast.folder.records import Head, State
from outlast.jobs.world import system_world
from outlast_emulator.testing import Running
from tests.cli.user import User
from tests.compute.records import emulator, user
from tests.waiting import until

__all__ = ["emulator", "user"]


def submit(user: User, job: str, *options: str) -> None:
    said = user.outlast(
        "run", "--on", "compute", "--bucket", "audited", "--job-id", job, "--detach", *options, "train.py"
    )
    assert said.code == 0, said.err


def folder(job: str) -> Folder:
    return Home(system_world().open_store("gs://audited"), system_world().random).folder(job)


def change(job: str, **changes: Any) -> None:
    """Its head, as if something had ended it and had died before it ended the machines."""
    at = folder(job).read_head()
    head: Head = replace(at.head, **changes)
    assert folder(job).swap(at, head, "by-hand") is not None


def items(user: User, *options: str) -> tuple[int, dict[str, set[str]]]:
    said = user.outlast("audit", "--json", *options)
    found: dict[str, set[str]] = {}
    for item in said.json["items"]:
        found.setdefault(item["verdict"], set()).add(item["kind"])
    return said.code, found


def compute_alive(emulator: Running) -> list[str]:
    alive = emulator.call("GET", "/_emulator/ledger").json()["alive"]
    return [one["name"] for one in alive if one["kind"].startswith("compute.")]


def test_what_a_living_job_has_is_needed_in_whatever_region(emulator: Running, user: User) -> None:
    submit(user, "here")
    submit(user, "there", "--region", "europe-west4")
    code, found = items(user)
    assert code == 0 and found["needed"] >= {"group", "machine", "disk"}, found
    said = user.outlast("audit")
    assert "europe-west4" in said.out and "nothing has leaked" in said.err
    assert user.outlast("audit", "--json").json["usd_per_hour"] > 0


def test_a_machine_that_outlives_its_job_has_leaked_and_is_removed(emulator: Running, user: User) -> None:
    submit(user, "over")
    change("over", state=State.SUCCEEDED, ended_at=folder("over").store.now() - 600, nonce="")
    code, found = items(user)
    assert code == 9 and {"group", "machine", "disk"} <= found["leak"], found
    assert compute_alive(emulator)
    said = user.outlast("audit", "--fix")
    assert said.code == 0 and "removed group" in said.err, said.err
    assert compute_alive(emulator) == []
    assert user.outlast("audit").code == 0


def test_whoever_looks_at_a_job_that_has_ended_ends_what_its_machine_could_not(emulator: Running, user: User) -> None:
    submit(user, "over")
    change("over", state=State.SUCCEEDED, ended_at=folder("over").store.now() - 600, nonce="")
    assert compute_alive(emulator)
    assert user.outlast("show", "over").code == 0
    assert compute_alive(emulator) == []


def templates(emulator: Running, kind: str = "instanceTemplates") -> list[str]:
    found = emulator.call("GET", f"/compute/v1/projects/emulated/aggregated/{kind}").json()["items"]
    return [one["name"] for scope in found.values() for one in scope.get(kind, [])]


def test_templates_of_a_launch_that_ended_by_itself_go_with_the_next_look(emulator: Running, user: User) -> None:
    submit(user, "over")
    (group,) = templates(emulator, "instanceGroupManagers")
    path = f"/compute/v1/projects/emulated/regions/us-central1/instanceGroupManagers/{group}"
    made = emulator.call("DELETE", path)
    assert made.status == 200, "as its machine does"
    until(lambda: not templates(emulator, "instanceGroupManagers"), "the group is gone")
    change("over", state=State.SUCCEEDED, ended_at=folder("over").store.now() - 30, nonce="")
    assert user.outlast("show", "over").code == 0 and templates(emulator), "its machine may be on its way out"
    at = folder("over").read_head()
    assert folder("over").swap(at, replace(at.head, ended_at=folder("over").store.now() - 600), "later") is not None
    assert user.outlast("show", "over").code == 0
    assert templates(emulator) == []


def test_what_says_that_a_launch_was_stopped_goes_when_nobody_can_start_it_any_more(
    emulator: Running, user: User
) -> None:
    submit(user, "stopped")
    assert user.outlast("stop", "stopped").code == 0
    assert len(templates(emulator)) == 1
    assert user.outlast("show", "stopped").code == 0 and len(templates(emulator)) == 1
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 2 * 3600})
    assert user.outlast("show", "stopped").code == 0
    assert templates(emulator) == []


def test_what_has_just_ended_is_on_its_way(emulator: Running, user: User) -> None:
    submit(user, "just")
    change("just", state=State.SUCCEEDED, ended_at=folder("just").store.now() - 5, nonce="")
    code, found = items(user)
    assert code == 0 and "leak" not in found and "machine" in found["going"], found


def test_what_another_launch_or_nobody_needs_has_leaked(emulator: Running, user: User) -> None:
    submit(user, "moved")
    submit(user, "deleted")
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 600})
    change("moved", launch_id="ffffffffffffffff")
    folder("deleted").store.delete("jobs/deleted/head.json")
    said = user.outlast("audit")
    assert said.code == 9
    assert "goes on with another launch" in said.out and "there is no job `deleted`" in said.out, said.out


def test_what_belongs_to_a_home_of_somebody_else_is_shown_and_left_alone(emulator: Running, user: User) -> None:
    submit(user, "theirs")
    (user.outlast_dir / "homes.json").unlink()
    code, found = items(user)
    assert code == 0 and "machine" in found["unknown"], found
    user.outlast("audit", "--fix")
    assert compute_alive(emulator)
    code, found = items(user, "--home", "gs://audited")
    assert code == 0 and "machine" in found["needed"], found


def test_templates_that_nobody_uses_cost_nothing_and_go_with_fix(emulator: Running, user: User) -> None:
    submit(user, "stopped")
    assert user.outlast("stop", "stopped").code == 0
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 2 * 3600})
    code, found = items(user)
    assert code == 0 and found == {"litter": {"template"}}, found
    assert user.outlast("audit", "--fix").code == 0
    assert items(user) == (0, {})


def test_a_cloud_that_does_not_answer_is_no_clean_bill(emulator: Running, user: User) -> None:
    emulator.fault("compute.instances.aggregatedList", "error", status=403, times=10)
    said = user.outlast("audit")
    assert said.code == 4 and "looking through project `emulated`" in said.err, said.err


def test_a_machine_of_unknown_price_is_not_said_to_be_free(emulator: Running, user: User) -> None:
    submit(user, "here")
    project, zone = "/compute/v1/projects/emulated", "europe-west4-a"
    machine = {
        "name": "orphan",
        "machineType": f"zones/{zone}/machineTypes/f1-micro",
        "labels": {"outlast": "1"},
        "disks": [
            {"boot": True, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12"}}
        ],
        "networkInterfaces": [{}],
    }
    made = emulator.call("POST", f"{project}/zones/{zone}/instances", machine)
    assert made.status == 200, made.body
    emulator.call("POST", f"{project}/zones/{zone}/operations/{made.json()['name']}/wait")
    said = user.outlast("audit")
    assert said.code == 9 and "1 leak, at least $0.000 an hour" in said.err, said.err
    assert "?" in next(line for line in said.out.splitlines() if "orphan" in line)
    document = user.outlast("audit", "--json").json
    (orphan,) = (item for item in document["items"] if item["name"] == "orphan" and item["kind"] == "machine")
    assert orphan["usd_per_hour"] is None and document["unpriced"] == 1
    assert all(item["usd_per_hour"] is not None for item in document["items"] if item is not orphan)


def test_an_address_is_paid_for_too(emulator: Running, user: User) -> None:
    submit(user, "with")
    submit(user, "without", "--no-external-ip")
    machines = [one for one in user.outlast("audit", "--json").json["items"] if one["kind"] == "machine"]
    usd = {one["job"]: one["usd_per_hour"] for one in machines}
    assert usd["with"] - usd["without"] == pytest.approx(0.0025)
    assert "with an address" in next(one["detail"] for one in machines if one["job"] == "with")
