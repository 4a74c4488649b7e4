"""One account that acts as another: the first one's token buys the second one's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from outlast.errors import Denied
from outlast.google.auth.credentials import SCOPE, Credentials, Token
from outlast.google.errors import ApiError, passing
from outlast.google.wire import Request, Wire

LIFE_SECONDS = 3600
CONNECT_SECONDS = 10.0
STALL_SECONDS = 20.0


class ImpersonatedCredentials:
    project = ""

    def __init__(self, document: Mapping[str, Any], source: Credentials, wire: Wire) -> None:
        self._url = str(document["service_account_impersonation_url"])
        self._delegates = list(document.get("delegates") or ())
        self._source = source
        self._wire = wire
        self.account = self._url.rpartition("/")[2].partition(":")[0]
        self.quota_project = str(document.get("quota_project_id") or "")

    def renew(self) -> Token:
        body = {"scope": [SCOPE], "lifetime": f"{LIFE_SECONDS}s", "delegates": self._delegates}
        headers = {
            "Authorization": f"Bearer {self._source.renew().value}",
            "Content-Type": "application/json; charset=UTF-8",
        }
        request = Request("POST", self._url, headers, json.dumps(body).encode())
        answer = self._wire.send(request, connect_seconds=CONNECT_SECONDS, stall_seconds=STALL_SECONDS)
        if answer.status != 200:
            error = ApiError(answer)
            if passing(answer):
                raise error
            raise Denied(
                f"`{self._source.account}` may not act as `{self.account}`: {error.message or answer.status}",
                hint=f"`gcloud iam service-accounts add-iam-policy-binding {self.account} --member=user:YOU "
                "--role=roles/iam.serviceAccountTokenCreator`",
            )
        try:
            return Token(str(json.loads(answer.body)["accessToken"]), float(LIFE_SECONDS))
        except (ValueError, KeyError, TypeError) as error:
            raise Denied(f"the answer for `{self.account}` holds no token") from error
