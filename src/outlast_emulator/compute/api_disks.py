"""Disks over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast_emulator.compute import acting, links, places, rules
from outlast_emulator.compute.disks import KIND, SIZE_GB_MAX
from outlast_emulator.compute.resources import Resource, fingerprint
from outlast_emulator.compute.serving import aggregated, change, list_page, scope_of, served
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


def routes(emulator: Emulator) -> list[Route]:
    api = _Disks(emulator)
    return served(
        {
            "disks.get": api.get,
            "disks.list": api.list_some,
            "disks.aggregatedList": api.list_all,
            "disks.insert": api.insert,
            "disks.delete": api.delete,
            "disks.resize": api.resize,
            "disks.setLabels": api.set_labels,
        },
        slow=("disks.list", "disks.aggregatedList"),
        compute=emulator.compute,
    )


class _Disks:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._compute = emulator.compute

    def get(self, request: Request) -> Response:
        return answer(self._found(request).document)

    def list_some(self, request: Request) -> Response:
        project, scope = request.params["project"], scope_of(request)
        found = [one.document for one in self._compute.resources.list(KIND, project, scope)]
        return list_page(request, "compute#diskList", f"projects/{project}/{scope}/{KIND}", found)

    def list_all(self, request: Request) -> Response:
        project = request.params["project"]
        found = [(one.scope, one.document) for one in self._compute.resources.list(KIND, project)]
        scopes = places.scopes("zones", "regions")
        return aggregated(request, "compute#diskAggregatedList", project, KIND, scopes, found)

    def insert(self, request: Request) -> Response:
        project, scope, body = request.params["project"], scope_of(request), dict(request.json())
        if request.query("sourceImage"):
            body["sourceImage"] = request.query("sourceImage")
        if body.get("sourceDisk"):
            acting.demand(self._emulator, request, "compute.disks.useReadOnly", named=str(body["sourceDisk"]))
        if body.get("labels"):
            acting.demand(self._emulator, request, "compute.disks.setLabels")
        link = links.Link(project, scope, KIND, str(body.get("name", "")))
        compute = self._compute

        def act() -> Resource:
            made = compute.disks.create(project, request.params["zone"], body)
            operation = compute.operations.begin("insert", made, user=request.principal)
            if made.state.get("copied"):
                compute.scheduler.later(
                    compute.switches.operation_seconds, "disks.copy", number=made.id, operation=operation.id
                )
                return operation
            return compute.operations.end_later(compute.switches.operation_seconds, operation)

        return change(compute, request, "insert", link, act)

    def delete(self, request: Request) -> Response:
        found = self._found(request)
        return change(self._compute, request, "delete", found, lambda: self._compute.disks.delete(self._found(request)))

    def resize(self, request: Request) -> Response:
        found = self._found(request)
        size = int(request.json().get("sizeGb") or 0)

        def act() -> None:
            now = self._found(request)
            if size < int(now.document["sizeGb"]):
                words = f"New disk size '{size}' GB must be larger than existing size '{found.document['sizeGb']}' GB."
                raise rules.refused("sizeGb", size, words)
            if size > SIZE_GB_MAX:
                raise rules.refused("sizeGb", size, f"Disk size must be between 10 GB and {SIZE_GB_MAX} GB, inclusive.")
            now.document["sizeGb"] = str(size)
            self._compute.resources.save(now)
            self._compute.usage.end(now)
            self._compute.usage.begin_disk(now)

        return change(self._compute, request, "resizeDisk", found, act)

    def set_labels(self, request: Request) -> Response:
        request.params.setdefault("disk", request.params.get("resource", ""))
        found, body = self._found(request), request.json()
        labels = rules.check_labels(body.get("labels"), "labels")

        def act() -> None:
            now = self._found(request)
            rules.check_fingerprint(body.get("labelFingerprint"), now.document["labelFingerprint"], "labels")
            now.document.update(labels=labels, labelFingerprint=fingerprint(labels))
            self._compute.resources.save(now)

        return change(self._compute, request, "setLabels", found, act)

    def _found(self, request: Request) -> Resource:
        params = request.params
        return self._compute.resources.get(KIND, params["project"], scope_of(request), params["disk"])
