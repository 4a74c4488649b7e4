"""Autoscalers: there are none. gcloud asks for them whenever it describes a group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from outlast_emulator.compute import places
from outlast_emulator.compute.serving import aggregated, list_page, scope_of, served
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

KIND = "autoscalers"


def routes(emulator: Emulator) -> Iterable[Route]:
    return served(
        {"autoscalers.list": _list, "regionAutoscalers.list": _list, "autoscalers.aggregatedList": _aggregated}
    )


def _list(request: Request) -> Response:
    project, scope = request.params["project"], scope_of(request)
    kind = "compute#autoscalerList" if scope.startswith("zones/") else "compute#regionAutoscalerList"
    return list_page(request, kind, f"projects/{project}/{scope}/{KIND}", [])


def _aggregated(request: Request) -> Response:
    scopes = places.scopes("regions", "zones")
    return aggregated(request, "compute#autoscalerAggregatedList", request.params["project"], KIND, scopes, [])
