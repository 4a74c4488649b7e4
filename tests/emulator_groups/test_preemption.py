"""How machines are taken away: with notice, soft-off, at once; by maintenance; by their time limit."""

from __future__ import annotations

from typing import Any

import pytest

from outlast_emulator.compute.hosting import Silence
from outlast_emulator.compute.resources import Instance
from outlast_emulator.errors import ApiError
from tests.emulator_groups.conftest import PROJECT, World, spot
from tests.waiting import until

GPU = [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}]


class Witness(Silence):
    """A machine that keeps what it was told, and how it was ended."""

    def __init__(self) -> None:
        super().__init__()
        self.endings: list[tuple[str, float]] = []

    def soft_off(self, seconds: float) -> None:
        self.endings.append(("soft", round(seconds, 3)))

    def kill(self) -> None:
        self.endings.append(("kill", 0.0))


def witnessed(world: World) -> dict[str, list[Witness]]:
    booted: dict[str, list[Witness]] = {}

    def boot(instance: Instance) -> Witness:
        booted.setdefault(instance.name, []).append(Witness())
        return booted[instance.name][-1]

    world.compute.contents.boot = boot  # type: ignore[method-assign]
    return booted


def alone(world: World, **scheduling: Any) -> Instance:
    """A machine without a group."""
    body = {
        "name": "m",
        "machineType": "zones/us-central1-a/machineTypes/n2-standard-8",
        "disks": [{"boot": True, "initializeParams": {"sourceImage": IMAGE}, "autoDelete": True}],
        "networkInterfaces": [{"network": "global/networks/default"}],
        "scheduling": scheduling,
    }
    world.compute.instances.create(PROJECT, "us-central1-a", body)
    return world.running()[0]


IMAGE = "projects/debian-cloud/global/images/family/debian-12"


def status(world: World, instance: Instance) -> str:
    found = world.compute.instances.fresh(instance)
    return found.status if found is not None else "gone"


def operations(world: World) -> list[str]:
    return [one.document["operationType"] for one in world.compute.resources.list("operations", PROJECT)]


def test_a_preemption_is_told_first_then_soft_off_then_stopped(world: World) -> None:
    booted = witnessed(world)
    machine = alone(world, **spot(preemptionNoticeDuration={"seconds": "120"}))
    world.compute.preemption.preempt(machine)
    (guest,) = booted["m"]
    assert guest.values["instance/preempted"] == "TRUE"
    assert (status(world, machine), guest.endings) == ("RUNNING", [])
    until(lambda: status(world, machine) == "TERMINATED")
    assert guest.endings == [("soft", 0.3), ("kill", 0.0)]
    assert "compute.instances.preempted" in operations(world)


def test_without_a_notice_duration_there_is_only_the_soft_off(world: World) -> None:
    booted = witnessed(world)
    machine = alone(world, **spot())
    world.compute.preemption.preempt(machine)
    until(lambda: status(world, machine) == "TERMINATED")
    (guest,) = booted["m"]
    assert (guest.values["instance/preempted"], guest.endings) == ("TRUE", [("soft", 0.3), ("kill", 0.0)])


def test_a_preemption_at_once_is_a_kill_that_nobody_was_told_of(world: World) -> None:
    booted = witnessed(world)
    machine = alone(world, **spot(preemptionNoticeDuration={"seconds": "120"}))
    world.compute.preemption.preempt(machine, 0)
    until(lambda: status(world, machine) == "TERMINATED")
    (guest,) = booted["m"]
    assert (guest.values.get("instance/preempted"), guest.endings) == (None, [("kill", 0.0)])


def test_a_machine_to_be_deleted_is_gone_after_its_preemption(world: World) -> None:
    machine = alone(world, **spot(instanceTerminationAction="DELETE"))
    world.compute.preemption.preempt(machine)
    until(lambda: status(world, machine) == "gone")


def test_only_a_running_machine_is_preempted(world: World) -> None:
    machine = alone(world, **spot())
    world.compute.instances.stop(machine)
    until(lambda: status(world, machine) == "TERMINATED")
    with pytest.raises(ApiError, match="is not ready"):
        world.compute.preemption.preempt(machine)


def test_a_stop_and_a_start_end_the_preemption(world: World) -> None:
    world.switches.boot_seconds = 0.0
    machine = alone(world, **spot(preemptionNoticeDuration={"seconds": "120"}))
    world.compute.preemption.preempt(machine)
    world.compute.instances.end(machine, "stopped", grace_seconds=0)
    until(lambda: status(world, machine) == "TERMINATED")
    world.compute.instances.start(machine)
    until(lambda: status(world, machine) == "RUNNING")
    until(lambda: not [task for task in world.compute.scheduler.waiting() if task[2] == "preemption.off"])
    assert status(world, machine) == "RUNNING"


def test_a_preempted_member_comes_back_under_its_name(world: World) -> None:
    world.template(scheduling=spot(preemptionNoticeDuration={"seconds": "120"}, instanceTerminationAction="DELETE"))
    world.group()
    (first,) = world.running()
    world.compute.preemption.preempt(first)
    assert world.successor(first).name == first.name


def test_maintenance_preempts_a_spot_machine(world: World) -> None:
    machine = alone(world, **spot())
    world.compute.preemption.maintain(machine)
    until(lambda: status(world, machine) == "TERMINATED")
    assert "compute.instances.preempted" in operations(world)


def test_a_standard_machine_migrates_and_goes_on(world: World) -> None:
    booted = witnessed(world)
    machine = alone(world, onHostMaintenance="MIGRATE")
    world.compute.preemption.maintain(machine)
    (guest,) = booted["m"]
    assert guest.values["instance/maintenance-event"] == "MIGRATE_ON_HOST_MAINTENANCE"
    until(lambda: guest.values["instance/maintenance-event"] == "NONE")
    assert (status(world, machine), guest.endings) == ("RUNNING", [])
    assert "compute.instances.migrateOnHostMaintenance" in operations(world)


def test_a_machine_with_a_gpu_has_an_hour_then_stops_and_restarts_by_itself(world: World) -> None:
    world.clock.scale = 0.0005
    booted = witnessed(world)
    world.template(
        machineType="n1-standard-8",
        guestAccelerators=GPU,
        scheduling={"onHostMaintenance": "TERMINATE", "automaticRestart": True},
    )
    world.group()
    (machine,) = world.running()
    world.compute.preemption.maintain(machine)
    guest = booted["g-0"][0]
    assert guest.values["instance/maintenance-event"] == "TERMINATE_ON_HOST_MAINTENANCE"
    fresh = world.compute.instances.fresh(machine)
    assert fresh is not None
    window = fresh.document["resourceStatus"]["upcomingMaintenance"]
    assert window["maintenanceStatus"] == "PENDING"
    (task,) = [task for task in world.compute.scheduler.waiting() if task[2] == "maintenance.begin"]
    assert task[1] - world.clock.now() > 3000 * world.clock.scale
    until(lambda: guest.endings)
    until(lambda: "compute.instances.automaticRestart" in operations(world))


def test_a_run_duration_counts_from_each_start_and_ends_the_machine(world: World) -> None:
    machine = alone(world, **spot(maxRunDuration={"seconds": "60"}, instanceTerminationAction="STOP"))
    until(lambda: status(world, machine) == "TERMINATED")
    first = world.compute.instances.fresh(machine)
    assert first is not None and "resourceStatus" not in first.document
    world.compute.instances.start(machine)
    until(lambda: status(world, machine) == "RUNNING")
    until(lambda: status(world, machine) == "TERMINATED")


def test_a_deadline_is_shown_while_the_machine_runs(world: World) -> None:
    machine = alone(world, **spot(terminationTime="2099-01-01T00:00:00Z", instanceTerminationAction="DELETE"))
    until(lambda: (world.compute.instances.fresh(machine) or machine).document.get("resourceStatus"))
    shown = (world.compute.instances.fresh(machine) or machine).document["resourceStatus"]["scheduling"]
    assert shown["terminationTimestamp"] == "2099-01-01T00:00:00.000Z"


@pytest.mark.parametrize("action", ["STOP", "DELETE"])
def test_a_group_is_smaller_when_a_machine_reached_its_limit(world: World, action: str) -> None:
    world.template(scheduling=spot(maxRunDuration={"seconds": "100"}, instanceTerminationAction=action))
    world.group()
    world.running()
    until(lambda: world.found().document["targetSize"] == 0)
    until(lambda: not world.instances() and not world.found().members)


def test_or_makes_another_one_where_the_switch_says_so(world: World) -> None:
    world.switches.group_shrinks_at_deadline = False
    world.template(scheduling=spot(maxRunDuration={"seconds": "100"}, instanceTerminationAction="DELETE"))
    world.group()
    (first,) = world.running()
    world.successor(first)
    assert world.found().document["targetSize"] == 1


def test_a_past_termination_time_is_an_error_of_each_attempt(world: World) -> None:
    world.template(scheduling=spot(terminationTime="2001-01-01T00:00:00Z", instanceTerminationAction="DELETE"))
    world.group()
    until(lambda: len(world.found().errors) >= 6)
    assert {error["error"]["code"] for error in world.found().errors} == {"INVALID_FIELD_VALUE"}
    assert "Termination time must be in the future" in world.found().errors[0]["error"]["message"]
    assert world.instances() == []


def test_or_the_machine_is_made_and_ended_at_once(world: World) -> None:
    world.switches.past_termination_refused = False
    world.template(scheduling=spot(terminationTime="2001-01-01T00:00:00Z", instanceTerminationAction="DELETE"))
    world.group()
    until(lambda: world.found().document["targetSize"] == 0 and not world.instances())


def test_a_deadline_of_an_earlier_life_does_not_end_the_next(world: World) -> None:
    world.switches.boot_seconds = 0.0
    machine = alone(world, **spot(maxRunDuration={"seconds": "300"}, instanceTerminationAction="STOP"))
    (earlier,) = [task for task in world.compute.scheduler.waiting() if task[2] == "deadlines.reached"]
    until(lambda: world.clock.now() > earlier[1] - 1.5)
    world.compute.instances.end(machine, "stopped", grace_seconds=0)
    until(lambda: status(world, machine) == "TERMINATED")
    world.compute.instances.start(machine)
    until(lambda: status(world, machine) == "RUNNING")
    until(lambda: earlier[0] not in [task[0] for task in world.compute.scheduler.waiting()])
    assert status(world, machine) == "RUNNING"
    until(lambda: status(world, machine) == "TERMINATED")
