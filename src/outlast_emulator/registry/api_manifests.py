"""`/v2/NAME/manifests/...`, `/v2/NAME/tags/list` and `/v2/_catalog`."""

from __future__ import annotations

from urllib.parse import quote

from outlast_emulator.registry.errors import RegistryError
from outlast_emulator.registry.model import MANIFEST_BYTES_MAX, Registry
from outlast_emulator.registry.names import Asked
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer


class ManifestsApi:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def get(self, request: Request, what: Asked) -> Response:
        found = self._registry.find(what.name, what.what)
        headers = {
            "content-type": found.media_type,
            "docker-content-digest": found.digest,
            "docker-distribution-api-version": "registry/2.0",
            "etag": f'"{found.digest}"',
        }
        return Response(200, self._registry.blobs.read(found.digest), headers)

    def put(self, request: Request, what: Asked) -> Response:
        data = request.text()
        if len(data) > MANIFEST_BYTES_MAX:
            raise RegistryError("MANIFEST_INVALID", f"manifest invalid: more than {MANIFEST_BYTES_MAX} bytes")
        kind = request.headers.get("content-type", "").split(";")[0].strip()
        digest = self._registry.put(what.name, what.what, data, kind)
        place = f"/v2/{what.name}/manifests/{digest}"
        return Response(201, headers={"location": place, "docker-content-digest": digest})

    def delete(self, request: Request, what: Asked) -> Response:
        self._registry.remove(what.name, what.what)
        return Response(202)

    def tags(self, request: Request, what: Asked) -> Response:
        found, headers = _page(request, self._registry.tags(what.name), f"/v2/{what.name}/tags/list")
        return answer({"name": what.name, "tags": found}, headers=headers)

    def catalog(self, request: Request, what: Asked) -> Response:
        found, headers = _page(request, self._registry.names(), "/v2/_catalog")
        return answer({"repositories": found}, headers=headers)


def _page(request: Request, entries: list[str], path: str) -> tuple[list[str], dict[str, str]]:
    """At most `n` after `last`; where the rest is to be had, if there is any."""
    last, most = request.query("last"), request.number("n")
    found = [entry for entry in entries if entry > last]
    if most is None or most < 0 or len(found) <= most:
        return found, {}
    found = found[:most]
    following = f"{path}?n={most}&last={quote(found[-1] if found else last)}"
    return found, {"link": f'<{following}>; rel="next"'}
