"""Instances over HTTP: made, found, started, stopped and deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import acting, links, places
from outlast_emulator.compute.instances import KIND, not_ready
from outlast_emulator.compute.resources import Instance, Resource
from outlast_emulator.compute.serving import aggregated, change, list_page, scope_of, served
from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute
    from outlast_emulator.emulator import Emulator


def routes(emulator: Emulator) -> list[Route]:
    api = InstancesApi(emulator)
    return served(
        {
            "instances.get": api.get,
            "instances.list": api.list_some,
            "instances.aggregatedList": api.list_all,
            "instances.insert": api.insert,
            "instances.delete": api.delete,
            "instances.start": api.start,
            "instances.stop": api.stop,
            "instances.reset": api.reset,
            "instances.simulateMaintenanceEvent": api.maintain,
            "instances.testIamPermissions": api.test_permissions,
        },
        slow=("instances.reset", "instances.list", "instances.aggregatedList"),
        compute=emulator.compute,
    )


def found(compute: Compute, request: Request) -> Instance:
    """The instance that the path names; 404 else."""
    name = request.params.get("instance") or request.params["resource"]
    return compute.resources.get(KIND, request.params["project"], scope_of(request), name)


class InstancesApi:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._compute = emulator.compute

    def get(self, request: Request) -> Response:
        return answer(found(self._compute, request).document)

    def list_some(self, request: Request) -> Response:
        project, scope = request.params["project"], scope_of(request)
        documents = [one.document for one in self._compute.resources.list(KIND, project, scope)]
        return list_page(request, "compute#instanceList", f"projects/{project}/{scope}/{KIND}", documents)

    def list_all(self, request: Request) -> Response:
        project = request.params["project"]
        placed = [(one.scope, one.document) for one in self._compute.resources.list(KIND, project)]
        return aggregated(request, "compute#instanceAggregatedList", project, KIND, places.scopes("zones"), placed)

    def insert(self, request: Request) -> Response:
        body, project, scope = request.json(), request.params["project"], scope_of(request)
        body = self._from_template(request, body)
        acting.demand_for_machine(self._emulator, request, body)
        link = links.Link(project, scope, KIND, str(body.get("name", "")))
        compute = self._compute

        def act() -> Resource:
            made = compute.instances.create(project, request.params["zone"], body)
            operation = compute.operations.begin("insert", made, user=request.principal)
            made.state["operation"] = operation.id
            compute.resources.save(made)
            return operation

        return change(compute, request, "insert", link, act)

    def delete(self, request: Request) -> Response:
        instance = found(self._compute, request)
        if instance.document.get("deletionProtection"):
            raise ApiError(
                412,
                "conditionNotMet",
                f"Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion. "
                f"{instance.path}'.",
            )
        return self._ended(request, "delete", instance, self._compute.instances.delete)

    def stop(self, request: Request) -> Response:
        instance = found(self._compute, request)
        if instance.status in ("PROVISIONING", "STAGING"):
            raise not_ready(instance)
        return self._ended(request, "stop", instance, self._compute.instances.stop)

    def start(self, request: Request) -> Response:
        instance = found(self._compute, request)
        if instance.status in ("STOPPING", "SUSPENDING"):
            raise not_ready(instance)
        return self._ended(request, "start", instance, self._compute.instances.start)

    def reset(self, request: Request) -> Response:
        instance = found(self._compute, request)
        if instance.status != "RUNNING":
            raise not_ready(instance)
        compute = self._compute
        with compute.database.write():
            earlier = compute.operations.earlier(
                instance.project, request.query("requestId"), request.method_id, instance.path
            )
            if earlier is not None:
                return answer(earlier.document)
            operation = compute.operations.begin("reset", instance, user=request.principal)
            compute.operations.remember(request.query("requestId"), request.method_id, instance.path, operation)
        try:
            compute.instances.reset(instance, operation=operation)  # outside: it waits for the machine's end
        except ApiError:
            compute.resources.remove(operation)
            raise
        return answer(operation.document)

    def maintain(self, request: Request) -> Response:
        instance = found(self._compute, request)
        if instance.status != "RUNNING":
            raise not_ready(instance)
        act: Callable[[], None] = lambda: self._compute.preemption.maintain(instance)  # noqa: E731
        return change(self._compute, request, "simulateMaintenanceEvent", instance, act)

    def test_permissions(self, request: Request) -> Response:
        found(self._compute, request)
        asked = request.json().get("permissions", [])
        authority = self._emulator.authority
        caller = authority.caller(request)
        held = [one for one in asked if authority.policy.allows(caller.member, one)]
        return answer({"permissions": held} if held else {})

    def _ended(self, request: Request, kind: str, instance: Instance, call: Callable[..., None]) -> Response:
        """The operation is over when the instance is where it was asked to be."""

        def act() -> Resource:
            operation = self._compute.operations.begin(kind, instance, user=request.principal)
            call(instance, operation=operation)
            return operation

        return change(self._compute, request, kind, instance, act)

    def _from_template(self, request: Request, body: dict[str, Any]) -> dict[str, Any]:
        """`sourceInstanceTemplate`: the template's properties, with the body's own over them."""
        named = request.query("sourceInstanceTemplate")
        if not named:
            return body
        compute, project = self._compute, request.params["project"]
        link = links.parse(named, "instanceTemplates", project, links.GLOBAL)
        template = compute.resources.at(link) if link is not None else None
        if template is None:
            raise ApiError(404, "notFound", f"The resource '{named}' was not found")
        properties = dict(template.document.get("properties", {}))
        return {**properties, **{name: value for name, value in body.items() if value not in ([], {}, None)}}
