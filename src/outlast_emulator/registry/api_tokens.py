"""`/v2/` and `/v2/token`: how docker, podman and skopeo log in, with an access token as their password."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from outlast_emulator.iam.authority import basic_password, invalid_credentials
from outlast_emulator.iam.tokens import LIFETIME_SECONDS
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

NOBODY = "anonymous"
"""The token of whoever logs in without one: as good as none."""
VERSION = {"docker-distribution-api-version": "registry/2.0"}


class TokensApi:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def challenge(self) -> str:
        host = self._emulator.url.partition("://")[2]
        return f'Bearer realm="{self._emulator.url}/v2/token",service="{host}"'

    def ping(self, request: Request) -> Response:
        """Whoever comes without a token is told where to get one: so clients send theirs with all that follows."""
        if not request.headers.get("authorization"):
            raise invalid_credentials()
        self._emulator.authority.caller(request)
        return answer({}, headers=VERSION)

    def token(self, request: Request) -> Response:
        """The same token, if it is one: scopes are those of the token, whatever is asked for here."""
        sent = basic_password(request.headers.get("authorization", ""))
        if request.verb == "POST":
            form = parse_qs(request.text().decode("utf-8", "replace"))
            sent = (form.get("password") or form.get("refresh_token") or [sent])[-1]
        if sent:
            request.headers["authorization"] = f"Bearer {sent}"
            self._emulator.authority.caller(request)
        found = sent or NOBODY
        return answer({"token": found, "access_token": found, "expires_in": LIFETIME_SECONDS})
