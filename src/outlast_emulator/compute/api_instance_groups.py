"""The API of `instanceGroups` and `regionInstanceGroups`: the face that every managed group also has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import groups_view, links, places
from outlast_emulator.compute.groups_state import Group
from outlast_emulator.compute.serving import aggregated, list_page, scope_of, served
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

KIND = "instanceGroups"


def routes(emulator: Emulator) -> Iterable[Route]:
    api = InstanceGroupsApi(emulator)
    methods: dict[str, Operation] = {"get": api.get, "list": api.list, "listInstances": api.list_instances}
    table = {f"{kind}.{name}": method for kind in (KIND, "regionInstanceGroups") for name, method in methods.items()}
    table[f"{KIND}.aggregatedList"] = api.aggregated
    return served(table, slow=[f"{KIND}.aggregatedList"])


class InstanceGroupsApi:
    """Groups that nobody manages are not implemented: `instanceGroups.insert` is answered 501."""

    def __init__(self, emulator: Emulator) -> None:
        self._compute = emulator.compute
        self._groups = emulator.compute.groups

    def get(self, request: Request) -> Response:
        return answer(self._shown(self._group(request)))

    def list(self, request: Request) -> Response:
        project, scope = request.params["project"], scope_of(request)
        kind = "compute#instanceGroupList" if scope.startswith("zones/") else "compute#regionInstanceGroupList"
        found = [self._shown(group) for group in self._groups.all(project, scope)]
        return list_page(request, kind, f"projects/{project}/{scope}/{KIND}", found)

    def aggregated(self, request: Request) -> Response:
        project = request.params["project"]
        found = [(group.resource.scope, self._shown(group)) for group in self._groups.all(project)]
        scopes = places.scopes("regions", "zones")
        return aggregated(request, "compute#instanceGroupAggregatedList", project, KIND, scopes, found)

    def list_instances(self, request: Request) -> Response:
        """`instanceState`: ALL, or only those that are RUNNING."""
        group = self._group(request)
        machines = [self._groups.controller.instance(member) for member in group.members]
        found = [{"instance": one.url, "status": one.status} for one in machines if one is not None]
        if request.json().get("instanceState") == "RUNNING":
            found = [one for one in found if one["status"] == "RUNNING"]
        prefix = "compute#regionInstanceGroups" if group.regional else "compute#instanceGroups"
        path = f"{group.resource.path.replace('instanceGroupManagers', KIND)}/listInstances"
        return list_page(request, f"{prefix}ListInstances", path, found)

    def _group(self, request: Request) -> Group:
        scope = scope_of(request)
        return self._groups.get(request.params["project"], scope, request.params["instanceGroup"])

    def _shown(self, group: Group) -> dict[str, Any]:
        machines = (self._groups.controller.instance(member) for member in group.members)
        first = next((one for one in machines if one is not None), None)
        interfaces = first.document.get("networkInterfaces") or [{}] if first is not None else [{}]
        default = links.url(f"projects/{group.resource.project}/global/networks/default")
        return groups_view.instance_group(group, str(interfaces[0].get("network") or default))
