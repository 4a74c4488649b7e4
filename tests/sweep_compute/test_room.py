"""How many machines a sweep gets if nobody says: what quotas allow, and which of them limits it; what would be made is said before."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from outlast.engines.compute.room import room
from outlast.spec.spec import Machine, Rented
from outlast_emulator.testing import Running
from tests.cli.user import Said, User
from tests.compute.records import emulator, user
from tests.waiting import until

__all__ = ["emulator", "user"]

BUCKET = "sweeping"


def quota(metric: str, limit: float, usage: float = 0.0) -> dict[str, object]:
    return {"metric": metric, "limit": limit, "usage": usage}


def machine(machine_type: str = "n2-standard-8", *, spot: bool = True, gpus: int = 0, accelerator: str = "") -> Machine:
    rented = Rented(
        project="p",
        regions=("us-central1",),
        machine_type=machine_type,
        image="i",
        spot=spot,
        disk_gb=50,
        disk_type="pd-balanced",
        accelerator=accelerator,
        external_ip=True,
    )
    return Machine(8, gpus, rented)


@pytest.mark.parametrize(
    ("asked", "here", "everywhere", "machines", "by"),
    [
        (machine(), [quota("CPUS", 100)], [], 12, "CPUS"),
        (machine(), [quota("CPUS", 100, 61)], [], 4, "CPUS"),
        (machine(), [quota("CPUS", 100), quota("N2_CPUS", 17)], [], 2, "N2_CPUS"),
        (machine(), [quota("CPUS", 100), quota("PREEMPTIBLE_CPUS", 24)], [], 3, "PREEMPTIBLE_CPUS"),
        (machine(spot=False), [quota("CPUS", 100), quota("PREEMPTIBLE_CPUS", 24)], [], 12, "CPUS"),
        (machine(), [quota("CPUS", 100), quota("PREEMPTIBLE_CPUS", 0)], [], 12, "CPUS"),
        (machine(), [quota("CPUS", 1000)], [quota("CPUS_ALL_REGIONS", 32, 8)], 3, "CPUS_ALL_REGIONS"),
        (machine(), [quota("CPUS", 1000), quota("IN_USE_ADDRESSES", 8, 3)], [], 5, "IN_USE_ADDRESSES"),
        (machine(), [quota("CPUS", 1000), quota("SSD_TOTAL_GB", 500)], [], 10, "SSD_TOTAL_GB"),
        (machine(), [quota("CPUS", 1000), quota("INSTANCES", 7)], [], 7, "INSTANCES"),
        (
            machine(gpus=2, accelerator="nvidia-tesla-t4"),
            [quota("CPUS", 1000), quota("NVIDIA_T4_GPUS", 9)],
            [quota("GPUS_ALL_REGIONS", 16)],
            4,
            "NVIDIA_T4_GPUS",
        ),
        (
            machine(gpus=2, accelerator="nvidia-l4"),
            [quota("CPUS", 1000), quota("PREEMPTIBLE_NVIDIA_L4_GPUS", 64)],
            [quota("GPUS_ALL_REGIONS", 1)],
            0,
            "GPUS_ALL_REGIONS",
        ),
        (
            machine(gpus=8, accelerator="nvidia-h100-80gb"),
            [quota("PREEMPTIBLE_NVIDIA_H100_GPUS", 16)],
            [],
            2,
            "PREEMPTIBLE_NVIDIA_H100_GPUS",
        ),
        (machine(), [quota("CPUS", 8, 9)], [], 0, "CPUS"),
        (machine(), [], [], 1000, "1,000 machines"),
    ],
)
def test_the_tightest_quota_decides(
    asked: Machine, here: list[dict[str, object]], everywhere: list[dict[str, object]], machines: int, by: str
) -> None:
    found = room(asked, here, everywhere, 1000)
    assert found.workers == machines
    assert f"`{by}`" in found.why or by in found.why


@pytest.fixture
def sweeping(emulator: Running, user: User) -> Iterator[User]:
    emulator.make_bucket(BUCKET)
    user.env["OUTLAST_HOME"] = f"gs://{BUCKET}"
    user.write("cells.json", json.dumps({"seed": list(range(60))}))
    yield user


def sweep(user: User, *words: str) -> Said:
    return user.outlast("run", "--on", "compute", "--sweep", "cells.json", "--name", "lr", *words, "train.py")


def test_the_quota_that_limits_it_is_said(emulator: Running, sweeping: User) -> None:
    for metric in ("CPUS", "C3D_CPUS"):
        emulator.call("POST", "/_emulator/quotas", {"metric": metric, "limit": 40, "region": "us-central1"})
    said = sweep(sweeping, "--dry-run")
    assert said.code == 0, said.err
    assert "60 cells, 5 machines (by the quota `CPUS` in `us-central1`: 0 of 40 used)" in said.err, said.err


def test_without_any_quota_nothing_is_submitted(emulator: Running, sweeping: User) -> None:
    emulator.call("POST", "/_emulator/quotas", {"metric": "CPUS", "limit": 0, "region": "us-central1"})
    said = sweep(sweeping, "--detach", "--yes")
    assert said.code == 5 and "no room for a single worker" in said.err and "`CPUS`" in said.err, said
    assert sweeping.outlast("jobs", "--json").json == []


def test_a_rehearsal_makes_nothing_and_says_machines_price_and_cells(emulator: Running, sweeping: User) -> None:
    said = sweep(sweeping, "--dry-run", "--parallel", "3", "--cells-per-machine", "2")
    assert said.code == 0, said.err
    assert "60 cells, 3 machines, 2 on each (as asked for)" in said.err and "per hour" in said.err, said.err
    assert "cell 1 train.py --seed 0" in said.out
    path = "/compute/v1/projects/emulated/aggregated/instanceGroupManagers"
    assert not any(one.get("instanceGroupManagers") for one in emulator.call("GET", path).json()["items"].values())
    assert sweeping.outlast("jobs", "--json").json == []


def test_above_ten_dollars_an_hour_somebody_is_asked(sweeping: User) -> None:
    said = sweep(sweeping, "--detach", "--gpus", "A100", "--parallel", "20")
    assert said.code == 2 and "--yes" in said.err and "nothing was started" in said.err, said
    assert sweeping.outlast("jobs", "--json").json == []


def test_its_resources_carry_its_name_its_kind_and_its_labels_and_end_with_its_money(
    emulator: Running, sweeping: User
) -> None:
    """Google itself ends a machine that hangs, and cannot leave, when it has used up its share."""
    said = sweep(sweeping, "--detach", "--parallel", "2", "-l", "team=vision", "--max-cost", "4")
    assert said.code == 0, said.err
    path = "/compute/v1/projects/emulated/aggregated/instanceGroupManagers"
    groups = [
        one
        for scope in emulator.call("GET", path).json()["items"].values()
        for one in scope.get("instanceGroupManagers", [])
    ]
    assert [one["targetSize"] for one in groups] == [2]
    labels = groups[0]["allInstancesConfig"]["properties"]["labels"]
    assert labels["outlast-job"] == "lr" and labels["outlast-kind"] == "sweep" and labels["team"] == "vision", labels
    template = groups[0]["versions"][0]["instanceTemplate"].partition("projects/")[2]
    scheduling = emulator.call("GET", f"/compute/v1/projects/{template}").json()["properties"]["scheduling"]
    assert "terminationTime" not in scheduling, scheduling
    usd_per_hour = sweeping.outlast("show", "lr", "--json").json["usd_per_hour"]
    seconds = float(scheduling["maxRunDuration"]["seconds"]) * float(sweeping.env["OUTLAST_EMULATOR_TIME_SCALE"])
    assert seconds == pytest.approx(4 / usd_per_hour * 3600, rel=0.01)
    assert sweeping.outlast("stop", "lr").code == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--on", "local", "--cells-per-machine", "2"), "about machines that are rented whole"),
        (("--on", "compute", "--cells-per-machine", "64"), "64 cells cannot share the 8 CPUs"),
    ],
)
def test_cells_share_only_machines_that_have_room_for_them(sweeping: User, words: tuple[str, ...], why: str) -> None:
    said = sweeping.outlast("run", "--sweep", "cells.json", "--name", "lr", "--detach", "--yes", *words, "train.py")
    assert said.code == 2 and why in said.err and "hint:" in said.err, said.err


def test_a_machine_whose_last_worker_was_sent_away_by_hand_is_called_again(emulator: Running, sweeping: User) -> None:
    """Somebody deletes all machines of the group in the console: whoever looks fills it again."""
    assert sweep(sweeping, "--detach", "--parallel", "2").code == 0
    region = "/compute/v1/projects/emulated/regions/us-central1/instanceGroupManagers"
    (group,) = emulator.call("GET", region).json()["items"]
    emulator.call("POST", f"{region}/{group['name']}/resize?size=0")
    members = f"{region}/{group['name']}/listManagedInstances"
    until(lambda: not emulator.call("POST", members).json().get("managedInstances"), "all are gone")
    sweeping.outlast("show", "lr")
    assert emulator.call("GET", f"{region}/{group['name']}").json()["targetSize"] == 2
    assert sweeping.outlast("stop", "lr").code == 0


def test_without_capacity_it_moves_to_the_next_region_as_the_sweep_it_is(emulator: Running, sweeping: User) -> None:
    emulator.call("POST", "/_emulator/capacity", {"zone": "us-central1-*", "machines": 0})
    assert sweep(sweeping, "--detach", "--parallel", "2", "--region", "us-central1,us-east1").code == 0
    until(
        lambda: "for capacity" in (sweeping.outlast("show", "--json", "lr").json["why"] or ""), "it says that it waits"
    )
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 300})
    assert sweeping.outlast("show", "lr").code == 0
    first, second = (
        json.loads(emulator.get(BUCKET, f"jobs/lr/launches/00000{number}.json", alt="media").body) for number in (1, 2)
    )
    assert second["machine"]["rented"]["regions"] == ["us-east1"]
    assert second["cells"] == first["cells"] and second["workers"] == first["workers"] == 2
    assert sweeping.outlast("stop", "lr").code == 0
