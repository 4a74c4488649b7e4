"""Operations over HTTP: get, list, wait, delete, in zones, regions and globally."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast_emulator.clock import pause
from outlast_emulator.compute import places
from outlast_emulator.compute.model import Compute
from outlast_emulator.compute.operations import KIND
from outlast_emulator.compute.resources import Resource
from outlast_emulator.compute.serving import aggregated, list_page, scope_of, served
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

WAIT_SECONDS_MAX = 120.0
"""Then `wait` answers with an operation that is not done, as Google does."""
LOOK_SECONDS = 0.02


def routes(emulator: Emulator) -> list[Route]:
    api = _Operations(emulator.compute)
    table = {"globalOperations.aggregatedList": api.list_all}
    for collection in ("zoneOperations", "regionOperations", "globalOperations"):
        table[f"{collection}.get"] = api.get
        table[f"{collection}.list"] = api.list_some
        table[f"{collection}.wait"] = api.wait
        table[f"{collection}.delete"] = api.delete
    slow = [name for name in table if name.endswith((".wait", "List"))]
    return served(table, slow=slow)


class _Operations:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def get(self, request: Request) -> Response:
        return answer(self._found(request).document)

    def wait(self, request: Request) -> Response:
        """Returns when it is done, and at the latest after two minutes."""
        clock = self._compute.clock
        ends_at = clock.monotonic() + clock.scaled(WAIT_SECONDS_MAX)
        while True:
            found = self._found(request)
            if found.status == "DONE" or clock.monotonic() >= ends_at:
                return answer(found.document)
            pause(LOOK_SECONDS)

    def list_some(self, request: Request) -> Response:
        project, scope = request.params["project"], scope_of(request)
        found = self._compute.resources.list(KIND, project, scope)
        newest_first = [one.document for one in sorted(found, key=lambda one: -one.id)]
        return list_page(request, "compute#operationList", f"projects/{project}/{scope}/{KIND}", newest_first)

    def list_all(self, request: Request) -> Response:
        project = request.params["project"]
        found = [(one.scope, one.document) for one in self._compute.resources.list(KIND, project)]
        scopes = places.scopes("global", "regions", "zones")
        return aggregated(request, "compute#operationAggregatedList", project, KIND, scopes, found)

    def delete(self, request: Request) -> Response:
        """Of the record only: what it does goes on."""
        self._compute.resources.remove(self._found(request))
        return Response(204)

    def _found(self, request: Request) -> Resource:
        params = request.params
        return self._compute.resources.get(KIND, params["project"], scope_of(request), params["operation"])
