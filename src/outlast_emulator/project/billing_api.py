"""Cloud Billing: whether somebody pays for the project, and the price lists of Compute Engine and Cloud TPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import young
from outlast_emulator.iam.state import PROJECT
from outlast_emulator.project import skus
from outlast_emulator.project.naming import check_project
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

ACCOUNT = "billingAccounts/000000-000000-000000"
PAGE_MAX = 5000


class BillingApi:
    def __init__(self, emulator: Emulator) -> None:
        self._switches = emulator.switches
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def routes(self) -> Iterable[Route]:
        yield Route("cloudbilling.projects.getBillingInfo", "GET", "/v1/projects/{project}/billingInfo", self.get)
        yield Route("cloudbilling.services.list", "GET", "/v1/services", self.services)
        yield Route("cloudbilling.services.skus.list", "GET", "/v1/services/{service}/skus", self.skus, quick=False)

    def get(self, request: Request) -> Response:
        check_project(request)
        named = {"name": f"projects/{PROJECT}/billingInfo", "projectId": PROJECT}
        if not self._switches.billing:
            return answer(named)
        return answer({**named, "billingAccountName": ACCOUNT, "billingEnabled": True})

    def services(self, request: Request) -> Response:
        listed = [
            {
                "name": f"services/{service}",
                "serviceId": service,
                "displayName": title,
                "businessEntityName": "businessEntities/GCP",
            }
            for service, title in skus.SERVICES.items()
        ]
        return answer({"services": listed})

    def skus(self, request: Request) -> Response:
        service = request.params["service"]
        if service not in skus.SERVICES:
            raise young("NOT_FOUND", f"The emulator has no price list of services/{service}.")
        if service not in self._rows:
            self._rows[service] = list(skus.rows(service))
        found = self._rows[service]
        size = min(request.number("pageSize") or PAGE_MAX, PAGE_MAX)
        token = request.query("pageToken") or "0"
        if not token.isdigit() or size < 1:
            raise young("INVALID_ARGUMENT", "Invalid page token or page size.")
        begin = int(token)
        page: dict[str, Any] = {"skus": found[begin : begin + size]}
        if begin + size < len(found):
            page["nextPageToken"] = str(begin + size)
        return answer(page)
