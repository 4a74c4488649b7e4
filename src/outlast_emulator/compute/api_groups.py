"""The API of managed instance groups, zonal (`instanceGroupManagers`) and regional (`regionInstanceGroupManagers`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import groups_view, links, places
from outlast_emulator.compute.groups_state import KIND, Group
from outlast_emulator.compute.resources import Resource
from outlast_emulator.compute.rules import required
from outlast_emulator.compute.serving import aggregated, change, list_page, paged, scope_of, served
from outlast_emulator.errors import required as required_parameter
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


def routes(emulator: Emulator) -> Iterable[Route]:
    api = GroupsApi(emulator)
    methods: dict[str, Operation] = {
        "insert": api.insert,
        "get": api.get,
        "list": api.list,
        "delete": api.delete,
        "patch": api.patch,
        "resize": api.resize,
        "listManagedInstances": api.list_managed,
        "listErrors": api.list_errors,
        "deleteInstances": api.delete_instances,
        "recreateInstances": api.recreate_instances,
        "abandonInstances": api.abandon_instances,
        "createInstances": api.create_instances,
        "applyUpdatesToInstances": api.apply_updates,
        "setInstanceTemplate": api.set_template,
    }
    table = {
        f"{kind}.{name}": method for kind in (KIND, "regionInstanceGroupManagers") for name, method in methods.items()
    }
    table["instanceGroupManagers.aggregatedList"] = api.aggregated
    # A look of the controller holds the database while it makes many machines: who waits for that must not be the loop.
    return served(table, slow=table)


class GroupsApi:
    def __init__(self, emulator: Emulator) -> None:
        self._compute = emulator.compute
        self._groups = emulator.compute.groups

    # ---------------------------------------------------------------------------------------------------------- reading

    def get(self, request: Request) -> Response:
        return answer(groups_view.shown(self._group(request)))

    def list(self, request: Request) -> Response:
        project, scope = request.params["project"], scope_of(request)
        kind = (
            "compute#instanceGroupManagerList"
            if scope.startswith("zones/")
            else "compute#regionInstanceGroupManagerList"
        )
        found = [groups_view.shown(group) for group in self._groups.all(project, scope)]
        return list_page(request, kind, f"projects/{project}/{scope}/{KIND}", found)

    def aggregated(self, request: Request) -> Response:
        project = request.params["project"]
        found = [(group.resource.scope, groups_view.shown(group)) for group in self._groups.all(project)]
        scopes = places.scopes("regions", "zones")
        return aggregated(request, "compute#instanceGroupManagerAggregatedList", project, KIND, scopes, found)

    def list_managed(self, request: Request) -> Response:
        """All of them in one page, unless the group was made with `listManagedInstancesResults: PAGINATED`."""
        group = self._group(request)
        controller = self._groups.controller
        found = [
            groups_view.managed(group, member, controller.instance(member))
            for member in sorted(group.members, key=lambda member: member.name)
        ]
        if group.document["listManagedInstancesResults"] != "PAGINATED":
            request.queries.pop("maxResults", None)
            request.queries.pop("pageToken", None)
        page, token = paged(request, found)
        return answer({"managedInstances": page, **({"nextPageToken": token} if token else {})})

    def list_errors(self, request: Request) -> Response:
        page, token = paged(request, [dict(error) for error in groups_view.errors(self._group(request))])
        return answer({"items": page, **({"nextPageToken": token} if token else {})})

    # --------------------------------------------------------------------------------------------------------- changing

    def insert(self, request: Request) -> Response:
        body, project, scope = request.json(), request.params["project"], scope_of(request)
        if not body.get("name"):
            raise required("resource.name")
        target = links.Link(project, scope, KIND, str(body["name"]))

        def act() -> Resource:
            group = self._groups.create(project, scope, body)
            operation = self._compute.operations.begin("insert", group.resource, user=request.principal)
            return self._compute.operations.end_later(self._compute.switches.operation_seconds, operation)

        return change(self._compute, request, "insert", target, act)

    def delete(self, request: Request) -> Response:
        """The operation ends when the last machine, and the group, are gone."""
        target = self._target(request)

        def act() -> Resource:
            group = self._group(request)
            operation = self._compute.operations.begin("delete", group.resource, user=request.principal)
            self._groups.delete(group, operation)
            return operation

        return change(self._compute, request, "delete", target, act)

    def patch(self, request: Request) -> Response:
        return self._change(request, "patch", lambda group: self._groups.patch(group, request.json()))

    def set_template(self, request: Request) -> Response:
        body = {"instanceTemplate": request.json().get("instanceTemplate", "")}
        return self._change(request, "setInstanceTemplate", lambda group: self._groups.patch(group, body))

    def resize(self, request: Request) -> Response:
        size = request.number("size")
        if size is None:
            raise required_parameter("size")
        return self._change(request, "resize", lambda group: self._groups.resize(group, size))

    def delete_instances(self, request: Request) -> Response:
        skip = bool(request.json().get("skipInstancesOnValidationError"))
        urls = self._instances(request)
        return self._change(request, "deleteInstances", lambda it: self._groups.delete_instances(it, urls, skip=skip))

    def recreate_instances(self, request: Request) -> Response:
        urls = self._instances(request)
        return self._change(request, "recreateInstances", lambda it: self._groups.recreate_instances(it, urls))

    def abandon_instances(self, request: Request) -> Response:
        urls = self._instances(request)
        return self._change(request, "abandonInstances", lambda it: self._groups.abandon_instances(it, urls))

    def create_instances(self, request: Request) -> Response:
        names = [str(one.get("name", "")) for one in self._instances(request)]
        return self._change(request, "createInstances", lambda it: self._groups.create_instances(it, names))

    def apply_updates(self, request: Request) -> Response:
        body = request.json()
        everybody, replacing = bool(body.get("allInstances")), body.get("minimalAction") == "REPLACE"
        urls = body.get("instances") or []
        return self._change(
            request,
            "applyUpdatesToInstances",
            lambda it: self._groups.apply_updates(it, urls, everybody=everybody, replacing=replacing),
        )

    # ------------------------------------------------------------------------------------------------------------ parts

    def _instances(self, request: Request) -> Any:
        found = request.json().get("instances")
        if not found:
            raise required("resource.instances")
        return found

    def _change(self, request: Request, method: str, do: Callable[[Group], None]) -> Response:
        """The operation is over when the change is written down; carrying it out takes its own time."""

        def act() -> None:
            do(self._group(request))

        return change(self._compute, request, f"compute.instanceGroupManagers.{method}", self._target(request), act)

    def _target(self, request: Request) -> links.Link:
        return links.Link(request.params["project"], scope_of(request), KIND, request.params["instanceGroupManager"])

    def _group(self, request: Request) -> Group:
        target = self._target(request)
        return self._groups.get(target.project, target.scope, target.name)
