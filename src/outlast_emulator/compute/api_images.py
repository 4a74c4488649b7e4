"""Images and families over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast_emulator.compute import acting, images, links, rules
from outlast_emulator.compute.images import KIND
from outlast_emulator.compute.operations import Operations
from outlast_emulator.compute.resources import Resource, fingerprint
from outlast_emulator.compute.serving import change, list_page, scope_of, served
from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


def routes(emulator: Emulator) -> list[Route]:
    api = _Images(emulator)
    return served(
        {
            "images.get": api.get,
            "images.list": api.list_some,
            "images.getFromFamily": api.from_family,
            "images.insert": api.insert,
            "images.delete": api.delete,
            "images.deprecate": api.deprecate,
            "images.setLabels": api.set_labels,
            "imageFamilyViews.get": api.family_view,
        },
        compute=emulator.compute,
    )


class _Images:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._compute = emulator.compute

    def get(self, request: Request) -> Response:
        self._demand(request, "compute.images.get")
        return answer(self._found(request).document)

    def list_some(self, request: Request) -> Response:
        project = request.params["project"]
        self._demand(request, "compute.images.list")
        found = [one.document for one in self._compute.resources.list(KIND, project, links.GLOBAL)]
        return list_page(request, "compute#imageList", f"projects/{project}/global/{KIND}", found)

    def from_family(self, request: Request) -> Response:
        self._demand(request, "compute.images.getFromFamily")
        return answer(self._compute.images.from_family(request.params["project"], request.params["family"]).document)

    def family_view(self, request: Request) -> Response:
        scope_of(request)
        self._demand(request, "compute.images.getFromFamily")
        found = self._compute.images.from_family(request.params["project"], request.params["family"])
        return answer({"image": found.document})

    def insert(self, request: Request) -> Response:
        compute, project, body = self._compute, request.params["project"], request.json()
        self._check_own(project)
        if body.get("sourceDisk"):
            acting.demand(self._emulator, request, "compute.disks.useReadOnly", named=str(body["sourceDisk"]))
        if body.get("labels"):
            acting.demand(self._emulator, request, "compute.images.setLabels")
        link = links.Link(project, links.GLOBAL, KIND, str(body.get("name", "")))
        operations: Operations = compute.operations

        def act() -> Resource:
            operation = operations.begin("insert", link, user=request.principal)
            made = compute.images.create(project, body, force=request.flag("forceCreate"), operation=operation)
            operation.document["targetId"] = str(made.id)
            compute.resources.save(operation)
            return operation

        return change(compute, request, "insert", link, act)

    def delete(self, request: Request) -> Response:
        found = self._found(request)
        self._check_own(found.project)
        return change(self._compute, request, "delete", found, lambda: self._compute.images.delete(found))

    def deprecate(self, request: Request) -> Response:
        found, body = self._found(request), request.json()
        self._check_own(found.project)

        def act() -> None:
            now = self._found(request)
            images.deprecate(now, body)
            self._compute.resources.save(now)

        return change(self._compute, request, "deprecate", found, act)

    def set_labels(self, request: Request) -> Response:
        request.params.setdefault("image", request.params.get("resource", ""))
        found, body = self._found(request), request.json()
        self._check_own(found.project)
        labels = rules.check_labels(body.get("labels"), "labels")

        def act() -> None:
            now = self._found(request)
            rules.check_fingerprint(body.get("labelFingerprint"), now.document["labelFingerprint"], "labels")
            now.document.update(labels=labels, labelFingerprint=fingerprint(labels))
            self._compute.resources.save(now)

        return change(self._compute, request, "setLabels", found, act)

    def _found(self, request: Request) -> Resource:
        params = request.params
        return self._compute.resources.get(KIND, params["project"], links.GLOBAL, params["image"])

    def _demand(self, request: Request, permission: str) -> None:
        """Google's own images are everybody's to look at."""
        if request.params["project"] not in images.PUBLIC_PROJECTS:
            acting.demand(self._emulator, request, permission)

    def _check_own(self, project: str) -> None:
        """Google's projects are read by everybody and changed by Google."""
        if project in images.PUBLIC_PROJECTS:
            words = f"Required 'compute.images.create' permission for 'projects/{project}'"
            raise ApiError(403, "forbidden", words)
