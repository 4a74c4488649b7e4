"""An instance's life as the API tells it: made, stopped, started, deleted; and what Google refuses, in its words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Any
from uuid import uuid4

import pytest

from tests.emulator_compute.conftest import PROJECT, ZONE, Api, body
from tests.waiting import until

HERE = f"zones/{ZONE}/instances"
PLACE = f"projects/{PROJECT}/zones/{ZONE}"


def test_an_instance_is_made_stopped_started_and_deleted_with_its_disk(api: Api) -> None:
    operation = api.post(HERE, body())
    assert (operation["status"], operation["operationType"]) == ("RUNNING", "insert")
    assert api.instance()["status"] in ("PROVISIONING", "STAGING", "RUNNING")
    ended = api.done(operation)
    made = api.instance()
    assert ended["progress"] == 100 and ended["targetId"] == made["id"] and "error" not in ended
    assert made["status"] == "RUNNING"
    disk = api.get(f"zones/{ZONE}/disks/vm")
    assert disk["users"] == [made["selfLink"]] and disk["sizeGb"] == "10"
    api.done(api.post(f"{HERE}/vm/stop"))
    assert api.instance()["status"] == "TERMINATED"
    api.done(api.post(f"{HERE}/vm/start"))
    again = api.instance()
    assert again["status"] == "RUNNING" and again["id"] == made["id"]
    api.done(api.delete(f"{HERE}/vm"))
    assert api.refused("GET", f"{HERE}/vm") == (404, "notFound", f"The resource '{PLACE}/instances/vm' was not found")
    assert api.refused("GET", f"zones/{ZONE}/disks/vm")[0] == 404


def test_a_disk_that_is_not_deleted_with_its_instance_can_boot_another(api: Api) -> None:
    disks = [
        {
            "boot": True,
            "autoDelete": False,
            "initializeParams": {"sourceImage": body()["disks"][0]["initializeParams"]["sourceImage"]},
        }
    ]
    api.make("first", disks=disks)
    used = {"boot": True, "source": f"zones/{ZONE}/disks/first"}
    status, reason, words = api.refused("POST", HERE, body("second", disks=[used]))
    assert (status, reason) == (400, "resourceInUseByAnotherResource")
    assert words == f"The disk resource '{PLACE}/disks/first' is already being used by '{PLACE}/instances/first'"
    assert api.refused("DELETE", f"zones/{ZONE}/disks/first")[1] == "resourceInUseByAnotherResource"
    api.done(api.delete(f"{HERE}/first"))
    api.make("second", disks=[used])
    assert api.get(f"zones/{ZONE}/disks/first")["users"] == [api.instance("second")["selfLink"]]


def test_a_name_is_taken_once(api: Api) -> None:
    api.make()
    assert api.refused("POST", HERE, body()) == (
        409,
        "alreadyExists",
        f"The resource '{PLACE}/instances/vm' already exists",
    )


def test_a_request_id_that_is_used_again_gets_its_first_operation(api: Api) -> None:
    request_id = uuid4()
    first = api.post(f"{HERE}?requestId={request_id}", body())
    again = api.post(f"{HERE}?requestId={request_id}", body())
    assert again["name"] == first["name"]
    api.done(first)
    assert api.post(f"{HERE}?requestId={request_id}", body())["status"] == "DONE"
    leaving = uuid4()
    gone = api.delete(f"{HERE}/vm?requestId={leaving}")
    api.done(gone)
    assert api.delete(f"{HERE}/vm?requestId={leaving}")["name"] == gone["name"]
    assert api.refused("POST", f"{HERE}?requestId={leaving}", body())[0] == 400
    for wrong in ("7", "00000000-0000-0000-0000-000000000000"):
        assert "requestId" in api.refused("POST", f"{HERE}?requestId={wrong}", body("other"))[2]


def test_whatever_is_deleted_twice_with_one_request_id_is_deleted_once(api: Api) -> None:
    api.done(api.post(f"zones/{ZONE}/disks", {"name": "d", "sizeGb": "10"}))
    api.done(api.post("global/images", {"name": "i", "sourceDisk": f"zones/{ZONE}/disks/d"}))
    api.done(api.post("global/firewalls", {"name": "f", "allowed": [{"IPProtocol": "tcp"}]}))
    for path in (f"zones/{ZONE}/disks/d", "global/images/i", "global/firewalls/f"):
        request_id = uuid4()
        first = api.delete(f"{path}?requestId={request_id}")
        assert api.delete(f"{path}?requestId={request_id}")["name"] == first["name"]
        assert api.refused("DELETE", f"{path}?requestId={uuid4()}")[0] == 404


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "Upper"}, "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'"),
        ({"name": "a" * 64}, "Must be a match of regex"),
        ({"name": "ends-with-"}, "Must be a match of regex"),
        ({"machineType": f"zones/{ZONE}/machineTypes/e9-huge"}, f"does not exist in zone '{ZONE}'"),
        ({"machineType": "zones/us-east1-b/machineTypes/e2-standard-2"}, f"does not exist in zone '{ZONE}'"),
        ({"machineType": ""}, "resource.machineType"),
        ({"disks": []}, "No disks are specified."),
        ({"networkInterfaces": []}, "At least one network interface is required."),
        (
            {"networkInterfaces": [{"network": "global/networks/none"}]},
            "The referenced network resource cannot be found.",
        ),
        ({"labels": {"Upper": "x"}}, "Label key 'Upper' violates format constraints."),
        ({"labels": {"key": "Upper"}}, "Label value 'Upper' violates format constraints."),
        ({"labels": {"key": "x" * 64}}, "can be at most 63 characters long"),
        ({"labels": {f"k{at}": "" for at in range(65)}}, "cannot exceed 64"),
        ({"metadata": {"items": [{"key": "a b", "value": ""}]}}, "[a-zA-Z0-9-_]{1,128}"),
        ({"metadata": {"items": [{"key": "k", "value": "x" * 262_145}]}}, "maximum size 262144"),
        ({"scheduling": {"provisioningModel": "SPOT", "automaticRestart": True}}, "automaticRestart"),
        ({"scheduling": {"instanceTerminationAction": "DELETE"}}, "You cannot specify a termination action"),
        ({"guestAccelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": 1}]}, "not compatible"),
    ],
)
def test_what_google_refuses_is_refused_and_leaves_nothing(api: Api, change: dict[str, Any], words: str) -> None:
    status, _, message = api.refused("POST", HERE, {**body(), **change})
    assert status == 400 and words in message, message
    assert "items" not in api.get(HERE) and "items" not in api.get(f"zones/{ZONE}/disks")


@pytest.mark.parametrize(
    ("machine", "zone"),
    [("g2-standard-8", ZONE), ("n2-custom-8-32768", ZONE), ("custom-2-7680", ZONE), ("a2-highgpu-1g", "us-central1-c")],
)
def test_machine_types_of_all_kinds_are_had(api: Api, machine: str, zone: str) -> None:
    scheduling = {"onHostMaintenance": "TERMINATE", "automaticRestart": True}
    made = api.make(zone=zone, machineType=f"zones/{zone}/machineTypes/{machine}", scheduling=scheduling)
    assert made["machineType"].endswith(f"/{machine}")
    gpu = {"g2-standard-8": "nvidia-l4", "a2-highgpu-1g": "nvidia-tesla-a100"}.get(machine)
    assert [one["acceleratorType"].rsplit("/", 1)[1] for one in made.get("guestAccelerators", [])] == (
        [gpu] if gpu else []
    )


def test_a_machine_that_takes_only_hyperdisks_gets_one_and_refuses_others(api: Api) -> None:
    machine = f"zones/{ZONE}/machineTypes/c4-standard-8"
    api.make(machineType=machine)
    assert api.get(f"zones/{ZONE}/disks/vm")["type"].endswith("/hyperdisk-balanced")
    parameters = {**body()["disks"][0]["initializeParams"], "diskType": f"zones/{ZONE}/diskTypes/pd-ssd"}
    disks = [{"boot": True, "initializeParams": parameters}]
    assert "[pd-ssd]" in api.refused("POST", HERE, body("other", machineType=machine, disks=disks))[2]


def test_fingerprints_guard_labels_metadata_and_tags(api: Api) -> None:
    made = api.make(labels={"a": "b"})
    for method, field, change in (
        ("setLabels", "labelFingerprint", {"labels": {"c": "d"}, "labelFingerprint": made["labelFingerprint"]}),
        (
            "setMetadata",
            "fingerprint",
            {"items": [{"key": "k", "value": "v"}], "fingerprint": made["metadata"]["fingerprint"]},
        ),
        ("setTags", "fingerprint", {"items": ["tag"], "fingerprint": made["tags"]["fingerprint"]}),
    ):
        wrong = {**change, field: "AAAAAAAAAAA="}
        assert api.refused("POST", f"{HERE}/vm/{method}", wrong)[:2] == (412, "conditionNotMet")
        api.done(api.post(f"{HERE}/vm/{method}", change))
        assert api.refused("POST", f"{HERE}/vm/{method}", change)[0] == 412, "it has changed since"
    found = api.instance()
    assert found["labels"] == {"c": "d"} and found["tags"]["items"] == ["tag"]
    assert found["metadata"]["items"] == [{"key": "k", "value": "v"}]


def test_a_protected_instance_is_not_deleted(api: Api) -> None:
    api.make(deletionProtection=True)
    assert api.refused("DELETE", f"{HERE}/vm")[0] == 412
    api.done(api.post(f"{HERE}/vm/setDeletionProtection?deletionProtection=false"))
    api.done(api.delete(f"{HERE}/vm"))


def test_deletes_take_the_time_that_a_switch_says(api: Api) -> None:
    api.make()
    api.emulator.switch(delete_seconds=100_000.0)
    operation = api.delete(f"{HERE}/vm")
    until(lambda: api.instance()["status"] == "STOPPING")
    assert api.get(operation["selfLink"].split(f"/{PROJECT}/", 1)[1])["status"] == "RUNNING"
    until(lambda: "compute.instance" not in [line["kind"] for line in api.control("GET", "ledger")["alive"]])


def test_the_api_notices_an_unasked_death_as_late_as_a_switch_says(api: Api) -> None:
    api.make(scheduling={"provisioningModel": "SPOT"})
    api.emulator.switch(status_lag_seconds=100_000.0)
    api.control("POST", "preempt", {"instance": "vm", "notice_seconds": 0})
    until(lambda: not api.control("GET", "machines")["machines"][0]["alive"])
    assert api.instance()["status"] == "RUNNING"
    api.done(api.delete(f"{HERE}/vm"))
    assert api.refused("GET", f"{HERE}/vm")[0] == 404, "whoever deletes it does not wait for that"


def test_unknown_zones_and_regions_are_named(api: Api) -> None:
    assert api.refused("GET", "zones/mars-a/instances")[2] == "Invalid value for field 'zone': 'mars-a'. Unknown zone."
    assert (
        api.refused("GET", "regions/mars/operations")[2] == "Invalid value for field 'region': 'mars'. Unknown region."
    )
    assert api.refused("GET", "zones/mars-a")[0] == 404


def test_what_is_not_served_answers_501_with_its_name(api: Api) -> None:
    assert api.refused("POST", f"{HERE}/vm/suspend") == (
        501,
        "notImplemented",
        "The emulator does not implement `compute.instances.suspend`.",
    )
    assert api.refused("GET", "global/licenses")[0] == 501


def test_an_answer_that_was_lost_is_found_again_by_its_request_id(api: Api) -> None:
    request_id = uuid4()
    fault = api.emulator.fault("compute.instances.insert", "lost")
    with pytest.raises((ConnectionError, HTTPException)):
        api.post(f"{HERE}?requestId={request_id}", body())
    assert api.emulator.used_up(fault)
    again = api.post(f"{HERE}?requestId={request_id}", body())
    assert "error" not in api.done(again) and api.instance()["status"] == "RUNNING"
    assert [one["operationType"] for one in api.get(f"zones/{ZONE}/operations")["items"]] == ["insert"]
    for status in (500, 503):
        api.emulator.fault("compute.instances.delete", "error_after", status=status)
        leaving = uuid4()
        assert api.refused("DELETE", f"{HERE}/vm?requestId={leaving}")[0] == status
        api.done(api.delete(f"{HERE}/vm?requestId={leaving}"))
        api.make()


def test_too_many_calls_are_answered_403_where_a_test_asks_for_it(api: Api) -> None:
    api.emulator.fault("compute.instances.list", "error", status=403, reason="rateLimitExceeded")
    assert api.refused("GET", HERE)[:2] == (403, "rateLimitExceeded")
    api.get(HERE)


def test_many_who_ask_for_one_name_at_once_get_one_instance(api: Api) -> None:
    with ThreadPoolExecutor(8) as crew:
        answers = list(
            crew.map(lambda _: api.emulator.call("POST", f"/compute/v1/projects/{PROJECT}/{HERE}", body()), range(8))
        )
    assert sorted(answer.status for answer in answers) == [200] + [409] * 7
    with ThreadPoolExecutor(8) as crew:
        path = f"/compute/v1/projects/{PROJECT}/{HERE}?requestId={uuid4()}"
        answers = list(crew.map(lambda _: api.emulator.call("POST", path, body("other")), range(8)))
    assert len({answer.json()["name"] for answer in answers}) == 1
