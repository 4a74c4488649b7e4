"""Networks, subnetworks, firewalls and routers over HTTP, as far as clients look them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import links, places
from outlast_emulator.compute.resources import Resource
from outlast_emulator.compute.serving import aggregated, change, list_page, scope_of, served
from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute
    from outlast_emulator.emulator import Emulator

PARAMETERS = {"networks": "network", "subnetworks": "subnetwork", "firewalls": "firewall", "routers": "router"}


def routes(emulator: Emulator) -> list[Route]:
    api = _Networks(emulator.compute)
    table: dict[str, Operation] = {}
    for collection in PARAMETERS:
        table[f"{collection}.get"] = api.bound(api.get, collection)
        table[f"{collection}.list"] = api.bound(api.list_some, collection)
        table[f"{collection}.delete"] = api.bound(api.delete, collection)
    for collection in ("subnetworks", "routers"):
        table[f"{collection}.aggregatedList"] = api.bound(api.list_all, collection)
    table["networks.insert"] = api.insert_network
    table["subnetworks.insert"] = api.insert_subnetwork
    table["subnetworks.setPrivateIpGoogleAccess"] = api.set_private_access
    table["firewalls.insert"] = api.insert_firewall
    table["firewalls.patch"] = api.patch_firewall
    table["routers.insert"] = api.insert_router
    return served(table, compute=emulator.compute)


class _Networks:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def bound(self, operation: Any, collection: str) -> Operation:
        def call(request: Request) -> Response:
            found: Response = operation(request, collection)
            return found

        return call

    def get(self, request: Request, collection: str) -> Response:
        return answer(self._found(request, collection).document)

    def list_some(self, request: Request, collection: str) -> Response:
        project, scope = request.params["project"], scope_of(request)
        found = [one.document for one in self._compute.resources.list(collection, project, scope)]
        kind = f"compute#{PARAMETERS[collection]}List"
        return list_page(request, kind, f"projects/{project}/{scope}/{collection}", found)

    def list_all(self, request: Request, collection: str) -> Response:
        project = request.params["project"]
        found = [(one.scope, one.document) for one in self._compute.resources.list(collection, project)]
        kind = f"compute#{PARAMETERS[collection]}AggregatedList"
        return aggregated(request, kind, project, collection, places.scopes("regions"), found)

    def delete(self, request: Request, collection: str) -> Response:
        found = self._found(request, collection)

        def act() -> None:
            self._check_unused(found)
            if collection == "networks" and found.document.get("autoCreateSubnetworks"):
                for subnet in self._compute.resources.list("subnetworks", found.project):
                    if subnet.document["network"] == found.url:
                        self._compute.resources.remove(subnet)
            self._compute.resources.remove(found)

        return change(self._compute, request, "delete", found, act)

    def insert_network(self, request: Request) -> Response:
        return self._insert(request, "networks", lambda: self._compute.networks.create(*self._asked(request)))

    def insert_firewall(self, request: Request) -> Response:
        return self._insert(request, "firewalls", lambda: self._compute.networks.create_firewall(*self._asked(request)))

    def insert_subnetwork(self, request: Request) -> Response:
        project, body = self._asked(request)
        scope_of(request)
        make = self._compute.networks.create_subnetwork
        return self._insert(request, "subnetworks", lambda: make(project, request.params["region"], body))

    def insert_router(self, request: Request) -> Response:
        project, body = self._asked(request)
        scope = scope_of(request)
        return self._insert(request, "routers", lambda: self._compute.networks.create_router(project, scope, body))

    def set_private_access(self, request: Request) -> Response:
        found = self._found(request, "subnetworks")

        def act() -> None:
            now = self._found(request, "subnetworks")
            now.document["privateIpGoogleAccess"] = bool(request.json().get("privateIpGoogleAccess"))
            self._compute.resources.save(now)

        return change(self._compute, request, "setPrivateIpGoogleAccess", found, act)

    def patch_firewall(self, request: Request) -> Response:
        found = self._found(request, "firewalls")

        def act() -> None:
            now = self._found(request, "firewalls")
            for name, value in request.json().items():
                if value is None:
                    now.document.pop(name, None)
                elif name not in ("id", "name", "kind", "selfLink", "creationTimestamp"):
                    now.document[name] = value
            self._compute.resources.save(now)

        return change(self._compute, request, "patch", found, act)

    def _insert(self, request: Request, collection: str, make: Any) -> Response:
        project, body = self._asked(request)
        link = links.Link(project, scope_of(request), collection, str(body.get("name", "")))

        def act() -> Resource:
            operation = self._compute.operations.begin("insert", make(), user=request.principal)
            return self._compute.operations.end_later(self._compute.switches.operation_seconds, operation)

        return change(self._compute, request, "insert", link, act)

    def _asked(self, request: Request) -> tuple[str, dict[str, Any]]:
        return request.params["project"], request.json()

    def _found(self, request: Request, collection: str) -> Resource:
        name = request.params[PARAMETERS[collection]]
        return self._compute.resources.get(collection, request.params["project"], scope_of(request), name)

    def _check_unused(self, found: Resource) -> None:
        """A network with machines, rules or subnets of a user's in it cannot go."""
        if found.kind not in ("networks", "subnetworks"):
            return
        users = [
            one
            for one in self._compute.resources.list("instances", found.project)
            if any(
                found.url in (nic.get("network"), nic.get("subnetwork")) for nic in one.document["networkInterfaces"]
            )
        ]
        if found.kind == "networks":
            automatic = found.document.get("autoCreateSubnetworks")
            kinds = ("firewalls", "routers") if automatic else ("firewalls", "routers", "subnetworks")
            for kind in kinds:
                inside = self._compute.resources.list(kind, found.project)
                users += [one for one in inside if one.document.get("network") == found.url]
        if users:
            raise ApiError(
                400,
                "resourceInUseByAnotherResource",
                f"The {PARAMETERS[found.kind]} resource '{found.path}' is already being used by '{users[0].path}'",
            )
