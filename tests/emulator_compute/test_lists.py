"""Lists: filters of both kinds, pages, order, and all zones at once."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from outlast_emulator.compute import filters
from outlast_emulator.errors import ApiError
from tests.emulator_compute.conftest import PROJECT, REGION, ZONE, Api

VM = {
    "name": "outlast-1",
    "status": "RUNNING",
    "labels": {"outlast": "1", "outlast-job": "mnist-7f3a"},
    "scheduling": {"preemptible": True},
    "disks": [{"deviceName": "boot"}, {"deviceName": "data"}],
    "zone": "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a",
    "memoryMb": 4096,
    "creationTimestamp": "2026-11-16T03:00:00.000Z",
}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("name=outlast-1", True),
        ("name = outlast-2", False),
        ("name=outlast-*", True),
        ("name != outlast-2", True),
        ("labels.outlast:*", True),
        ("labels.other:*", False),
        ("labels.outlast-job=mnist-7f3a", True),
        ("labels.outlast=1 AND status=RUNNING", True),
        ("labels.outlast=1 AND status=TERMINATED", False),
        ("status=TERMINATED OR status=RUNNING", True),
        ("(status=TERMINATED OR name=outlast-1) AND NOT labels.other:*", True),
        ("NOT status=RUNNING", False),
        ("-status=RUNNING", False),
        ("scheduling.preemptible=true", True),
        ("scheduling.preemptible = false", False),
        ("disks.deviceName=data", True),
        ("memoryMb > 4000", True),
        ("memoryMb<=4000", False),
        ("creationTimestamp < '2026-12-01'", True),
        ('name eq "outlast-.*"', True),
        ('name eq "outlast"', False),
        ("name ne 'out.*'", False),
        (r'zone eq ".*\bus\-central1\-a\b.*"', True),
        ("(name eq outlast-1) (status eq RUNNING)", True),
        ("zone:us-central1", True),
        ("labels:outlast", True),
        ("none=1", False),
        ("none!=1", True),
    ],
)
def test_a_filter_finds_what_google_would(text: str, matches: bool) -> None:
    assert filters.compiled(text)(VM) is matches


@pytest.mark.parametrize(
    "text", ["name=", "=x", "name", "(name=x", "name=x)", "name eq '('", "name ~ x", "AND", "(" * 200]
)
def test_a_filter_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        filters.compiled(text)
    assert refused.value.status == 400 and "Invalid list filter expression." in refused.value.message


def test_pages_are_complete_and_in_order(api: Api) -> None:
    everything = [one["name"] for one in api.get(f"zones/{ZONE}/machineTypes")["items"]]
    found, token = [], ""
    while True:
        page = api.get(
            f"zones/{ZONE}/machineTypes?" + urlencode({"maxResults": 37, **({"pageToken": token} if token else {})})
        )
        found += [one["name"] for one in page["items"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert found == everything and len(set(found)) == len(found)
    backwards = api.get(f"zones/{ZONE}/machineTypes?" + urlencode({"orderBy": "name desc", "maxResults": 1}))
    assert backwards["items"][0]["name"] == max(everything)
    for wrong in ("maxResults=501", "orderBy=memoryMb", "pageToken=*", "filter=("):
        assert api.refused("GET", f"zones/{ZONE}/machineTypes?{wrong}")[0] == 400


def test_a_list_of_all_zones_has_every_zone_and_says_which_are_empty(api: Api) -> None:
    api.make(labels={"outlast": "1"})
    found = api.get("aggregated/instances")["items"]
    assert [one["name"] for one in found[f"zones/{ZONE}"]["instances"]] == ["vm"]
    empty = found["zones/us-central1-b"]
    assert empty["warning"]["code"] == "NO_RESULTS_ON_PAGE"
    assert empty["warning"]["message"] == "There are no results for scope 'zones/us-central1-b' on this page."
    filtered = api.get("aggregated/instances?" + urlencode({"filter": "labels.none:*"}))["items"]
    assert "instances" not in filtered[f"zones/{ZONE}"]
    for collection in ("disks", "subnetworks", "operations", "acceleratorTypes", "diskTypes", "routers"):
        assert api.get(f"aggregated/{collection}?maxResults=500")["items"]


def test_fields_cut_an_answer(api: Api) -> None:
    found = api.get(f"zones/{ZONE}/machineTypes/g2-standard-8?fields=guestCpus,accelerators/guestAcceleratorType")
    assert found == {"guestCpus": 8, "accelerators": [{"guestAcceleratorType": "nvidia-l4"}]}
    assert api.refused("GET", f"zones/{ZONE}?fields=(")[0] == 400


def test_a_project_may_be_called_by_its_number_and_a_stranger_is_not_found(api: Api) -> None:
    api.make()
    by_number = api.get(f"zones/{ZONE}/instances/vm", project="424242424242")
    assert by_number == api.instance()
    answer = api.emulator.call("GET", f"/compute/v1/projects/strange/zones/{ZONE}/instances")
    assert answer.status == 404 and "'projects/strange'" in answer.json()["error"]["message"]


def test_places_know_each_other(api: Api) -> None:
    region = api.get(f"regions/{REGION}")
    zones = {one["name"]: one for one in api.get("zones?" + urlencode({"filter": f"region:{REGION}"}))["items"]}
    assert sorted(url.rsplit("/", 1)[1] for url in region["zones"]) == sorted(zones)
    assert zones[ZONE]["region"] == region["selfLink"]
    assert len(api.get("regions")["items"]) > 35
    for kind, name in (
        ("machineTypes", "n2-custom-8-32768"),
        ("acceleratorTypes", "nvidia-l4"),
        ("diskTypes", "pd-ssd"),
    ):
        assert api.get(f"zones/{ZONE}/{kind}/{name}")["name"] == name
        assert api.refused("GET", f"zones/{ZONE}/{kind}/none")[0] == 404


def test_operations_are_listed_newest_first_and_forgotten_by_delete(api: Api) -> None:
    api.make()
    api.done(api.post(f"zones/{ZONE}/instances/vm/stop"))
    listed = api.get(f"zones/{ZONE}/operations")["items"]
    assert [one["operationType"] for one in listed] == ["stop", "insert"]
    name = listed[0]["name"]
    answer = api.emulator.call("DELETE", f"/compute/v1/projects/{PROJECT}/zones/{ZONE}/operations/{name}")
    assert answer.status == 204
    assert api.refused("GET", f"zones/{ZONE}/operations/{name}")[0] == 404


def test_networks_subnets_rules_and_routers_are_made_used_and_deleted(api: Api) -> None:
    api.done(api.post("global/networks", {"name": "own", "autoCreateSubnetworks": False}))
    api.done(
        api.post(
            f"regions/{REGION}/subnetworks",
            {"name": "sub", "network": "global/networks/own", "ipCidrRange": "10.0.0.0/24"},
        )
    )
    api.done(
        api.post(
            "global/firewalls", {"name": "ssh", "network": "global/networks/own", "allowed": [{"IPProtocol": "tcp"}]}
        )
    )
    api.done(
        api.post(
            f"regions/{REGION}/routers", {"name": "nat", "network": "global/networks/own", "nats": [{"name": "n"}]}
        )
    )
    words = api.refused("POST", f"zones/{ZONE}/instances", {"name": "x", **_on({"network": "global/networks/own"})})[2]
    assert "Subnetwork should be specified for custom subnetmode network" in words
    made = api.make(networkInterfaces=[{"subnetwork": f"regions/{REGION}/subnetworks/sub"}])
    assert made["networkInterfaces"][0]["networkIP"].startswith("10.0.0.")
    assert "accessConfigs" not in made["networkInterfaces"][0]
    assert api.refused("DELETE", f"regions/{REGION}/subnetworks/sub")[1] == "resourceInUseByAnotherResource"
    api.done(api.delete(f"zones/{ZONE}/instances/vm"))
    for path in (
        f"regions/{REGION}/routers/nat",
        "global/firewalls/ssh",
        f"regions/{REGION}/subnetworks/sub",
        "global/networks/own",
    ):
        api.done(api.delete(path))
        assert api.refused("GET", path)[0] == 404


def _on(interface: dict[str, str]) -> dict[str, object]:
    from tests.emulator_compute.conftest import body

    return {**{key: value for key, value in body().items() if key != "name"}, "networkInterfaces": [interface]}
