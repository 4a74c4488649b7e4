"""Service Usage's list of quotas, as far as it is about Vertex AI's training: one limit for each metric and region."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from outlast_emulator.compute import machine_types, places
from outlast_emulator.errors import not_implemented
from outlast_emulator.iam.state import PROJECT_NUMBER
from outlast_emulator.project.naming import check_project
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route
from outlast_emulator.vertex import shapes
from outlast_emulator.vertex.room import LIMIT_DEFAULT

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

METHOD = "serviceusage.services.consumerQuotaMetrics.list"
SERVICE = "aiplatform.googleapis.com"
UNIT = "1/{project}/{region}"


def routes(emulator: Emulator) -> Iterable[Route]:
    path = "/v1beta1/projects/{project}/services/{service}/consumerQuotaMetrics"
    yield Route(METHOD, "GET", path, _listing(emulator), quick=False)


def _listing(emulator: Emulator) -> Operation:
    def operation(request: Request) -> Response:
        check_project(request)
        if request.params["service"] != SERVICE:
            raise not_implemented(f"{METHOD} of {request.params['service']}")
        limits = emulator.vertex.room.limits()
        full = request.query("view") == "FULL"
        return answer({"metrics": [_metric(one, limits, full=full) for one in metrics(limits)]})

    return operation


def metrics(limits: dict[str, dict[str, float]]) -> list[str]:
    """All that a machine of Vertex AI's can take from, and those that were set by hand."""
    found = {metric for one in limits.values() for metric in one}
    for name in (*machine_types.TYPES, *shapes.TPU_TYPES):
        for preemptible in (False, True):
            found |= set(shapes.metrics({"machineType": name}, 1, preemptible=preemptible))
            for kind in shapes.ACCELERATORS:
                attached = {"machineType": name, "acceleratorType": kind, "acceleratorCount": 1}
                if name == "n1-standard-8":
                    found |= set(shapes.metrics(attached, 1, preemptible=preemptible))
    for kind in ("TPU_V2", "TPU_V3"):
        attached = {"machineType": "cloud-tpu", "acceleratorType": kind, "acceleratorCount": 8}
        found |= set(shapes.metrics(attached, 1, preemptible=False))
    return sorted(found)


def _metric(name: str, limits: dict[str, dict[str, float]], *, full: bool) -> dict[str, Any]:
    everywhere = limits.get("*", {}).get(name, LIMIT_DEFAULT)
    buckets: list[dict[str, Any]] = [_bucket(everywhere)]
    for region in places.REGIONS:
        own = limits.get(region, {}).get(name)
        if own is not None or full:
            buckets.append({**_bucket(everywhere if own is None else own), "dimensions": {"region": region}})
    metric = f"{SERVICE}/{name}"
    parent = f"projects/{PROJECT_NUMBER}/services/{SERVICE}/consumerQuotaMetrics/{quote(metric, safe='')}"
    limit = {
        "name": f"{parent}/limits/{quote('/project/region', safe='')}",
        "metric": metric,
        "unit": UNIT,
        "isPrecise": True,
        "quotaBuckets": buckets,
    }
    words = name.replace("_", " ")
    return {"name": parent, "metric": metric, "displayName": words, "unit": "1", "consumerQuotaLimits": [limit]}


def _bucket(limit: float) -> dict[str, Any]:
    return {"effectiveLimit": str(int(limit)), "defaultLimit": str(int(LIMIT_DEFAULT))}
