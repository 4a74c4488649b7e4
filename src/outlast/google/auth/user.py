"""A person's login, as gcloud keeps it: a refresh token that buys access tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from outlast.errors import Denied
from outlast.google.auth.credentials import Token
from outlast.google.errors import ApiError, passing
from outlast.google.wire import Request, Wire

CONNECT_SECONDS = 10.0
STALL_SECONDS = 20.0

NEEDED = ("client_id", "client_secret", "refresh_token")


class UserCredentials:
    def __init__(self, document: Mapping[str, Any], wire: Wire, token_url: str, *, source: str, login: str) -> None:
        """`login`: the command that makes these credentials anew."""
        if not all(isinstance(document.get(name), str) for name in NEEDED):
            raise Denied(f"`{source}` is no login that gcloud wrote", hint=f"`{login}`")
        self.account = str(document.get("account") or f"the login in {source}")
        self.quota_project = str(document.get("quota_project_id") or "")
        self.project = ""
        self._form = {"grant_type": "refresh_token", **{name: document[name] for name in NEEDED}}
        self._wire = wire
        self._url = token_url
        self._login = login

    def renew(self) -> Token:
        request = Request(
            "POST",
            self._url,
            {"Content-Type": "application/x-www-form-urlencoded"},
            urlencode(self._form).encode(),
        )
        answer = self._wire.send(request, connect_seconds=CONNECT_SECONDS, stall_seconds=STALL_SECONDS)
        if answer.status == 200:
            return read_token(answer.body, self.account)
        error = ApiError(answer)
        if passing(answer):
            raise error
        raise Denied(
            f"Google no longer accepts {self.account}: {error.message or error.reason or answer.status}",
            hint=f"`{self._login}`",
        )


def read_token(body: bytes | bytearray, account: str) -> Token:
    """An OAuth answer: `access_token` and `expires_in`."""
    try:
        document = json.loads(body)
        return Token(str(document["access_token"]), float(document["expires_in"]))
    except (ValueError, KeyError, TypeError) as error:
        raise Denied(
            f"the answer to {account} holds no token", hint="look at the proxy between here and Google"
        ) from error
