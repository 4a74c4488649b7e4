"""Keys of service accounts and workload federation: by google-auth, over our own wire."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from outlast.clock import Clock
from outlast.errors import Denied
from outlast.google.auth.credentials import SCOPE, Token
from outlast.google.wire import NoAnswer, Request, Wire

CONNECT_SECONDS = 10.0
STALL_SECONDS = 30.0
LIVES_SECONDS_DEFAULT = 3600.0
LIVES_SECONDS_MAX = 12 * 3600.0
"""Google gives no token for longer."""

AWS_TOKEN = "urn:ietf:params:aws:token-type:aws4_request"  # noqa: S105  a name, not a secret


class ExtraCredentials:
    """Any kind that google-auth can load from a document."""

    def __init__(self, document: Mapping[str, Any], wire: Wire, clock: Clock, *, source: str) -> None:
        try:
            import google.auth
            import google.auth.exceptions
            import google.auth.transport
        except ImportError as error:
            raise Denied(
                f"`{source}` is a `{document.get('type')}`, and google-auth, which reads it, is not installed",
                hint="`pip install 'outlast[google]'`, or `gcloud auth application-default login`, which needs nothing",
            ) from error
        try:
            found = _load(document)
        except (google.auth.exceptions.GoogleAuthError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Denied(
                f"`{source}` holds no credentials that can be used: {error}",
                hint="make a new key, or `gcloud auth application-default login`",
            ) from error
        self._exceptions = google.auth.exceptions
        self._credentials = found
        self._clock = clock
        self._source = source
        self._request = _over(wire, google.auth.transport)
        self.account = str(getattr(found, "service_account_email", None) or document.get("client_email") or source)
        self.quota_project = str(document.get("quota_project_id") or "")
        self.project = str(document.get("project_id") or "")

    def renew(self) -> Token:
        try:
            self._credentials.refresh(self._request)
        except self._exceptions.TransportError as error:
            raise NoAnswer(str(error), sent=True) from error
        except (self._exceptions.GoogleAuthError, ValueError) as error:
            if getattr(error, "retryable", False):
                raise NoAnswer(str(error), sent=True) from error
            raise Denied(
                f"Google does not accept `{self.account}` of `{self._source}`: {_first_words(error)}",
                hint="is the key still there, and this machine's clock right? `gcloud auth application-default login` needs no key",
            ) from error
        expiry = self._credentials.expiry
        if expiry is None:
            return Token(self._credentials.token, LIVES_SECONDS_DEFAULT)
        lives = expiry.replace(tzinfo=datetime.timezone.utc).timestamp() - self._clock.now()
        # Of an account that is acted as, the end is by Google's clock: this machine's may be a day off. A 401 tells the truth in time.
        return Token(self._credentials.token, lives if 0 < lives <= LIVES_SECONDS_MAX else LIVES_SECONDS_DEFAULT)


def _load(document: Mapping[str, Any]) -> Any:
    """By its kind: a document never chooses code that its kind does not name."""
    info = dict(document)
    if info["type"] == "service_account":
        from google.oauth2 import service_account

        return service_account.Credentials.from_service_account_info(info, scopes=[SCOPE])
    if info["type"] == "external_account_authorized_user":
        from google.auth import external_account_authorized_user

        return external_account_authorized_user.Credentials.from_info(info)
    if info.get("subject_token_type") == AWS_TOKEN:
        from google.auth import aws

        return aws.Credentials.from_info(info, scopes=[SCOPE])
    if "executable" in info["credential_source"]:
        from google.auth import pluggable

        return pluggable.Credentials.from_info(info, scopes=[SCOPE])
    from google.auth import identity_pool

    return identity_pool.Credentials.from_info(info, scopes=[SCOPE])


def _first_words(error: Exception) -> str:
    return str(error.args[0] if error.args else error)[:300]


def _over(wire: Wire, transport: Any) -> Any:
    """google-auth's requests, sent by our wire."""

    class Received(transport.Response):  # type: ignore[misc]
        def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
            self._parts = status, headers, data

        status = property(lambda self: self._parts[0])
        headers = property(lambda self: self._parts[1])
        data = property(lambda self: self._parts[2])

    class Asking(transport.Request):  # type: ignore[misc]
        def __call__(
            self,
            url: str,
            method: str = "GET",
            body: Any = None,
            headers: Mapping[str, str] | None = None,
            timeout: float | None = None,
            **_: Any,
        ) -> Received:
            data = body.encode() if isinstance(body, str) else body
            try:
                answer = wire.send(
                    Request(method, url, dict(headers or {}), data),
                    connect_seconds=CONNECT_SECONDS,
                    stall_seconds=timeout or STALL_SECONDS,
                )
            except NoAnswer as error:
                from google.auth.exceptions import TransportError

                raise TransportError(error.why) from error
            return Received(answer.status, answer.headers, bytes(answer.body))

    return Asking()
