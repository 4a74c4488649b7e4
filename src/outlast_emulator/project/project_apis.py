"""All routes of the project's own APIs, and what a test may set about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from outlast_emulator.errors import invalid
from outlast_emulator.project.accounts_api import AccountsApi
from outlast_emulator.project.billing_api import BillingApi
from outlast_emulator.project.policy_api import PolicyApi
from outlast_emulator.project.roles_api import RolesApi
from outlast_emulator.project.secrets_api import SecretsApi
from outlast_emulator.project.usage_api import UsageApi
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


def routes(emulator: Emulator) -> Iterable[Route]:
    for api in (UsageApi, PolicyApi, AccountsApi, RolesApi, SecretsApi, BillingApi):
        yield from api(emulator).routes()
    yield Route("emulator.set_apis", "POST", "/_emulator/apis", _setting(emulator), public=True)


def _setting(emulator: Emulator) -> Operation:
    """`POST /_emulator/apis {"enabled": [...]}`: these are on, at once, and no other."""

    def operation(request: Request) -> Response:
        names = request.json().get("enabled")
        if not isinstance(names, list):
            raise invalid("`enabled` is a list of names such as `compute.googleapis.com`")
        try:
            emulator.enabled.set(names)
        except ValueError as error:
            raise invalid(str(error)) from error
        return answer({"enabled": sorted(names)})

    return operation
