"""Secret Manager: secrets, their versions, and who may read them."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import young
from outlast_emulator.iam.state import PROJECT
from outlast_emulator.project import bindings
from outlast_emulator.project.naming import check_project
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route
from outlast_emulator.storage.crc32c import extend

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

ALL = "/v1/projects/{project}/secrets"
ONE = ALL + "/{secret}"
VERSION = ONE + "/versions/{version}"
PAGE_MAX = 25_000


class SecretsApi:
    def __init__(self, emulator: Emulator) -> None:
        self._authority = emulator.authority
        self._secrets = emulator.secrets

    def routes(self) -> Iterable[Route]:
        table: tuple[tuple[str, str, str, Operation], ...] = (
            ("create", "POST", ALL, self.create),
            ("list", "GET", ALL, self.list),
            ("get", "GET", ONE, self.get),
            ("patch", "PATCH", ONE, self.patch),
            ("delete", "DELETE", ONE, self.delete),
            ("addVersion", "POST", ONE + ":addVersion", self.add),
            ("getIamPolicy", "GET", ONE + ":getIamPolicy", self.get_policy),
            ("setIamPolicy", "POST", ONE + ":setIamPolicy", self.put_policy),
            ("testIamPermissions", "POST", ONE + ":testIamPermissions", self.test),
            ("versions.list", "GET", ONE + "/versions", self.versions),
            ("versions.get", "GET", VERSION, self.version),
            ("versions.access", "GET", VERSION + ":access", self.access),
            ("versions.enable", "POST", VERSION + ":enable", self._setting("ENABLED")),
            ("versions.disable", "POST", VERSION + ":disable", self._setting("DISABLED")),
            ("versions.destroy", "POST", VERSION + ":destroy", self._setting("DESTROYED")),
        )
        for name, verb, path, operation in table:
            yield Route(f"secretmanager.projects.secrets.{name}", verb, path, _checked(operation))

    def create(self, request: Request) -> Response:
        return answer(self._secrets.create(request.query("secretId"), request.json()))

    def list(self, request: Request) -> Response:
        """`filter=labels.K=V` is what clients of ours use; another is refused, not ignored."""
        asked = request.query("filter")
        if asked and not asked.startswith("labels."):
            raise young("INVALID_ARGUMENT", f"The emulator knows no filter but labels.KEY=VALUE: {asked}")
        found = [self._secrets.shown(name) for name in self._secrets.names()]
        if asked:
            key, _, value = asked.removeprefix("labels.").replace(":", "=", 1).partition("=")
            found = [one for one in found if one.get("labels", {}).get(key) == value]
        return answer(_paged(request, "secrets", found))

    def get(self, request: Request) -> Response:
        return answer(self._secrets.shown(request.params["secret"]))

    def patch(self, request: Request) -> Response:
        if request.query("updateMask") != "labels":
            raise young("INVALID_ARGUMENT", "The emulator changes nothing of a secret but its labels.")
        return answer(self._secrets.change(request.params["secret"], request.json().get("labels") or {}))

    def delete(self, request: Request) -> Response:
        self._secrets.delete(request.params["secret"])
        with self._authority.state.change() as document:
            document["policies"].pop(self._policy(request), None)
        return answer({})

    def add(self, request: Request) -> Response:
        payload = request.json().get("payload") or {}
        data = str(payload.get("data", "")).replace("-", "+").replace("_", "/")
        sent = payload.get("dataCrc32c")
        if sent is not None and int(sent) != extend(0, base64.b64decode(data)):
            raise young("INVALID_ARGUMENT", "The payload does not match its checksum: it was damaged on its way.")
        return answer(self._secrets.add(request.params["secret"], data))

    def versions(self, request: Request) -> Response:
        return answer(_paged(request, "versions", self._secrets.versions(request.params["secret"])))

    def version(self, request: Request) -> Response:
        return answer(self._secrets.shown_version(request.params["secret"], request.params["version"]))

    def access(self, request: Request) -> Response:
        name, data = self._secrets.access(request.params["secret"], request.params["version"])
        checksum = str(extend(0, base64.b64decode(data)))
        return answer({"name": name, "payload": {"data": data, "dataCrc32c": checksum}})

    def get_policy(self, request: Request) -> Response:
        self._secrets.shown(request.params["secret"])
        return answer(bindings.shown(self._authority, self._policy(request)))

    def put_policy(self, request: Request) -> Response:
        self._secrets.shown(request.params["secret"])
        return answer(bindings.replace(self._authority, self._policy(request), request.json()))

    def test(self, request: Request) -> Response:
        return answer(bindings.tested(self._authority, request, self._policy(request)))

    def _policy(self, request: Request) -> str:
        return f"secrets/{request.params['secret']}"

    def _setting(self, state: str) -> Operation:
        def operation(request: Request) -> Response:
            return answer(self._secrets.set_state(request.params["secret"], request.params["version"], state))

        return operation


def _checked(operation: Operation) -> Operation:
    def call(request: Request) -> Response:
        check_project(request)
        return operation(request)

    return call


def _paged(request: Request, name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    size = min(request.number("pageSize") or PAGE_MAX, PAGE_MAX)
    token = request.query("pageToken") or "0"
    if not token.isdigit() or size < 1:
        raise young("INVALID_ARGUMENT", f"Invalid page of projects/{PROJECT}.")
    begin = int(token)
    page: dict[str, Any] = {"totalSize": len(found)}
    if found[begin : begin + size]:
        page[name] = found[begin : begin + size]
    if begin + size < len(found):
        page["nextPageToken"] = str(begin + size)
    return page
