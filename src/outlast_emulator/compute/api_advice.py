"""`advice.capacity` and `advice.capacityHistory`: where Spot machines are to be had, as far as the control surface has said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
UPTIME = "86400s"


def routes(emulator: Emulator) -> list[Route]:
    return served({"advice.capacity": _Advice(emulator.compute).capacity})


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
