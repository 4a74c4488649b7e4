"""IAM's service accounts: made, listed, changed, deleted, and who may act as them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError, young
from outlast_emulator.iam.policy import account_policy
from outlast_emulator.iam.state import PROJECT
from outlast_emulator.project import bindings
from outlast_emulator.project.naming import check_project
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

ALL = "/v1/projects/{project}/serviceAccounts"
ANYWHERE = "/v1/projects/-/serviceAccounts/{account}"
"""The dash: an address says which project's it is."""

_ID = re.compile(r"[a-z]([-a-z0-9]{4,28}[a-z0-9])\Z")
DISPLAY_NAME_MAX = 100


class AccountsApi:
    def __init__(self, emulator: Emulator) -> None:
        self._authority = emulator.authority
        self._state = emulator.authority.state

    def routes(self) -> Iterable[Route]:
        named = "iam.projects.serviceAccounts"
        yield Route(f"{named}.create", "POST", ALL, self.create)
        yield Route(f"{named}.list", "GET", ALL, self.list)
        calls: dict[str, Operation] = {
            "getIamPolicy": self.get_policy,
            "setIamPolicy": self.put_policy,
            "testIamPermissions": self.test,
            "enable": self.enable,
            "disable": self.disable,
        }
        for place in (ALL + "/{account}", ANYWHERE):
            yield Route(f"{named}.get", "GET", place, self.get)
            yield Route(f"{named}.delete", "DELETE", place, self.delete)
            yield Route(f"{named}.patch", "PATCH", place, self.patch)
            for verb, operation in calls.items():
                yield Route(f"{named}.{verb}", "POST", f"{place}:{verb}", operation)

    def create(self, request: Request) -> Response:
        check_project(request)
        body = request.json()
        name, described = str(body.get("accountId", "")), body.get("serviceAccount") or {}
        if not _ID.match(name):
            raise young("INVALID_ARGUMENT", f"Invalid service account id: {name!r}: 6 to 30 of a-z, 0-9 and -.")
        if len(described.get("displayName", "")) > DISPLAY_NAME_MAX:
            raise young("INVALID_ARGUMENT", f"The display name is longer than {DISPLAY_NAME_MAX} bytes.")
        email = f"{name}@{PROJECT}.iam.gserviceaccount.com"
        with self._state.change() as document:
            if email in document["service_accounts"]:
                raise young(
                    "ALREADY_EXISTS",
                    f"Service account {name} already exists within project projects/{PROJECT}.",
                    reason="ALREADY_EXISTS",
                    domain="iam.googleapis.com",
                )
            document["service_accounts"][email] = {
                "disabled": False,
                "uid": str(secrets.randbelow(9 * 10**20) + 10**20),
                "made_at": self._authority.clock.now(),
                "display_name": described.get("displayName", ""),
                "description": described.get("description", ""),
            }
        return answer(self._shown(email))

    def get(self, request: Request) -> Response:
        return answer(self._shown(self._email(request)))

    def list(self, request: Request) -> Response:
        check_project(request)
        found = [self._shown(email) for email in sorted(self._state.document["service_accounts"])]
        return answer({"accounts": found} if found else {})

    def delete(self, request: Request) -> Response:
        """Bindings keep its name, as one that is gone: an account made anew under it does not inherit them."""
        email = self._email(request)
        with self._state.change() as document:
            uid = document["service_accounts"].pop(email).get("uid", "1")
            gone = f"{bindings.DELETED}serviceAccount:{email}?uid={uid}"
            for policy in document["policies"].values():
                for binding in policy:
                    binding["members"] = [
                        gone if one == f"serviceAccount:{email}" else one for one in binding["members"]
                    ]
            document["policies"].pop(account_policy(email), None)
        return answer({})

    def patch(self, request: Request) -> Response:
        email, wanted = self._email(request), request.json().get("serviceAccount") or {}
        with self._state.change() as document:
            account = document["service_accounts"][email]
            for name, kept in (("displayName", "display_name"), ("description", "description")):
                if name in wanted:
                    account[kept] = wanted[name]
        return answer(self._shown(email))

    def enable(self, request: Request) -> Response:
        return self._set_disabled(request, disabled=False)

    def disable(self, request: Request) -> Response:
        return self._set_disabled(request, disabled=True)

    def get_policy(self, request: Request) -> Response:
        return answer(bindings.shown(self._authority, account_policy(self._email(request))))

    def put_policy(self, request: Request) -> Response:
        return answer(bindings.replace(self._authority, account_policy(self._email(request)), request.json()))

    def test(self, request: Request) -> Response:
        return answer(bindings.tested(self._authority, request, account_policy(self._email(request))))

    def _set_disabled(self, request: Request, *, disabled: bool) -> Response:
        email = self._email(request)
        with self._state.change() as document:
            document["service_accounts"][email]["disabled"] = disabled
        return answer({})

    def _email(self, request: Request) -> str:
        """By its address or its unique id; 404 if there is none."""
        check_project(request, dash=True)
        named = request.params["account"]
        for email, account in self._state.document["service_accounts"].items():
            if named in (email, account.get("uid")):
                return str(email)
        raise _unknown(named)

    def _shown(self, email: str) -> dict[str, Any]:
        account = self._state.document["service_accounts"].get(email)
        if account is None:
            raise _unknown(email)
        found = {
            "name": f"projects/{PROJECT}/serviceAccounts/{email}",
            "projectId": PROJECT,
            "uniqueId": account.get("uid", "100000000000000000001"),
            "email": email,
            "displayName": account.get("display_name", ""),
            "description": account.get("description", ""),
            "oauth2ClientId": account.get("uid", "100000000000000000001"),
            "etag": "MDEwMjE5MjA=",
            "disabled": account["disabled"],
        }
        return {name: value for name, value in found.items() if value not in ("", False)}


def _unknown(named: str) -> ApiError:
    return young(
        "NOT_FOUND", f"Unknown service account: {named}", reason="ACCOUNT_NOT_FOUND", domain="iam.googleapis.com"
    )
