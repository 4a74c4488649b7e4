"""`advice.capacity` and `advice.capacityHistory`: where Spot machines are to be had, as far as the control surface has said so."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import links, machine_types, places, rules
from outlast_emulator.compute.failures import Failure
from outlast_emulator.compute.serving import Document, scope_of, served
from outlast_emulator.errors import invalid
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute
    from outlast_emulator.emulator import Emulator

SIZE_MAX = 1000
OBTAINABLE, SCARCE = 0.9, 0.05
TAKEN = 0.95
WEEK_SECONDS = 7 * 24 * 3600.0
UPTIME = "86400s"


def routes(emulator: Emulator) -> list[Route]:
    advice = _Advice(emulator.compute)
    return served({"advice.capacity": advice.capacity, "advice.capacityHistory": advice.history})


class _Advice:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def capacity(self, request: Request) -> Response:
        """One recommendation for each machine type and zone that could be had, the likelier first."""
        scope_of(request)
        project, region, body = request.params["project"], request.params["region"], request.json()
        size = int(body.get("size") or 0)
        if not 1 <= size <= SIZE_MAX:
            raise rules.refused("size", size, f"Size must be between 1 and {SIZE_MAX}.")
        scheduling = (body.get("instanceProperties") or {}).get("scheduling") or {}
        if scheduling.get("provisioningModel") != "SPOT":
            raise invalid("Only the SPOT provisioning model is supported.")
        found = [
            self._recommended(project, zone, machine, size)
            for machine in _machine_types(body)
            for zone in _zones(body, region)
        ]
        if not found:
            raise rules.refused("instanceFlexibilityPolicy", "", "At least one machine type must be specified.")
        found.sort(key=lambda one: -one["scores"]["obtainability"])
        return answer({"recommendations": found})

    def _recommended(self, project: str, zone: str, machine: str, size: int) -> Document:
        asked = {
            "machineType": machine,
            "scheduling": {"provisioningModel": "SPOT", "preemptible": True},
        }
        known = machine_types.find(machine)
        if known is None:
            raise rules.refused("machineTypes", machine, "The referenced machineType resource cannot be found.")
        score = OBTAINABLE if machine_types.in_zone(known, zone) else 0.0
        try:
            self._compute.capacity.check(project, zone, asked)
        except Failure:
            score = min(score, SCARCE)
        place = links.url(f"projects/{project}/zones/{zone}")
        shard = {"zone": place, "machineType": machine, "instanceCount": size, "provisioningModel": "SPOT"}
        return {"scores": {"obtainability": score, "estimatedUptime": UPTIME}, "shards": [shard]}

    def history(self, request: Request) -> Response:
        """One interval, the last week; where capacity was taken away most machines were taken away too."""
        scope_of(request)
        project, region, body = request.params["project"], request.params["region"], request.json()
        asked = body.get("instanceProperties") or {}
        if (asked.get("scheduling") or {}).get("provisioningModel") != "SPOT":
            raise invalid("Only the SPOT provisioning model is supported.")
        name = links.last(asked.get("machineType") or "")
        machine = machine_types.find(name)
        if machine is None:
            raise rules.refused("machineType", name, "The referenced machineType resource cannot be found.")
        place = _location(body, region)
        zones = [place] if place != region else list(places.REGIONS[region])
        now = self._compute.clock.now()
        interval = {"startTime": rfc3339(int((now - WEEK_SECONDS) * 1e6)), "endTime": rfc3339(int(now * 1e6))}
        kinds = body.get("types") or ()
        scope = "zones" if place != region else "regions"
        found: Document = {"machineType": name, "location": links.url(f"projects/{project}/{scope}/{place}")}
        if "PRICE" in kinds:
            gpus = {
                one["acceleratorType"]: int(one["acceleratorCount"]) for one in asked.get("guestAccelerators") or ()
            }
            usd = machine_types.usd_per_hour(machine, gpus, True)
            found["priceHistory"] = [{"listPrice": _money(usd), "interval": interval}]
        if "PREEMPTION" in kinds:
            rate = sum(self._rate(project, zone, name) for zone in zones) / len(zones)
            found["preemptionHistory"] = [{"preemptionRate": rate, "interval": interval}]
        return answer(found)

    def _rate(self, project: str, zone: str, machine: str) -> float:
        """Always the same for a zone."""
        asked = {"machineType": machine, "scheduling": {"provisioningModel": "SPOT", "preemptible": True}}
        try:
            self._compute.capacity.check(project, zone, asked)
        except Failure:
            return TAKEN
        return round(zlib.crc32(f"{zone} {machine}".encode()) % 40 / 100, 2)


def _location(body: dict[str, Any], region: str) -> str:
    named = links.last((body.get("locationPolicy") or {}).get("location") or "") or region
    if named != region and places.ZONES.get(named) != region:
        raise rules.refused("locationPolicy.location", named, f"Location must be in region {region}.")
    return named


def _money(usd: float) -> Document:
    nanos = round(usd * 1_000_000_000)
    return {"currencyCode": "USD", "units": str(nanos // 1_000_000_000), "nanos": nanos % 1_000_000_000}


def _machine_types(body: dict[str, Any]) -> list[str]:
    selections = (body.get("instanceFlexibilityPolicy") or {}).get("instanceSelections") or {}
    return [links.last(name) for one in selections.values() for name in one.get("machineTypes") or ()]


def _zones(body: dict[str, Any], region: str) -> list[str]:
    asked = (body.get("distributionPolicy") or {}).get("zones") or ()
    named = [links.last(one.get("zone", "")) for one in asked]
    for zone in named:
        if places.ZONES.get(zone) != region:
            raise rules.refused("distributionPolicy.zones", zone, f"Zone must be in region {region}.")
    return named or list(places.REGIONS[region])
