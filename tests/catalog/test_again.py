"""A job that goes on rents what it had, but for what was asked for now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from outlast.errors import UsageError
from outlast.folder.records import LaunchRecord
from outlast.jobs.asked import Asked
from outlast.jobs.machine import find_machine, first_region
from outlast.jobs.rent_again import differs, machine_again
from outlast.jobs.world import World, system_world
from outlast.spec.spec import Machine, Rented
from outlast_emulator.testing import Running
from tests.cli.user import User

ENGINE = "compute"
ACCOUNT = "outlast-runner"


@pytest.fixture
def world(user: User, emulator: Running, monkeypatch: pytest.MonkeyPatch) -> World:
    for name, value in user.environ().items():
        monkeypatch.setenv(name, value)
    made = emulator.call("POST", "/v1/projects/emulated/serviceAccounts", {"accountId": ACCOUNT})
    assert made.status in (200, 409), made.body
    return system_world()


def launched(world: World, **asked: Any) -> LaunchRecord:
    found = find_machine(world, Asked(target="train.py", **asked), world.engine(ENGINE))
    return LaunchRecord(1, "aa", ENGINE, 1, first_region(found.machine), 0.0, 100.0, "bundle")


def again(world: World, record: LaunchRecord, **changes: Any) -> tuple[Machine, Rented]:
    machine = machine_again(world, record, changes)
    assert machine.rented is not None
    return machine, machine.rented


def test_without_a_word_it_is_the_very_same_machine(world: World) -> None:
    record = launched(world, gpus="L4", zones=("us-central1-b",), disk_gb=70, linger_seconds=9.0)
    assert machine_again(world, record, {}) == record.machine
    assert machine_again(world, record, {"max_cost_usd": 5.0}) == record.machine


def test_another_region_has_its_own_zones_and_price_and_all_else_stays(world: World) -> None:
    record = launched(world, gpus="2xL4", zones=("us-central1-b",), disk_gb=70, external_ip=False, network="default")
    before = record.machine.rented
    machine, rented = again(world, record, region="europe-west4")
    assert before is not None and machine.gpus == 2
    assert rented.regions == ("europe-west4",) and set(rented.zones) == {f"europe-west4-{one}" for one in "abc"}
    assert rented.usd_per_hour != before.usd_per_hour > 0
    kept = ("machine_type", "image", "disk_gb", "disk_type", "external_ip", "network", "service_account", "spot")
    assert [getattr(rented, name) for name in kept] == [getattr(before, name) for name in kept]


def test_a_zone_alone_moves_it_to_the_zones_region(world: World) -> None:
    _, rented = again(world, launched(world), zones=("us-east1-c",))
    assert (rented.regions, rented.zones) == (("us-east1",), ("us-east1-c",))


def test_gpus_choose_the_machine_anew_with_an_image_that_has_a_driver(world: World) -> None:
    record = launched(world)
    machine, rented = again(world, record, gpus="A100")
    assert (machine.gpus, rented.machine_type) == (1, "a2-highgpu-1g") and "nvidia" in rented.image
    machine, rented = again(world, launched(world, gpus="L4"), gpus="A100")
    assert rented.machine_type == "a2-highgpu-1g"
    machine, rented = again(world, launched(world, gpus="L4"), gpus=0)
    assert machine.gpus == 0 and "debian-12" in rented.image


def test_a_larger_machine_keeps_its_gpus_and_its_pinned_image(world: World) -> None:
    record = launched(world, gpus="L4")
    machine, rented = again(world, record, cpus=32)
    assert (rented.machine_type, machine.gpus, rented.accelerator) == ("g2-standard-32", 1, "nvidia-l4")
    assert record.machine.rented is not None and rented.image == record.machine.rented.image
    assert again(world, record, spot=False)[1].spot is False


def test_what_is_not_offered_is_refused_with_what_is(world: World) -> None:
    record = launched(world, gpus="L4")
    with pytest.raises(UsageError, match="is not offered"):
        machine_again(world, record, {"region": "europe-north1"})
    with pytest.raises(UsageError, match="no service account"):
        machine_again(world, record, {"service_account": "nobody@emulated.iam.gserviceaccount.com"})


def test_a_machine_that_is_not_rented_takes_other_cpus_and_refuses_the_rest(world: World) -> None:
    record = LaunchRecord(1, "aa", "local", 1, Machine(1, 0), 0.0, 100.0, "bundle")
    assert machine_again(world, record, {"cpus": 2}) == Machine(2, 0)
    with pytest.raises(UsageError, match="rents none"):
        machine_again(world, record, {"zones": ("us-east1-c",), "said": ("--zone",)})


def test_the_same_request_is_the_same_machine_whatever_was_met_and_paid_meanwhile(world: World) -> None:
    record = launched(world, gpus="L4")
    before = record.machine.rented
    assert before is not None
    later = replace(before, zones=tuple(reversed(before.zones)), usd_per_hour=9.0, usd_per_hour_on_demand=10.0)
    assert not differs(record.machine, replace(record.machine, rented=later))
    assert differs(record.machine, replace(record.machine, rented=replace(later, zones=later.zones[:1])))
    assert differs(record.machine, replace(record.machine, rented=replace(later, spot=False)))
    assert differs(Machine(1, 0), Machine(2, 0)) and not differs(Machine(1, 0), Machine(1, 0))
