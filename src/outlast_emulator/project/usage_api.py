"""Service Usage: which APIs are on, and switching them on and off, which takes a while."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError, young
from outlast_emulator.iam.state import PROJECT_NUMBER
from outlast_emulator.project.enabled import TITLES
from outlast_emulator.project.naming import check_project
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

ALL = "/v1/projects/{project}/services"
BATCH_MAX = 20
_TYPES = "type.googleapis.com/google.api.serviceusage.v1."


class UsageApi:
    def __init__(self, emulator: Emulator) -> None:
        self._enabled = emulator.enabled

    def routes(self) -> Iterable[Route]:
        named = "serviceusage.services"
        yield Route(f"{named}.list", "GET", ALL, self.list_all)
        yield Route(f"{named}.batchEnable", "POST", ALL + ":batchEnable", self.batch_enable)
        yield Route(f"{named}.batchGet", "GET", ALL + ":batchGet", self.batch_get)
        yield Route(f"{named}.get", "GET", ALL + "/{api}", self.get)
        yield Route(f"{named}.enable", "POST", ALL + "/{api}:enable", self.enable)
        yield Route(f"{named}.disable", "POST", ALL + "/{api}:disable", self.disable)
        yield Route("serviceusage.operations.get", "GET", "/v1/operations/{operation}", self.operation)

    def list_all(self, request: Request) -> Response:
        check_project(request)
        wanted = {"state:ENABLED": (True,), "state:DISABLED": (False,), "": (True, False)}.get(request.query("filter"))
        if wanted is None:
            raise young("INVALID_ARGUMENT", f"Invalid filter: {request.query('filter')}")
        found = [self._shown(name) for name in sorted(TITLES) if self._enabled.is_on(name) in wanted]
        return answer({"services": found} if found else {})

    def get(self, request: Request) -> Response:
        check_project(request)
        return answer(self._shown(_known(request.params["api"])))

    def batch_get(self, request: Request) -> Response:
        check_project(request)
        names = [one.rpartition("/")[2] for one in request.queries.get("names", [])]
        if not 0 < len(names) <= 30:
            raise young("INVALID_ARGUMENT", "Between 1 and 30 names are required.")
        return answer({"services": [self._shown(_known(name)) for name in names]})

    def enable(self, request: Request) -> Response:
        check_project(request)
        return self._change([_known(request.params["api"])], on=True)

    def disable(self, request: Request) -> Response:
        check_project(request)
        return self._change([_known(request.params["api"])], on=False)

    def batch_enable(self, request: Request) -> Response:
        check_project(request)
        names = request.json().get("serviceIds") or []
        if not 0 < len(names) <= BATCH_MAX:
            raise young("INVALID_ARGUMENT", f"Between 1 and {BATCH_MAX} service ids are required.")
        return self._change([_known(name) for name in names], on=True)

    def operation(self, request: Request) -> Response:
        name = f"operations/{request.params['operation']}"
        found = self._enabled.operation(name)
        if found is None:
            raise young("NOT_FOUND", f"Operation {name} was not found.")
        if not self._enabled.is_done(found):
            return answer({"name": name})
        return answer({"name": name, "done": True, "response": self._response(found["names"], on=found["on"])})

    def _change(self, names: list[str], *, on: bool) -> Response:
        name = self._enabled.change(names, on=on)
        if name.endswith("DONE_OPERATION"):
            return answer({"name": name, "done": True, "response": self._response(names, on=on)})
        return answer({"name": name})

    def _response(self, names: list[str], *, on: bool) -> dict[str, Any]:
        services = [self._shown(name) for name in names]
        if len(services) > 1:
            return {"@type": f"{_TYPES}BatchEnableServicesResponse", "services": services}
        return {"@type": f"{_TYPES}{'Enable' if on else 'Disable'}ServiceResponse", "service": services[0]}

    def _shown(self, name: str) -> dict[str, Any]:
        return {
            "name": f"projects/{PROJECT_NUMBER}/services/{name}",
            "parent": f"projects/{PROJECT_NUMBER}",
            "config": {"name": name, "title": TITLES[name]},
            "state": "ENABLED" if self._enabled.is_on(name) else "DISABLED",
        }


def _known(name: str) -> str:
    if name in TITLES:
        return name
    raise _unknown(name)


def _unknown(name: str) -> ApiError:
    return young(
        "NOT_FOUND",
        f"Not found or permission denied for service(s): {name}.",
        reason="SERVICE_CONFIG_NOT_FOUND_OR_PERMISSION_DENIED",
        domain="serviceusage.googleapis.com",
        services=name,
    )
