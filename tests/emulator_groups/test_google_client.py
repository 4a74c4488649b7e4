"""google-cloud-compute drives templates and groups: what Google's own client can read is what Google says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.api_core.exceptions import BadRequest, Conflict, NotFound
from google.auth.credentials import AnonymousCredentials
from google.cloud import compute_v1

from outlast_emulator.testing import Running, running
from tests.emulator_groups.conftest import IMAGE, PROJECT, REGION
from tests.waiting import until

WHERE = {"project": PROJECT, "region": REGION}
GROUP = {**WHERE, "instance_group_manager": "g"}


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "emulator", time_scale=0.01) as found:
        found.switch(machines=False)
        yield found


def client(kind: Any, emulator: Running) -> Any:
    options = {"api_endpoint": emulator.url}
    return kind(transport="rest", credentials=AnonymousCredentials(), client_options=options)


class Done:
    """Changes something, and returns when the operation is over: the client's own waiting asks Google, wherever it was pointed."""

    def __init__(self, kind: Any, emulator: Running) -> None:
        self._client = client(kind, emulator)
        self._operations = {
            "regions": client(compute_v1.RegionOperationsClient, emulator),
            "zones": client(compute_v1.ZoneOperationsClient, emulator),
            "global": client(compute_v1.GlobalOperationsClient, emulator),
        }

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, f"{name}_unary", None)
        if method is None:
            return getattr(self._client, name)

        def call(*arguments: Any, **named: Any) -> Any:
            operation = method(*arguments, **named)
            parts = operation.self_link.split(f"/projects/{PROJECT}/")[1].split("/")
            place = {parts[0].rstrip("s"): parts[1]} if parts[0] != "global" else {}
            while operation.status != compute_v1.Operation.Status.DONE:
                asked = {"project": PROJECT, "operation": operation.name, **place}
                operation = self._operations[parts[0]].wait(**asked)
            assert not operation.error.errors, operation
            return operation

        return call


@pytest.fixture
def groups(emulator: Running) -> Any:
    return Done(compute_v1.RegionInstanceGroupManagersClient, emulator)


@pytest.fixture
def templates(emulator: Running) -> Any:
    return Done(compute_v1.RegionInstanceTemplatesClient, emulator)


def template(name: str = "t", **scheduling: Any) -> compute_v1.InstanceTemplate:
    found = compute_v1.InstanceTemplate(name=name)
    properties = found.properties
    properties.machine_type = "n2-standard-8"
    disk = compute_v1.AttachedDisk(boot=True, auto_delete=True)
    disk.initialize_params.source_image = IMAGE
    properties.disks = [disk]
    properties.network_interfaces = [compute_v1.NetworkInterface(network="global/networks/default")]
    properties.scheduling = compute_v1.Scheduling(
        provisioning_model="SPOT",
        preemptible=True,
        automatic_restart=False,
        on_host_maintenance="TERMINATE",
        preemption_notice_duration=compute_v1.Duration(seconds=120),
        **scheduling,
    )
    properties.labels = {"outlast": "1"}
    return found


def group(size: int = 1, **more: Any) -> compute_v1.InstanceGroupManager:
    found = compute_v1.InstanceGroupManager(name="g", base_instance_name="g-#[0]", target_size=size, **more)
    found.versions = [
        compute_v1.InstanceGroupManagerVersion(
            instance_template=f"projects/{PROJECT}/regions/{REGION}/instanceTemplates/t"
        )
    ]
    found.distribution_policy.target_shape = "ANY"
    found.instance_lifecycle_policy.force_update_on_repair = "YES"
    found.instance_lifecycle_policy.on_repair.allow_changing_zone = "YES"
    return found


def made(groups: Any, templates: Any, size: int = 1, **more: Any) -> None:
    templates.insert(**WHERE, instance_template_resource=template())
    groups.insert(**WHERE, instance_group_manager_resource=group(size, **more))


def stable(groups: Any) -> Any:
    return until(lambda: (found := groups.get(**GROUP)).status.is_stable and found, "the group is never stable")


def test_a_group_is_made_looked_at_and_deleted(groups: Any, templates: Any, emulator: Running) -> None:
    made(groups, templates, 2)
    found = stable(groups)
    assert (found.target_size, found.current_actions.none) == (2, 2)
    machines = list(groups.list_managed_instances(**GROUP))
    assert [one.name for one in machines] == ["g-0", "g-1"]
    assert {one.instance_status for one in machines} == {"RUNNING"}
    assert [one.name for one in groups.list(**WHERE)] == ["g"]
    faces = client(compute_v1.RegionInstanceGroupsClient, emulator)
    assert faces.get(**WHERE, instance_group="g").size == 2
    groups.delete(**GROUP)
    with pytest.raises(NotFound, match=r"instanceGroupManagers/g' was not found"):
        groups.get(**GROUP)
    templates.delete(**WHERE, instance_template="t")
    assert list(templates.list(**WHERE)) == []
    instances = client(compute_v1.InstancesClient, emulator)
    assert not any(found.instances for _, found in instances.aggregated_list(project=PROJECT))


def test_a_machine_that_is_preempted_on_demand_comes_back(groups: Any, templates: Any, emulator: Running) -> None:
    made(groups, templates)
    stable(groups)
    (before,) = groups.list_managed_instances(**GROUP)
    answer = emulator.call("POST", "/_emulator/preempt", {"instance": "g-0", "notice_seconds": 0})
    assert answer.status == 200, answer.body

    def back() -> bool:
        (now,) = groups.list_managed_instances(**GROUP)
        return bool(now.id) and now.id != before.id and now.current_action == "NONE"

    until(back, "it did not come back")


def test_a_group_without_capacity_says_so(groups: Any, templates: Any, emulator: Running) -> None:
    answer = emulator.call("POST", "/_emulator/capacity", {"zone": f"{REGION}-*"})
    assert answer.status == 200, answer.body
    made(groups, templates)
    (machine,) = until(
        lambda: [one for one in groups.list_managed_instances(**GROUP) if one.last_attempt.errors.errors]
    )
    assert machine.current_action == "CREATING"
    assert machine.last_attempt.errors.errors[0].code.startswith("ZONE_RESOURCE_POOL_EXHAUSTED")
    error = next(iter(groups.list_errors(**GROUP)))
    assert error.error.code.startswith("ZONE_RESOURCE_POOL_EXHAUSTED")
    assert error.instance_action_details.action == "CREATING"
    groups.resize(**GROUP, size=0)
    until(lambda: not list(groups.list_managed_instances(**GROUP)))


def test_members_are_deleted_recreated_and_the_group_resized(groups: Any, templates: Any) -> None:
    made(groups, templates, 3)
    stable(groups)
    first, second, _ = groups.list_managed_instances(**GROUP)
    groups.delete_instances(
        **GROUP,
        region_instance_group_managers_delete_instances_request_resource={"instances": [first.instance]},
    )
    assert stable(groups).target_size == 2
    groups.recreate_instances(
        **GROUP, region_instance_group_managers_recreate_request_resource={"instances": [second.instance]}
    )
    until(lambda: {one.id for one in groups.list_managed_instances(**GROUP)}.isdisjoint({first.id, second.id}))
    groups.resize(**GROUP, size=1)
    stable(groups)
    assert len(list(groups.list_managed_instances(**GROUP))) == 1


def test_one_request_id_is_one_group(groups: Any, templates: Any) -> None:
    templates.insert(**WHERE, instance_template_resource=template())
    asked = {
        **WHERE,
        "instance_group_manager_resource": group(),
        "request_id": "7e6fa8f5-6c9d-4b2f-9c3e-0a1b2c3d4e5f",
    }
    first = groups.insert(asked)
    again = groups.insert(asked)
    assert first.name == again.name
    with pytest.raises(Conflict, match="already exists"):
        groups.insert(**WHERE, instance_group_manager_resource=group())


def test_a_patch_with_an_old_fingerprint_is_refused(groups: Any, templates: Any) -> None:
    from google.api_core.exceptions import PreconditionFailed

    made(groups, templates)
    old = groups.get(**GROUP).fingerprint
    change = compute_v1.InstanceGroupManager(fingerprint=old, description="changed")
    groups.patch(**GROUP, instance_group_manager_resource=change)
    assert groups.get(**GROUP).description == "changed"
    with pytest.raises(PreconditionFailed):
        groups.patch(**GROUP, instance_group_manager_resource=change)


def test_a_wrong_body_is_answered_with_its_field(groups: Any, templates: Any) -> None:
    with pytest.raises(BadRequest, match=r"preemptionNoticeDuration|automaticRestart"):
        wrong = template()
        wrong.properties.scheduling.automatic_restart = True
        templates.insert(**WHERE, instance_template_resource=wrong)
    templates.insert(**WHERE, instance_template_resource=template())
    wrong_group = group()
    wrong_group.distribution_policy.target_shape = "EVEN"
    with pytest.raises(BadRequest, match=r"instanceLifecyclePolicy.onRepair.allowChangingZone"):
        groups.insert(**WHERE, instance_group_manager_resource=wrong_group)


def test_a_template_in_use_is_not_deleted(groups: Any, templates: Any) -> None:
    made(groups, templates)
    with pytest.raises(BadRequest, match="is already being used by"):
        templates.delete(**WHERE, instance_template="t")


def test_a_zonal_group_and_a_global_template(emulator: Running) -> None:
    everywhere = Done(compute_v1.InstanceTemplatesClient, emulator)
    zonal = Done(compute_v1.InstanceGroupManagersClient, emulator)
    everywhere.insert(project=PROJECT, instance_template_resource=template())
    zone = {"project": PROJECT, "zone": f"{REGION}-b"}
    asked = compute_v1.InstanceGroupManager(
        name="z", base_instance_name="z", target_size=1, instance_template="global/instanceTemplates/t"
    )
    zonal.insert(**zone, instance_group_manager_resource=asked)
    (machine,) = until(lambda: list(zonal.list_managed_instances(**zone, instance_group_manager="z")))
    assert f"/zones/{REGION}-b/instances/z-" in machine.instance
    found = dict(zonal.aggregated_list(project=PROJECT))
    assert [one.name for one in found[f"zones/{REGION}-b"].instance_group_managers] == ["z"]
    assert [one.name for one in dict(everywhere.aggregated_list(project=PROJECT))["global"].instance_templates] == ["t"]
    zonal.delete(**zone, instance_group_manager="z")
    with pytest.raises(NotFound):
        zonal.get(**zone, instance_group_manager="z")


def test_who_may_not_delete_a_group_is_told_which_permission_it_takes(
    groups: Any, templates: Any, emulator: Running
) -> None:
    made(groups, templates)
    account = "runner@emulated.iam.gserviceaccount.com"
    emulator.call("POST", "/_emulator/iam/service-accounts", {"email": account, "roles": ["roles/compute.viewer"]})
    token = emulator.call("POST", "/_emulator/iam/tokens", {"email": account}).json()["access_token"]
    headers = {"authorization": f"Bearer {token}"}
    path = f"/compute/v1/projects/{PROJECT}/regions/{REGION}/instanceGroupManagers/g"
    assert emulator.call("GET", path, headers=headers).status == 200
    refused = emulator.call("DELETE", path, headers=headers)
    assert refused.status == 403
    assert "compute.instanceGroupManagers.delete" in refused.json()["error"]["message"]


def test_a_preemption_that_cannot_be_says_why(emulator: Running) -> None:
    refused = emulator.call("POST", "/_emulator/preempt", {"instance": "nobody"})
    assert (refused.status, refused.json()["error"]["message"]) == (404, "no instance `nobody`")
    wrong = emulator.call("POST", "/_emulator/preempt", {"instance": "m", "notice": 1})
    assert wrong.status == 400 and "unknown field `notice`" in wrong.json()["error"]["message"]
