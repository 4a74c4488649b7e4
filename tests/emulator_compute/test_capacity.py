"""Stock-outs and quotas, as operation errors and as HTTP answers, in Google's words; what is taken away can be given back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator_compute.conftest import PROJECT, REGION, ZONE, Api, body

HERE = f"zones/{ZONE}/instances"
SPOT = {"provisioningModel": "SPOT"}
GPUS: dict[str, Any] = {
    "machineType": f"zones/{ZONE}/machineTypes/g2-standard-8",
    "scheduling": {"onHostMaintenance": "TERMINATE"},
}


def failed(api: Api, **more: Any) -> dict[str, Any]:
    ended = api.done(api.post(HERE, body(**more)))
    assert ended["error"]["errors"], ended
    assert "items" not in api.get(HERE) and "items" not in api.get(f"zones/{ZONE}/disks"), "nothing is left behind"
    return ended


def test_a_zone_without_room_fails_the_operation(api: Api) -> None:
    api.control("POST", "capacity", {"zone": ZONE})
    ended = failed(api)
    assert (ended["httpErrorStatusCode"], ended["httpErrorMessage"]) == (503, "SERVICE UNAVAILABLE")
    error = ended["error"]["errors"][0]
    assert error["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED"
    assert error["message"].startswith(
        f"The zone 'projects/{PROJECT}/zones/{ZONE}' does not have enough resources available to fulfill the request."
    )
    api.make("elsewhere", zone="us-central1-b", machineType="zones/us-central1-b/machineTypes/e2-standard-2")
    api.control("DELETE", "capacity")
    api.make()


def test_the_younger_form_names_the_machine_type(api: Api) -> None:
    api.emulator.switch(stockout_with_details=True)
    api.control("POST", "capacity", {"zone": ZONE})
    error = failed(api)["error"]["errors"][0]
    assert error["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"
    assert "A e2-standard-2 VM instance is currently unavailable in the us-central1-a zone." in error["message"]
    assert error["errorDetails"][0]["errorInfo"]["metadatas"]["zone"] == ZONE


def test_stock_outs_and_quotas_may_refuse_at_once(api: Api) -> None:
    api.emulator.switch(stockout_refused_at_once=True, quota_refused_at_once=True)
    api.control("POST", "capacity", {"zone": "us-*"})
    status, _, words = api.refused("POST", HERE, body())
    assert status == 403 and "does not have enough resources" in words
    api.control("DELETE", "capacity")
    api.control("POST", "quotas", {"metric": "CPUS", "limit": 1, "region": REGION})
    assert api.refused("POST", HERE, body()) == (
        403,
        "quotaExceeded",
        f"Quota 'CPUS' exceeded.  Limit: 1.0 in region {REGION}.",
    )


def test_a_type_a_gpu_and_spot_can_be_exhausted_alone(api: Api) -> None:
    for rule in (
        {"machine_type": "e2-*"},
        {"provisioning": "STANDARD"},
        {"zone": ZONE, "machine_type": "e2-standard-2", "provisioning": "STANDARD"},
    ):
        api.control("POST", "capacity", rule)
        failed(api)
        api.control("POST", "capacity", {**rule, "machines": None})
    api.control("POST", "capacity", {"provisioning": "SPOT"})
    api.control("POST", "capacity", {"machine_type": "nvidia-l4"})
    failed_gpu = api.done(api.post(HERE, body("gpu", **GPUS)))
    assert failed_gpu["error"]["errors"][0]["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED"
    api.make("standard")
    assert "error" in api.done(api.post(HERE, body("spot", scheduling=SPOT)))


def test_a_zone_has_room_for_as_many_as_is_said(api: Api) -> None:
    api.control("POST", "capacity", {"zone": ZONE, "machines": 1})
    api.make("one")
    assert "error" in api.done(api.post(HERE, body("two")))
    api.done(api.post(f"{HERE}/one/stop"))
    api.make("two")
    again = api.done(api.post(f"{HERE}/one/start"))
    assert again["error"]["errors"][0]["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED"
    assert api.instance("one")["status"] == "TERMINATED"


def test_a_quota_names_itself_its_limit_and_its_region(api: Api) -> None:
    api.control("POST", "quotas", {"metric": "NVIDIA_L4_GPUS", "limit": 0, "region": "*"})
    error = failed(api, **GPUS)["error"]["errors"][0]
    assert error["code"] == "QUOTA_EXCEEDED"
    assert error["message"] == f"Quota 'NVIDIA_L4_GPUS' exceeded.  Limit: 0.0 in region {REGION}."
    assert error["errorDetails"][0]["quotaInfo"]["limit"] == 0
    api.control("POST", "quotas", {"metric": "NVIDIA_L4_GPUS", "limit": 1, "region": "*"})
    api.control("POST", "quotas", {"metric": "GPUS_ALL_REGIONS", "limit": 0})
    error = failed(api, **GPUS)["error"]["errors"][0]
    assert error["message"] == "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally."


@pytest.mark.parametrize("limit", [0, 2])
def test_spot_has_quotas_of_its_own_where_there_are_any(api: Api, limit: int) -> None:
    api.control("POST", "quotas", {"metric": "PREEMPTIBLE_CPUS", "limit": limit, "region": REGION})
    api.make("spot", scheduling=SPOT)
    quotas = {one["metric"]: one["usage"] for one in api.get(f"regions/{REGION}")["quotas"]}
    used, unused = ("PREEMPTIBLE_CPUS", "CPUS") if limit else ("CPUS", "PREEMPTIBLE_CPUS")
    assert (quotas[used], quotas[unused], quotas["INSTANCES"]) == (2, 0, 1)
    if limit:
        ended = api.done(api.post(HERE, body("more", scheduling=SPOT)))
        assert "PREEMPTIBLE_CPUS" in ended["error"]["errors"][0]["message"]


def test_advice_is_worse_where_there_is_no_room(api: Api) -> None:
    api.control("POST", "capacity", {"zone": ZONE, "provisioning": "SPOT"})
    asked = {
        "size": 1,
        "instanceProperties": {"scheduling": {"provisioningModel": "SPOT"}},
        "instanceFlexibilityPolicy": {"instanceSelections": {"a": {"machineTypes": ["n2-standard-8"]}}},
        "distributionPolicy": {"zones": [{"zone": f"zones/{ZONE}"}, {"zone": "zones/us-central1-b"}]},
    }
    found = api.post(f"regions/{REGION}/advice/capacity", asked)["recommendations"]
    zones = [one["shards"][0]["zone"].rsplit("/", 1)[1] for one in found]
    scores = [one["scores"]["obtainability"] for one in found]
    assert zones == ["us-central1-b", ZONE] and scores[0] > 0.5 > scores[1]


def test_history_tells_the_price_and_how_many_were_taken_away(api: Api) -> None:
    def asked(**more: Any) -> dict[str, Any]:
        machine = {"machineType": "n2-standard-8", "scheduling": {"provisioningModel": "SPOT"}}
        wanted = {"types": ["PRICE", "PREEMPTION"], "instanceProperties": machine, **more}
        found: dict[str, Any] = api.post(f"regions/{REGION}/advice/capacityHistory", wanted)
        return found

    (price,) = asked()["priceHistory"]
    assert price["listPrice"]["units"] == "0" and 0.2e9 < price["listPrice"]["nanos"] < 0.25e9
    before = asked(locationPolicy={"location": f"zones/{ZONE}"})["preemptionHistory"][0]["preemptionRate"]
    api.control("POST", "capacity", {"zone": ZONE, "provisioning": "SPOT"})
    found = asked(locationPolicy={"location": f"zones/{ZONE}"})
    assert found["preemptionHistory"][0]["preemptionRate"] > 0.9 > before and found["location"].endswith(ZONE)
    assert "preemptionHistory" not in asked(types=["PRICE"])


def test_a_control_that_makes_no_sense_is_answered_with_what_there_is(api: Api) -> None:
    for path, wanted, words in (
        ("capacity", {"zones": ZONE}, "there are zone, machine_type, provisioning, machines"),
        ("capacity", {"provisioning": "CHEAP"}, "there are *, SPOT, STANDARD"),
        ("quotas", {"metric": "GPUS", "limit": 1}, "GPUS_ALL_REGIONS"),
    ):
        answer = api.emulator.call("POST", f"/_emulator/{path}", wanted)
        assert answer.status == 400 and words in answer.json()["error"]["message"]
