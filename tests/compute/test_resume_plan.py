"""`outlast resume --dry-run`: where a job would go on and for how much; nothing is made and nothing changes."""

from __future__ import annotations

from outlast_emulator.testing import Running
from tests.cli.user import User
from tests.compute.records import emulator, user
from tests.waiting import until

__all__ = ["emulator", "user"]


def objects(emulator: Running) -> dict[str, str]:
    found = emulator.call("GET", "/storage/v1/b/planned/o").json()["items"]
    return {one["name"]: one["generation"] for one in found}


def test_a_resume_that_is_only_planned_says_all_and_changes_nothing(emulator: Running, user: User) -> None:
    words = ("--on", "compute", "--bucket", "planned", "--job-id", "one", "--detach")
    assert user.outlast("run", *words, "train.py").code == 0
    assert user.outlast("stop", "one").code == 0
    before = objects(emulator)
    said = user.outlast("resume", "one", "--dry-run", "--json", "--region", "europe-west4", "--max-cost", "3")
    assert said.code == 0, said.err
    (launch,) = said.json["launches"]
    assert launch["rented"]["regions"] == ["europe-west4"] and launch["usd_per_hour"] > 0
    assert launch["max_cost_usd"] == 3 and launch["prices"]["machine"] > 0 and launch["resources"]
    assert {one["key"] for one in said.json["writes"]} >= {"jobs/one/launches/000002.json", "jobs/one/head.json"}
    printed = user.outlast("resume", "one", "--dry-run")
    assert "Job `one` would go on" in printed.err and "nothing was made, nothing was started" in printed.err
    assert "start 1 machine on compute" in printed.out and "make group outlast-" in printed.out
    assert objects(emulator) == before and user.outlast("show", "--json", "one").json["state"] == "stopped"
    groups = emulator.call("GET", "/compute/v1/projects/emulated/aggregated/instanceGroupManagers").json()["items"]
    assert not any(scope.get("instanceGroupManagers") for scope in groups.values())


def test_what_would_be_refused_is_refused_by_the_plan_too(emulator: Running, user: User) -> None:
    words = ("--on", "compute", "--bucket", "planned", "--job-id", "one", "--detach")
    assert user.outlast("run", *words, "--gpus", "L4", "train.py").code == 0
    assert user.outlast("stop", "one").code == 0
    refused = user.outlast("resume", "one", "--dry-run", "--region", "europe-north1")
    assert refused.code == 2 and "is not offered" in refused.err and "`--region " in refused.err, refused.err


def test_a_job_whose_image_is_gone_is_not_started_again_and_its_owner_reads_what_to_type(
    emulator: Running, user: User
) -> None:
    images = "/compute/v1/projects/emulated/global/images"
    body = {"name": "mine-1", "family": "mine", "sourceImage": "projects/debian-cloud/global/images/family/debian-12"}
    assert emulator.call("POST", images, body).status == 200
    words = ("--on", "compute", "--bucket", "planned", "--job-id", "one", "--detach", "--image", "mine-1")
    until(lambda: emulator.call("GET", f"{images}/mine-1").json().get("status") == "READY")
    assert user.outlast("run", *words, "train.py").code == 0
    assert user.outlast("stop", "one").code == 0
    assert emulator.call("DELETE", f"{images}/mine-1").status == 200
    until(lambda: emulator.call("GET", f"{images}/mine-1").status == 404)
    before = objects(emulator)
    refused = user.outlast("resume", "one", "--detach")
    assert refused.code == 3 and "image of job `one` is gone" in refused.err, refused.err
    assert "`outlast resume one --image FAMILY`" in refused.err and objects(emulator) == before
    again = user.outlast("resume", "one", "--image", "debian-cloud/debian-12", "--detach")
    assert again.code == 0, again.err
    assert user.outlast("stop", "one").code == 0
