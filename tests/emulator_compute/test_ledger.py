"""What machines, disks and images cost: each line begins and ends with its thing, and adds up."""

from __future__ import annotations

import pytest

from outlast_emulator.compute import machine_types
from tests.emulator_compute.conftest import ZONE, Api
from tests.waiting import until

HERE = f"zones/{ZONE}/instances"
SPOT = {"provisioningModel": "SPOT"}
LIST_PRICES = {
    "n1-standard-8": (0.380, 0.178),
    "n2-standard-8": (0.388, 0.223),
    "n2d-standard-8": (0.338, 0.118),
    "c3-standard-8": (0.403, 0.126),
    "c3d-standard-8": (0.363, 0.077),
    "c4-standard-8": (0.395, 0.237),
    "c4d-standard-8": (0.370, 0.136),
    "e2-standard-4": (0.134, 0.080),
    "g2-standard-8": (0.294 + 0.56, 0.176 + 0.336),
    "a2-highgpu-1g": (0.739 + 2.934, 0.427 + 1.694),
    "a3-highgpu-8g": (9.46 + 8 * 9.797, 5.68 + 8 * 5.878),
    "g4-standard-48": (3.404 + 1.096, 1.167 + 0.482),
}
"""us-central1 as of 2026-08-21, on demand and Spot."""


def kinds(api: Api) -> list[str]:
    return sorted(line["kind"] for line in api.control("GET", "ledger")["alive"])


@pytest.mark.parametrize("name", sorted(LIST_PRICES))
def test_prices_are_googles(name: str) -> None:
    machine = machine_types.find(name)
    assert machine is not None
    on_demand, spot = LIST_PRICES[name]
    assert machine_types.usd_per_hour(machine, {}, False) == pytest.approx(on_demand, rel=0.01)
    assert machine_types.usd_per_hour(machine, {}, True) == pytest.approx(spot, rel=0.02)


def test_a_machine_is_paid_for_while_it_runs_and_its_disk_while_it_is_there(api: Api) -> None:
    assert kinds(api) == []
    api.make(machineType=f"zones/{ZONE}/machineTypes/n2-standard-8")
    found = api.control("GET", "ledger")
    assert kinds(api) == ["compute.disk", "compute.instance"]
    assert found["usd_per_hour"] == pytest.approx(0.3884 + 10 * 0.04 / 730, rel=0.01)
    api.done(api.post(f"{HERE}/vm/stop"))
    assert kinds(api) == ["compute.disk"]
    api.done(api.delete(f"{HERE}/vm"))
    assert kinds(api) == []
    assert api.control("GET", "ledger")["usd_total"] > found["usd_total"]


def test_a_machine_that_is_preempted_within_a_minute_of_its_creation_is_free(api: Api) -> None:
    api.emulator.switch(boot_seconds=0.0)
    api.make(scheduling=SPOT)
    api.control("POST", "preempt", {"instance": "vm", "notice_seconds": 0})
    until(lambda: api.instance()["status"] == "TERMINATED")
    lines = [line for line in api.control("GET", "usage")["lines"] if line["kind"] == "compute.instance"]
    assert [line["usd"] for line in lines] == [0.0]


def test_a_machine_that_is_preempted_later_is_paid_for(api: Api) -> None:
    api.make(scheduling=SPOT)
    api.control("POST", "clock", {"skew_seconds": 7200})
    api.control("POST", "preempt", {"instance": "vm", "notice_seconds": 0})
    until(lambda: api.instance()["status"] == "TERMINATED")
    lines = [line for line in api.control("GET", "usage")["lines"] if line["kind"] == "compute.instance"]
    assert lines[0]["usd"] == pytest.approx(2 * lines[0]["usd_per_hour"], rel=0.01)


def test_an_image_and_a_disk_alone_are_paid_for(api: Api) -> None:
    api.done(api.post(f"zones/{ZONE}/disks", {"name": "d", "sizeGb": "100", "type": f"zones/{ZONE}/diskTypes/pd-ssd"}))
    assert api.control("GET", "ledger")["usd_per_hour"] == pytest.approx(100 * 0.17 / 730)
    api.done(api.post(f"zones/{ZONE}/disks/d/resize", {"sizeGb": "200"}))
    assert api.control("GET", "ledger")["usd_per_hour"] == pytest.approx(200 * 0.17 / 730)
    api.done(api.post("global/images", {"name": "i", "sourceDisk": f"zones/{ZONE}/disks/d"}))
    assert kinds(api) == ["compute.disk", "compute.image"]
    api.done(api.delete(f"zones/{ZONE}/disks/d"))
    api.done(api.delete("global/images/i"))
    assert kinds(api) == []
