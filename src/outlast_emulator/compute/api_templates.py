"""The API of instance templates, global (`instanceTemplates`) and regional (`regionInstanceTemplates`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from outlast_emulator.compute import acting, links, places
from outlast_emulator.compute.resources import Resource
from outlast_emulator.compute.rules import required
from outlast_emulator.compute.serving import aggregated, change, list_page, scope_of, served
from outlast_emulator.compute.templates import KIND
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


def routes(emulator: Emulator) -> Iterable[Route]:
    api = TemplatesApi(emulator)
    methods: dict[str, Operation] = {"insert": api.insert, "get": api.get, "list": api.list, "delete": api.delete}
    table = {f"{kind}.{name}": method for kind in (KIND, "regionInstanceTemplates") for name, method in methods.items()}
    table[f"{KIND}.aggregatedList"] = api.aggregated
    return served(table, slow=[f"{KIND}.aggregatedList"])


class TemplatesApi:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._compute = emulator.compute

    def insert(self, request: Request) -> Response:
        body, project, scope = request.json(), request.params["project"], scope_of(request)
        if not body.get("name"):
            raise required("resource.name")
        acting.check(self._emulator, request, (body.get("properties") or {}).get("serviceAccounts"))
        target = links.Link(project, scope, KIND, str(body["name"]))

        def act() -> Resource:
            made = self._compute.templates.create(project, scope, body)
            operation = self._compute.operations.begin("insert", made, user=request.principal)
            return self._compute.operations.end_later(self._compute.switches.operation_seconds, operation)

        return change(self._compute, request, "insert", target, act)

    def delete(self, request: Request) -> Response:
        target = self._target(request)

        def act() -> Resource:
            found = self._template(request)
            self._compute.templates.check_unused(found)
            operation = self._compute.operations.begin("delete", found, user=request.principal)
            self._compute.resources.remove(found)
            return self._compute.operations.end_later(self._compute.switches.operation_seconds, operation)

        return change(self._compute, request, "delete", target, act)

    def get(self, request: Request) -> Response:
        return answer(self._template(request).document)

    def list(self, request: Request) -> Response:
        project, scope = request.params["project"], scope_of(request)
        found = [one.document for one in self._compute.resources.list(KIND, project, scope)]
        return list_page(request, "compute#instanceTemplateList", f"projects/{project}/{scope}/{KIND}", found)

    def aggregated(self, request: Request) -> Response:
        project = request.params["project"]
        found = [(one.scope, one.document) for one in self._compute.resources.list(KIND, project)]
        scopes = places.scopes("global", "regions")
        return aggregated(request, "compute#instanceTemplateAggregatedList", project, KIND, scopes, found)

    def _target(self, request: Request) -> links.Link:
        return links.Link(request.params["project"], scope_of(request), KIND, request.params["instanceTemplate"])

    def _template(self, request: Request) -> Resource:
        target = self._target(request)
        return self._compute.resources.get(KIND, target.project, target.scope, target.name)
