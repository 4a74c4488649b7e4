"""A group's life: it makes, recreates, retries, moves, resizes and ends its machines."""

from __future__ import annotations

from typing import Any

import pytest

from outlast_emulator.compute import instances
from outlast_emulator.compute.failures import Failure, no_capacity
from outlast_emulator.errors import ApiError
from tests.emulator_groups.conftest import IMAGE, PROJECT, World, spot
from tests.waiting import until

BALANCED_DISK = [
    {"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": IMAGE, "diskType": "pd-balanced"}}
]


def exhaust(world: World, *zones: str) -> None:
    """As if these zones had no room: whatever the real check says besides."""

    def check(project: str, zone: str, document: dict[str, object]) -> None:
        if zone in zones:
            raise no_capacity(project, zone, "n2-standard-8")

    world.compute.capacity.check = check  # type: ignore[method-assign]


def test_a_group_makes_its_machines_with_numbers_in_a_row(world: World) -> None:
    world.template()
    world.group(size=3)
    assert [one.name for one in world.running(3)] == ["g-0", "g-1", "g-2"]


def test_a_machine_knows_its_group_and_its_template(world: World) -> None:
    world.template(labels={"from": "template"}, metadata={"items": [{"key": "mine", "value": "yes"}]})
    world.group(allInstancesConfig={"properties": {"labels": {"of": "group"}, "metadata": {"more": "1"}}})
    (machine,) = world.running()
    items = {item["key"]: item["value"] for item in machine.document["metadata"]["items"]}
    assert machine.document["labels"] == {"from": "template", "of": "group"}
    assert (items["mine"], items["more"]) == ("yes", "1")
    assert items["instance-template"].endswith("/instanceTemplates/t")
    assert machine.state["by"].endswith("/instanceGroupManagers/g")


@pytest.mark.parametrize("why", [instances.PREEMPTED, instances.GUEST, instances.STOPPED, instances.HOST_ERROR])
def test_a_machine_that_stops_is_deleted_and_made_again_under_its_name(world: World, why: str) -> None:
    world.template()
    world.group()
    (first,) = world.running()
    world.compute.instances.end(first, why, grace_seconds=0)
    second = world.successor(first)
    assert second.id != first.id
    assert world.compute.instances.fresh(first) is None


def test_a_machine_that_somebody_deletes_comes_back(world: World) -> None:
    world.template()
    world.group()
    (first,) = world.running()
    world.compute.instances.delete(first)
    world.successor(first)


def test_a_group_waits_for_capacity_and_says_what_it_waits_for(world: World) -> None:
    exhaust(world, "us-central1-a", "us-central1-b", "us-central1-c")
    world.template()
    world.group()
    until(lambda: len(world.found().errors) >= 6, "it did not try again")
    group = world.found()
    (member,) = group.members
    assert (member.action, member.machine_id) == ("CREATING", 0)
    codes = [error["code"] for error in group.attempts[member.name]]
    assert codes == ["ZONE_RESOURCE_POOL_EXHAUSTED"] * 3
    zones = {error["instanceActionDetails"]["instance"].split("/")[-3] for error in group.errors}
    assert zones == {"us-central1-a", "us-central1-b", "us-central1-c"}
    exhaust(world)
    world.running()
    assert world.found().attempts == {}


def test_a_new_machine_goes_where_there_is_room(world: World) -> None:
    exhaust(world, "us-central1-a")
    world.template()
    world.group()
    assert world.running()[0].zone == "us-central1-b"


def test_a_repair_changes_the_zone_where_that_is_allowed(world: World) -> None:
    world.template()
    world.group()
    (first,) = world.running()
    exhaust(world, first.zone)
    world.compute.instances.end(first, instances.PREEMPTED, delete=True, grace_seconds=0)
    second = world.successor(first)
    assert (second.name, second.zone) == (first.name, "us-central1-b")


def test_a_repair_stays_in_its_zone_where_that_is_not_allowed(world: World) -> None:
    world.template()
    world.group(instanceLifecyclePolicy={"forceUpdateOnRepair": "YES"})
    (first,) = world.running()
    exhaust(world, first.zone)
    world.compute.instances.end(first, instances.PREEMPTED, delete=True, grace_seconds=0)
    until(lambda: len(world.found().errors) >= 2, "it did not try again")
    assert {error["instanceActionDetails"]["action"] for error in world.found().errors} == {"RECREATING"}
    assert world.instances() == []
    exhaust(world)
    assert world.successor(first).zone == first.zone


def test_a_lack_of_quota_is_named_and_tried_again(world: World) -> None:
    def check(project: str, zone: str, document: dict[str, object]) -> None:
        raise Failure("QUOTA_EXCEEDED", "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally.", 403)

    world.compute.capacity.check = check  # type: ignore[method-assign]
    world.template()
    world.group()
    until(lambda: world.found().attempts)
    assert world.found().attempts["g-0"][0]["code"] == "QUOTA_EXCEEDED"


def test_a_flexible_group_falls_back_to_the_next_type_by_rank(world: World) -> None:
    def check(project: str, zone: str, document: dict[str, object]) -> None:
        if str(document["machineType"]).endswith("n2-standard-8"):
            raise no_capacity(project, zone, "n2-standard-8")

    world.compute.capacity.check = check  # type: ignore[method-assign]
    world.template()
    selections = {
        "then": {"rank": 2, "machineTypes": ["n2-standard-16"]},
        "first": {"rank": 1, "machineTypes": ["n2-standard-8"]},
    }
    world.group(instanceFlexibilityPolicy={"instanceSelections": selections})
    assert world.running()[0].document["machineType"].endswith("n2-standard-16")


def test_balanced_machines_are_spread_and_a_single_zone_holds_all(world: World) -> None:
    world.template()
    zones = [{"zone": f"zones/us-central1-{letter}"} for letter in "abc"]
    world.group("b", 3, distributionPolicy={"targetShape": "BALANCED", "zones": zones})
    assert sorted(one.zone for one in world.running(3)) == ["us-central1-a", "us-central1-b", "us-central1-c"]
    single = {"targetShape": "ANY_SINGLE_ZONE", "zones": zones}
    exhaust(world, "us-central1-a")
    world.group("s", 3, distributionPolicy=single, instanceLifecyclePolicy={})
    assert {one.zone for one in world.running(6) if one.name.startswith("s-")} == {"us-central1-b"}


def test_a_larger_group_grows_and_a_smaller_one_shrinks_for_good(world: World) -> None:
    world.template()
    group = world.group(size=1)
    world.running(1)
    world.compute.groups.resize(group, 3)
    world.running(3)
    world.compute.groups.resize(group, 1)
    assert [one.name for one in world.running(1)] == ["g-0"]
    until(lambda: len(world.instances()) == 1)


def test_a_deleted_member_is_not_repaired(world: World) -> None:
    world.template()
    group = world.group(size=2)
    first, _ = world.running(2)
    world.compute.groups.delete_instances(group, [first.url])
    assert [one.name for one in world.running(1)] == ["g-1"]
    assert world.found().document["targetSize"] == 1


def test_a_recreated_member_keeps_its_name_on_a_new_machine(world: World) -> None:
    world.template()
    group = world.group()
    (first,) = world.running()
    world.compute.groups.recreate_instances(group, [f"zones/{first.zone}/instances/{first.name}"])
    world.successor(first)


def test_an_abandoned_machine_goes_on_without_the_group(world: World) -> None:
    world.template()
    group = world.group()
    (first,) = world.running()
    world.compute.groups.abandon_instances(group, [first.url])
    until(lambda: not world.found().members)
    world.compute.instances.stop(first)
    until(lambda: world.instances()[0].status == "TERMINATED")
    assert world.instances()[0].id == first.id


def test_a_stranger_is_no_member(world: World) -> None:
    world.template()
    group = world.group()
    world.running()
    with pytest.raises(ApiError, match=r"not a member of the managed instance group"):
        world.compute.groups.delete_instances(group, ["zones/us-central1-a/instances/other"])
    world.compute.groups.delete_instances(group, ["zones/us-central1-a/instances/other"], skip=True)
    assert world.found().document["targetSize"] == 1


def test_a_deleted_group_takes_its_machines_with_it_and_then_its_operation_ends(world: World) -> None:
    world.template()
    group = world.group(size=2)
    world.running(2)
    operation = world.compute.operations.begin("delete", group.resource)
    world.compute.groups.delete(group, operation)
    with pytest.raises(ApiError, match="is not ready"):
        world.compute.groups.resize(group, 5)
    until(lambda: not world.compute.groups.all(PROJECT))
    assert world.instances() == []
    ended = world.compute.resources.by_id(operation.id)
    assert ended is not None and ended.status == "DONE"


def test_a_group_without_capacity_can_be_deleted(world: World) -> None:
    exhaust(world, "us-central1-a", "us-central1-b", "us-central1-c")
    world.template()
    group = world.group()
    until(lambda: world.found().errors)
    world.compute.groups.delete(group, world.compute.operations.begin("delete", group.resource))
    until(lambda: not world.compute.groups.all(PROJECT))


def test_a_template_is_kept_while_a_group_uses_it(world: World) -> None:
    world.template()
    group = world.group()
    world.running()
    template = world.compute.resources.list("instanceTemplates", PROJECT)[0]
    with pytest.raises(ApiError, match=r"instance_template resource .* is already being used by .*/g'") as refusal:
        world.compute.templates.check_unused(template)
    assert refusal.value.reason == "resourceInUseByAnotherResource"
    world.compute.groups.delete(group, world.compute.operations.begin("delete", group.resource))
    until(lambda: not world.compute.groups.all(PROJECT))
    world.compute.templates.check_unused(template)


def test_a_new_template_is_for_machines_that_are_made_afterwards(world: World) -> None:
    world.template()
    world.template("u", machineType="n2-standard-16")
    group = world.group(size=1)
    (first,) = world.running(1)
    world.compute.groups.patch(
        group, {"instanceTemplate": f"projects/{PROJECT}/regions/us-central1/instanceTemplates/u"}
    )
    assert world.running(1)[0].id == first.id
    world.compute.groups.apply_updates(group, [first.url], everybody=False, replacing=False)
    assert world.successor(first).document["machineType"].endswith("n2-standard-16")


def test_a_zonal_group_lives_in_its_zone(world: World) -> None:
    world.template(scope="global")
    body = {
        "name": "z",
        "baseInstanceName": "z",
        "targetSize": 2,
        "instanceTemplate": "global/instanceTemplates/t",
    }
    world.compute.groups.create(PROJECT, "zones/us-central1-f", body)
    found = world.running(2)
    assert {one.zone for one in found} == {"us-central1-f"}
    assert all(len(one.name) == len("z-xxxx") for one in found)


def test_a_killed_emulator_takes_its_groups_up_again(world: World) -> None:
    world.template()
    world.group(size=2)
    before = {one.id for one in world.running(2)}
    world.reborn()
    # Spot machines do not restart: their host is gone, and the group makes others.
    until(lambda: not before & {one.id for one in world.instances()})
    assert [one.name for one in world.running(2)] == ["g-0", "g-1"]


def test_a_deletion_that_was_cut_short_is_finished_by_the_next_start(world: World) -> None:
    world.template()
    group = world.group(size=2)
    world.running(2)
    world.compute.scheduler.close()
    operation = world.compute.operations.begin("delete", group.resource)
    world.compute.groups.delete(group, operation)
    world.reborn()
    until(lambda: not world.compute.groups.all(PROJECT))
    assert world.instances() == []


def test_a_standard_group_is_repaired_too(world: World) -> None:
    world.template(scheduling={"provisioningModel": "STANDARD", "automaticRestart": False})
    world.group()
    (first,) = world.running()
    world.compute.instances.end(first, instances.HOST_ERROR, grace_seconds=0)
    world.successor(first)


def test_a_group_that_does_nothing_on_failure_leaves_a_stopped_machine_alone(world: World) -> None:
    world.template(scheduling=spot(instanceTerminationAction="STOP"))
    world.group(instanceLifecyclePolicy={"defaultActionOnFailure": "DO_NOTHING"})
    (first,) = world.running()
    world.compute.instances.end(first, instances.PREEMPTED, grace_seconds=0)
    until(lambda: world.instances()[0].status == "TERMINATED")
    assert world.compute.instances.fresh(first) is not None


def test_a_zone_that_has_no_such_machines_is_passed_over_without_an_error(world: World) -> None:
    world.template(machineType="a2-ultragpu-1g", disks=BALANCED_DISK)
    zones = [{"zone": f"zones/us-central1-{letter}"} for letter in "bfa"]
    world.group(distributionPolicy={"targetShape": "ANY", "zones": zones})
    assert world.running()[0].zone == "us-central1-a"
    assert world.found().errors == []


def test_an_even_group_is_even_again_after_a_deletion(world: World) -> None:
    world.template()
    zones = [{"zone": f"zones/us-central1-{letter}"} for letter in "ab"]
    group = world.group("e", 4, distributionPolicy={"targetShape": "EVEN", "zones": zones}, instanceLifecyclePolicy={})
    made = world.running(4)
    assert sorted(one.zone[-1] for one in made) == ["a", "a", "b", "b"]
    world.compute.groups.delete_instances(group, [one.url for one in made if one.zone.endswith("b")])
    until(lambda: sorted(one.zone[-1] for one in world.instances() if one.status == "RUNNING") == ["a", "b"])


def test_a_death_that_the_api_learns_of_late_is_repaired_late(world: World) -> None:
    world.switches.status_lag_seconds = 210.0
    world.template()
    world.group()
    (first,) = world.running()
    world.compute.preemption.preempt(first, 0)
    until(lambda: "ending" in (world.compute.instances.fresh(first) or first).state)
    until(lambda: not world.compute.instances.guest(first))
    found = world.compute.instances.fresh(first)
    assert found is not None and found.status == "RUNNING"
    assert [member.action for member in world.found().members] == ["NONE"]
    world.successor(first)


def test_a_death_that_nobody_was_told_of_is_seen_at_the_next_start(world: World) -> None:
    world.template()
    world.group()
    (first,) = world.running()
    world.compute.scheduler.close()
    world.compute.disks.let_go(first)
    world.compute.resources.remove(first)
    world.reborn()
    world.successor(first)


def test_an_attempt_that_fails_halfway_leaves_nothing_behind(world: World) -> None:
    made, failing = world.compute.instances.create, True

    def create(*arguments: Any, **named: Any) -> Any:
        instance = made(*arguments, **named)
        if failing:
            raise Failure("INTERNAL_ERROR", "its host failed", 503)
        return instance

    world.compute.instances.create = create  # type: ignore[method-assign]
    world.template()
    world.group()
    until(lambda: world.found().attempts)
    assert world.instances() == []
    assert world.compute.resources.list("disks", PROJECT) == []
    failing = False
    world.running()
