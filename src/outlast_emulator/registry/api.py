"""The routes of `/v2/`: which call a path means, and the calls on contents and uploads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from outlast_emulator.errors import ApiError
from outlast_emulator.registry.api_manifests import ManifestsApi
from outlast_emulator.registry.api_tokens import TokensApi
from outlast_emulator.registry.errors import RegistryError, rendered
from outlast_emulator.registry.model import unknown_blob
from outlast_emulator.registry.names import Asked, asked, is_digest, is_name
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Route
from outlast_emulator.storage.media import byte_range

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

METHOD = "artifactregistry.docker"
VERBS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE")
CALLS = {
    ("blobs", "GET"): "blobs.get",
    ("blobs", "DELETE"): "blobs.delete",
    ("uploads.start", "POST"): "uploads.start",
    ("uploads", "GET"): "uploads.get",
    ("uploads", "PATCH"): "uploads.append",
    ("uploads", "PUT"): "uploads.end",
    ("uploads", "DELETE"): "uploads.abort",
    ("manifests", "GET"): "manifests.get",
    ("manifests", "PUT"): "manifests.put",
    ("manifests", "DELETE"): "manifests.delete",
    ("tags", "GET"): "tags.list",
    ("catalog", "GET"): "catalog.list",
}
Call = Callable[[Request, Asked], Response]


def routes(emulator: Emulator) -> Iterable[Route]:
    api = RegistryApi(emulator)
    tokens = TokensApi(emulator)

    def render(error: ApiError) -> Response:
        return rendered(error, tokens.challenge())

    yield Route(f"{METHOD}.ping", "GET", "/v2", tokens.ping, render=render, public=True)
    for verb in ("GET", "POST"):
        yield Route(f"{METHOD}.token", verb, "/v2/token", tokens.token, render=render, public=True)
    for verb in VERBS:
        yield Route(METHOD, verb, "/v2/{rest...}", api.call, quick=False, refine=_method_id, render=render)


def _method_id(request: Request) -> str:
    verb = "GET" if request.verb == "HEAD" else request.verb
    found = CALLS.get((asked(request).kind, verb), "unknown")
    return f"{METHOD}.{found}"


class RegistryApi:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._registry = emulator.registry
        manifests = ManifestsApi(emulator.registry)
        self._calls: dict[str, Call] = {
            "blobs.get": self.get_blob,
            "blobs.delete": self.delete_blob,
            "uploads.start": self.start_upload,
            "uploads.get": self.get_upload,
            "uploads.append": self.append_upload,
            "uploads.end": self.end_upload,
            "uploads.abort": self.abort_upload,
            "manifests.get": manifests.get,
            "manifests.put": manifests.put,
            "manifests.delete": manifests.delete,
            "tags.list": manifests.tags,
            "catalog.list": manifests.catalog,
        }

    def call(self, request: Request) -> Response:
        call = self._calls.get(request.method_id.removeprefix(f"{METHOD}."))
        if call is None:
            raise RegistryError("UNSUPPORTED", f"The emulator's registry does not know {request.verb} {request.path}.")
        what = asked(request)
        if what.kind != "catalog" and not is_name(what.name):
            raise RegistryError("NAME_INVALID", f"invalid repository name: {what.name}")
        return call(request, what)

    # ------------------------------------------------------------------------------------------------------------ blobs

    def get_blob(self, request: Request, what: Asked) -> Response:
        blobs = self._registry.blobs
        _check_digest(what.what)
        if not self._registry.has_blob(what.name, what.what):
            raise unknown_blob(what.what)
        size = blobs.size(what.what)
        headers = {
            "accept-ranges": "bytes",
            "content-type": "application/octet-stream",
            "docker-content-digest": what.what,
            "etag": f'"{what.what}"',
        }
        wanted = byte_range(request.headers.get("range", ""), size)
        if wanted is None:
            return Response(200, blobs.slice(what.what), headers)
        start, end = wanted
        if start >= end:
            raise RegistryError("SIZE_INVALID", "range not satisfiable", headers={"content-range": f"bytes */{size}"})
        headers["content-range"] = f"bytes {start}-{end - 1}/{size}"
        return Response(206, blobs.slice(what.what, start, end - start), headers)

    def delete_blob(self, request: Request, what: Asked) -> Response:
        _check_digest(what.what)
        self._registry.remove_blob(what.name, what.what)
        return Response(202)

    # ---------------------------------------------------------------------------------------------------------- uploads

    def start_upload(self, request: Request, what: Asked) -> Response:
        self._emulator.repositories.check_there(what.name)
        mounted, digest = request.query("mount"), request.query("digest")
        if mounted and self._mount(request, what.name, mounted):
            return _created(what.name, mounted)
        upload = self._registry.begin_upload(what.name)
        if digest:
            _check_digest(digest)
            self._registry.blobs.append(upload, request.body)
            self._registry.end_upload(what.name, upload, digest)
            return _created(what.name, digest)
        return _going_on(202, what.name, upload, 0)

    def _mount(self, request: Request, name: str, digest: str) -> bool:
        """A blob of another repository, or, if none is said, of any that the caller may read: all of them are the project's."""
        _check_digest(digest)
        other = request.query("from")
        if other and not self._registry.has_blob(other, digest):
            return False
        self._emulator.authority.check_on(request, "artifactregistry.repositories.downloadArtifacts")
        if not self._registry.blobs.has(digest):
            return False
        self._registry.link(name, digest)
        return True

    def get_upload(self, request: Request, what: Asked) -> Response:
        self._registry.check_upload(what.name, what.what)
        return _going_on(204, what.name, what.what, self._registry.blobs.progress(what.what))

    def append_upload(self, request: Request, what: Asked) -> Response:
        self._registry.check_upload(what.name, what.what)
        there = self._registry.blobs.append(what.what, request.body, _start_of(request))
        return _going_on(202, what.name, what.what, there)

    def end_upload(self, request: Request, what: Asked) -> Response:
        self._registry.check_upload(what.name, what.what)
        digest = request.query("digest")
        _check_digest(digest)
        self._registry.blobs.append(what.what, request.body, _start_of(request))
        self._registry.end_upload(what.name, what.what, digest)
        return _created(what.name, digest)

    def abort_upload(self, request: Request, what: Asked) -> Response:
        self._registry.check_upload(what.name, what.what)
        self._registry.blobs.drop(what.what)
        self._registry.forget_upload(what.what)
        return Response(204)


def _created(name: str, digest: str) -> Response:
    return Response(201, headers={"location": f"/v2/{name}/blobs/{digest}", "docker-content-digest": digest})


def _going_on(status: int, name: str, upload: str, there: int) -> Response:
    headers = {
        "location": f"/v2/{name}/blobs/uploads/{upload}",
        "range": f"0-{max(there - 1, 0)}",
        "docker-upload-uuid": upload,
    }
    return Response(status, headers=headers)


def _start_of(request: Request) -> int | None:
    """Of a piece, by `Content-Range: 0-99` (or `bytes 0-99/*`); None: it goes on where the last one ended."""
    found = re.fullmatch(r"(?:bytes[ =])?(\d+)-(\d+)(?:/.*)?", request.headers.get("content-range", ""))
    return int(found[1]) if found else None


def _check_digest(digest: str) -> None:
    if not is_digest(digest):
        raise RegistryError("DIGEST_INVALID", f"invalid digest: {digest or 'none'}; sha256:<64 hex digits> is one")
