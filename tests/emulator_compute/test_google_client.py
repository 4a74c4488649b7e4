"""google-cloud-compute drives the emulator: what Google's own client can read is what Google says."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core.exceptions import BadRequest, Conflict, Forbidden, NotFound, PreconditionFailed
from google.auth.credentials import AnonymousCredentials
from google.cloud import compute_v1

from outlast_emulator.testing import Running
from tests.emulator_compute.conftest import IMAGE, PROJECT, REGION, ZONE, Api

CLIENT = "google-cloud-compute"
HERE = {"project": PROJECT, "zone": ZONE}
VM = {**HERE, "instance": "vm"}


class Client:
    """`Client(emulator).instances.get(...)`; a change returns when its operation is over."""

    def __init__(self, emulator: Running) -> None:
        self._emulator = emulator
        services = ("zone_operations", "region_operations", "global_operations")
        self._operations = {name: self._made(name) for name in services}

    def _made(self, name: str) -> Any:
        kind = getattr(compute_v1, "".join(word.capitalize() for word in name.split("_")) + "Client")
        options = {"api_endpoint": self._emulator.url}
        return kind(transport="rest", credentials=AnonymousCredentials(), client_options=options)

    def __getattr__(self, name: str) -> Any:
        client = self._made(name)
        # The client's own waiting asks Google, wherever the client itself was pointed.
        client.transport._extended_operations_services = self._operations
        return client


@pytest.fixture
def client(emulator: Running) -> Client:
    return Client(emulator)


def instance(name: str = "vm", **more: Any) -> compute_v1.Instance:
    parameters = compute_v1.AttachedDiskInitializeParams(
        source_image=IMAGE, disk_size_gb=50, disk_type=f"zones/{ZONE}/diskTypes/pd-ssd"
    )
    return compute_v1.Instance(
        name=name,
        machine_type=f"zones/{ZONE}/machineTypes/n2-standard-8",
        disks=[compute_v1.AttachedDisk(boot=True, auto_delete=True, initialize_params=parameters)],
        network_interfaces=[compute_v1.NetworkInterface(network="global/networks/default")],
        **more,
    )


def test_an_instance_lives_and_dies(client: Client) -> None:
    spot = compute_v1.Scheduling(provisioning_model="SPOT", instance_termination_action="STOP")
    client.instances.insert(**HERE, instance_resource=instance(scheduling=spot, labels={"outlast": "1"})).result(60)
    made = client.instances.get(**VM)
    assert made.status == "RUNNING" and made.scheduling.preemptible and made.disks[0].disk_size_gb == 50
    found = client.instances.list(request={**HERE, "filter": "labels.outlast=1"})
    assert [one.name for one in found] == ["vm"]
    everywhere = {
        scope: [one.name for one in some.instances] for scope, some in client.instances.aggregated_list(project=PROJECT)
    }
    assert everywhere[f"zones/{ZONE}"] == ["vm"] and everywhere["zones/us-east1-b"] == []
    client.instances.simulate_maintenance_event(**VM).result(60)
    client.instances.stop(**VM).result(60)
    client.instances.start(**VM).result(60)
    labels = compute_v1.InstancesSetLabelsRequest(
        labels={"c": "d"}, label_fingerprint=client.instances.get(**VM).label_fingerprint
    )
    client.instances.set_labels(**VM, instances_set_labels_request_resource=labels).result(60)
    with pytest.raises(PreconditionFailed):
        client.instances.set_labels(**VM, instances_set_labels_request_resource=labels)
    client.instances.delete(**VM).result(60)
    with pytest.raises(NotFound):
        client.instances.get(**VM)


def test_googles_errors_are_the_clients_exceptions(client: Client, emulator: Running) -> None:
    client.instances.insert(**HERE, instance_resource=instance()).result(60)
    with pytest.raises(Conflict, match="already exists"):
        client.instances.insert(**HERE, instance_resource=instance())
    with pytest.raises(BadRequest, match="Must be a match of regex"):
        client.instances.insert(**HERE, instance_resource=instance("Wrong"))
    api = Api(emulator)
    api.control("POST", "capacity", {"zone": ZONE})
    with pytest.raises(Exception, match="ZONE_RESOURCE_POOL_EXHAUSTED"):
        client.instances.insert(**HERE, instance_resource=instance("second")).result(60)
    emulator.switch(quota_refused_at_once=True)
    api.control("POST", "quotas", {"metric": "N2_CPUS", "limit": 8, "region": REGION})
    with pytest.raises(Forbidden, match="Quota 'N2_CPUS' exceeded"):
        client.instances.insert(**HERE, instance_resource=instance("third"))


def test_disks_images_networks_and_places_are_read_by_the_client(client: Client) -> None:
    disk = compute_v1.Disk(name="d", size_gb=20, source_image=IMAGE)
    client.disks.insert(**HERE, disk_resource=disk).result(60)
    made = compute_v1.Image(name="i", family="f", source_disk=f"zones/{ZONE}/disks/d", labels={"a": "b"})
    client.images.insert(project=PROJECT, image_resource=made).result(60)
    assert client.images.get_from_family(project=PROJECT, family="f").name == "i"
    assert [one.name for one in client.images.list(request={"project": PROJECT, "filter": "family=f"})] == ["i"]
    rule = compute_v1.Firewall(
        name="iap", allowed=[compute_v1.Allowed(I_p_protocol="tcp", ports=["22"])], source_ranges=["35.235.240.0/20"]
    )
    client.firewalls.insert(project=PROJECT, firewall_resource=rule).result(60)
    assert client.firewalls.get(project=PROJECT, firewall="iap").direction == "INGRESS"
    assert client.networks.get(project=PROJECT, network="default").auto_create_subnetworks
    assert client.subnetworks.get(project=PROJECT, region=REGION, subnetwork="default").ip_cidr_range
    region = client.regions.get(project=PROJECT, region=REGION)
    assert {"CPUS", "NVIDIA_L4_GPUS", "PREEMPTIBLE_NVIDIA_L4_GPUS"} <= {one.metric for one in region.quotas}
    assert "GPUS_ALL_REGIONS" in {one.metric for one in client.projects.get(project=PROJECT).quotas}
    assert (
        client.machine_types.get(**HERE, machine_type="g2-standard-8").accelerators[0].guest_accelerator_type
        == "nvidia-l4"
    )
    assert client.accelerator_types.get(**HERE, accelerator_type="nvidia-l4").maximum_cards_per_instance == 8
    assert len([one.name for one in client.zones.list(project=PROJECT)]) > 100
    client.images.delete(project=PROJECT, image="i").result(60)
    client.disks.delete(**HERE, disk="d").result(60)


def test_what_there_is_to_rent_and_how_spot_machines_have_fared(client: Client) -> None:
    zones = {
        scope for scope, some in client.accelerator_types.aggregated_list(project=PROJECT) for one in some.accelerator_types
        if one.name == "nvidia-l4" and one.maximum_cards_per_instance == 8
    }  # fmt: skip
    assert f"zones/{ZONE}" in zones
    machine = client.machine_types.get(**HERE, machine_type="g2-standard-24")
    (gpus,) = machine.accelerators
    assert (gpus.guest_accelerator_type, gpus.guest_accelerator_count) == ("nvidia-l4", 2)
    asked = compute_v1.CapacityHistoryRequest(
        types=["PRICE", "PREEMPTION"],
        instance_properties=compute_v1.CapacityHistoryRequestInstanceProperties(
            machine_type="n2-standard-8",
            scheduling=compute_v1.CapacityHistoryRequestInstancePropertiesScheduling(provisioning_model="SPOT"),
        ),
        location_policy=compute_v1.CapacityHistoryRequestLocationPolicy(location=f"zones/{ZONE}"),
    )
    found = client.advice.capacity_history(project=PROJECT, region=REGION, capacity_history_request_resource=asked)
    (price,), (taken,) = found.price_history, found.preemption_history
    assert found.machine_type == "n2-standard-8" and found.location.endswith(f"/zones/{ZONE}")
    assert price.list_price.currency_code == "USD" and price.list_price.nanos > 0 and 0 <= taken.preemption_rate < 1
    assert taken.interval.start_time < taken.interval.end_time
    wrong = compute_v1.CapacityHistoryRequest(types=["PRICE"])
    with pytest.raises(BadRequest, match="SPOT"):
        client.advice.capacity_history(project=PROJECT, region=REGION, capacity_history_request_resource=wrong)
