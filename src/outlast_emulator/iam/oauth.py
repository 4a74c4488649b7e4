"""Google's token endpoints: refresh tokens, keys of service accounts, federated identities, impersonation.

| endpoint | Google's address |
| --- | --- |
| `/token`, `/oauth2/v4/token` | oauth2.googleapis.com/token |
| `/v1/token` | sts.googleapis.com/v1/token |
| `/v1/projects/-/serviceAccounts/EMAIL:generateAccessToken` | iamcredentials.googleapis.com |
| `/tokeninfo`, `/oauth2/v3/userinfo`, `/revoke` | oauth2.googleapis.com, www.googleapis.com |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any
from urllib.parse import parse_qs

from outlast_emulator.errors import ApiError, json_error, not_implemented
from outlast_emulator.iam import jwt
from outlast_emulator.iam.authority import Authority
from outlast_emulator.iam.state import PROJECT_NUMBER
from outlast_emulator.iam.tokens import CLOUD_PLATFORM, LIFETIME_SECONDS, PREFIX
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105  a name, not a secret
_SHORT_LIVED = (
    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
    "Check your iat and exp values in the JWT claim."
)
_NO_POOL = (
    'The target service indicated by the "audience" parameters is invalid. This might either be because the pool or '
    "provider is disabled or deleted or because it doesn't exist."
)


IAM_CREDENTIALS = tuple(
    f"iamcredentials.projects.serviceAccounts.{verb}" for verb in ("generateAccessToken", "generateIdToken")
)


class OAuthError(ApiError):
    """RFC 6749's shape, which these endpoints have and no API has."""

    def __init__(self, word: str, description: str, status: int = 400, subtype: str = "") -> None:
        super().__init__(status, word, description)
        self.subtype = subtype


def oauth_error(error: ApiError) -> Response:
    if not isinstance(error, OAuthError):
        return json_error(error)
    document = {"error": error.reason, "error_description": error.message}
    if error.subtype:
        document["error_subtype"] = error.subtype
    return answer(document, error.status)


class Endpoints:
    def __init__(self, authority: Authority) -> None:
        self._authority = authority

    def routes(self) -> Iterable[Route]:
        for path in ("/token", "/oauth2/v4/token", "/o/oauth2/token"):
            yield Route("oauth2.token", "POST", path, self.token, render=oauth_error, public=True)
        yield Route("sts.token", "POST", "/v1/token", self.exchange, render=oauth_error, public=True)
        accounts = "/v1/projects/{project}/serviceAccounts/{call}"
        yield Route("iamcredentials.call", "POST", accounts, self.credentials, refine=_credentials_id, public=True)
        for verb in ("GET", "POST"):
            for path in ("/tokeninfo", "/oauth2/v1/tokeninfo", "/oauth2/v3/tokeninfo"):
                yield Route("oauth2.tokeninfo", verb, path, self.tokeninfo, render=oauth_error, public=True)
            yield Route("oauth2.revoke", verb, "/revoke", self.revoke, render=oauth_error, public=True)
        for path in ("/oauth2/v3/userinfo", "/oauth2/v2/userinfo", "/oauth2/v1/userinfo"):
            yield Route("oauth2.userinfo", "GET", path, self.userinfo, public=True)

    def token(self, request: Request) -> Response:
        form = _form(request)
        grant = form.get("grant_type", "")
        if grant == "refresh_token":
            return self._refreshed(form)
        if grant == JWT_BEARER:
            return self._asserted(form)
        if not grant:
            raise OAuthError("invalid_request", "Required parameter is missing: grant_type")
        raise OAuthError("unsupported_grant_type", f"Invalid grant_type: {grant}")

    def _refreshed(self, form: dict[str, str]) -> Response:
        if not form.get("client_id"):
            raise OAuthError("invalid_request", "Could not determine client ID from request.")
        users = self._authority.state.document["users"]
        sent = form.get("refresh_token", "")
        owners = [email for email, user in users.items() if user["refresh_token"] == sent]
        if not sent:
            raise OAuthError("invalid_request", "Missing required parameter: refresh_token")
        if not owners:
            raise OAuthError("invalid_grant", "Bad Request")
        revoked = users[owners[0]]["revoked"]
        if revoked == "reauth":
            raise OAuthError("invalid_grant", "reauth related error (invalid_rapt)", subtype="invalid_rapt")
        if revoked:
            raise OAuthError("invalid_grant", "Token has been expired or revoked.")
        return self._given(f"user:{owners[0]}", tuple(form.get("scope", CLOUD_PLATFORM).split()))

    def _asserted(self, form: dict[str, str]) -> Response:
        parsed = jwt.parse(form.get("assertion", ""))
        if parsed is None:
            raise OAuthError("invalid_grant", "Invalid JWT: Failed audience check.")
        accounts = self._authority.state.document["service_accounts"]
        if parsed.claims.get("iss") not in accounts:
            raise OAuthError("invalid_grant", "Invalid grant: account not found")
        email = self._authority.account_of(parsed)
        if email is None:
            raise OAuthError("invalid_grant", "Invalid JWT Signature.")
        if not self._authority.in_time(parsed):
            raise OAuthError("invalid_grant", _SHORT_LIVED)
        if "target_audience" in parsed.claims:
            return answer({"id_token": identity_token(self._authority, email, str(parsed.claims["target_audience"]))})
        scope = parsed.claims.get("scope")
        if not isinstance(scope, str) or not scope:
            raise OAuthError("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        return self._given(f"serviceAccount:{email}", tuple(scope.split()))

    def _given(self, member: str, scopes: tuple[str, ...]) -> Response:
        text, _ = self._authority.token(member, scopes)
        document = {"access_token": text, "expires_in": LIFETIME_SECONDS - 1, "token_type": "Bearer"}
        return answer({**document, "scope": " ".join(scopes)})

    def exchange(self, request: Request) -> Response:
        """A foreign identity becomes a Google token. Its signature is not checked: the foreign issuer's keys are elsewhere."""
        form = request.json() if "json" in request.headers.get("content-type", "") else _form(request)
        form = {_snake(name): str(value) for name, value in form.items()}
        if form.get("grant_type") != EXCHANGE:
            raise OAuthError("unsupported_grant_type", "Invalid grant type.")
        audience = form.get("audience", "")
        pool = self._authority.state.document["pools"].get(audience)
        if pool is None:
            raise OAuthError("invalid_target", _NO_POOL)
        subject = self._subject(form.get("subject_token", ""), pool)
        scopes = tuple(form.get("scope", CLOUD_PLATFORM).split())
        member = f"principal:{audience.split('/providers/')[0]}/subject/{subject}"
        text, _ = self._authority.token(member, scopes)
        document: dict[str, Any] = {"access_token": text, "issued_token_type": ACCESS_TOKEN_TYPE}
        return answer({**document, "token_type": "Bearer", "expires_in": LIFETIME_SECONDS})

    def _subject(self, text: str, pool: dict[str, Any]) -> str:
        parsed = jwt.parse(text)
        if parsed is None:
            if not text:
                raise OAuthError("invalid_request", "Missing required parameter: subject_token")
            raise OAuthError("invalid_grant", "Unable to parse the ID Token.")
        if pool["issuer"] and parsed.claims.get("iss") != pool["issuer"]:
            raise OAuthError("invalid_grant", "The issuer in ID Token does not match the expected ones.")
        ends = parsed.claims.get("exp")
        if not isinstance(ends, int) or ends <= self._authority.clock.now():
            raise OAuthError("invalid_grant", "The ID Token is expired.")
        return str(parsed.claims.get("sub", ""))

    def credentials(self, request: Request) -> Response:
        email, _, verb = request.params["call"].partition(":")
        if request.method_id not in IAM_CREDENTIALS:
            raise not_implemented(request.method_id)
        accounts = self._authority.state.document["service_accounts"]
        permission = "getAccessToken" if verb == "generateAccessToken" else "getOpenIdToken"
        caller = self._authority.caller(request)
        if self._authority.switches.authorize:
            self._authority.demand_of_account(caller, f"iam.serviceAccounts.{permission}", email)
        if email not in accounts or accounts[email]["disabled"]:
            message = f"Not found; Gaia id not found for email {email}"
            raise ApiError(404, "notFound", message, grpc_status="NOT_FOUND")
        body = request.json()
        if verb == "generateIdToken":
            return answer({"token": identity_token(self._authority, email, str(body.get("audience", "")))})
        scopes, seconds = _asked_of_account(body)
        text, ends = self._authority.token(f"serviceAccount:{email}", scopes, seconds)
        return answer(
            {
                "accessToken": text,
                "expireTime": datetime.fromtimestamp(ends, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        )

    def tokeninfo(self, request: Request) -> Response:
        form = {**_form(request), **{name: values[-1] for name, values in request.queries.items()}}
        token = (
            self._authority.mint.read(form.get("access_token", ""))
            if form.get("access_token", "").startswith(PREFIX)
            else None
        )
        left = int(token.expires_at - self._authority.clock.now()) if token else 0
        if token is None or left <= 0:
            raise OAuthError("invalid_token", "Invalid Value")
        email = token.member.split(":", 1)[1]
        document = {"azp": "emulated", "aud": "emulated", "scope": " ".join(token.scopes), "expires_in": str(left)}
        return answer({**document, "email": email, "email_verified": "true", "access_type": "offline"})

    def userinfo(self, request: Request) -> Response:
        caller = self._authority.caller(request)
        if not caller.member:
            raise ApiError(
                401,
                "authError",
                "Request is missing required authentication credential.",
                grpc_status="UNAUTHENTICATED",
            )
        return answer({"sub": str(PROJECT_NUMBER), "email": caller.name, "email_verified": True})

    def revoke(self, request: Request) -> Response:
        form = {**_form(request), **{name: values[-1] for name, values in request.queries.items()}}
        sent = form.get("token", "")
        with self._authority.state.change() as document:
            for email, user in document["users"].items():
                if user["refresh_token"] == sent:
                    user["revoked"] = "revoked"
                    document["revoked_at"][f"user:{email}"] = self._authority.clock.now()
                    return answer({})
        raise OAuthError("invalid_token", "Token expired or revoked")


def identity_token(authority: Authority, email: str, audience: str) -> str:
    """Shaped like Google's, signed by nobody: nothing here verifies one."""
    import json

    now = int(authority.clock.now())
    claims = {"aud": audience, "azp": email, "email": email, "email_verified": True, "exp": now + LIFETIME_SECONDS}
    claims |= {"iat": now, "iss": "https://accounts.google.com", "sub": str(PROJECT_NUMBER)}
    header = {"alg": "RS256", "kid": "emulated", "typ": "JWT"}
    parts = [jwt.pad_less(json.dumps(part).encode()) for part in (header, claims)]
    return ".".join([*parts, jwt.pad_less(b"unsigned")])


def _asked_of_account(body: dict[str, Any]) -> tuple[tuple[str, ...], float]:
    scopes = body.get("scope")
    if not isinstance(scopes, list) or not scopes or not all(isinstance(one, str) for one in scopes):
        raise ApiError(400, "badRequest", "scope is required", grpc_status="INVALID_ARGUMENT")
    found = re.fullmatch(r"(\d{1,6})(\.\d+)?s", str(body.get("lifetime", f"{LIFETIME_SECONDS}s")))
    if found is None or not 0 < int(found[1]) <= LIFETIME_SECONDS:
        raise ApiError(
            400, "badRequest", "The lifetime must be between 1 and 3600 seconds.", grpc_status="INVALID_ARGUMENT"
        )
    return tuple(scopes), float(found[1])


def _credentials_id(request: Request) -> str:
    verb = request.params["call"].partition(":")[2]
    return f"iamcredentials.projects.serviceAccounts.{verb or 'get'}"


def _form(request: Request) -> dict[str, str]:
    text = request.text()
    try:
        found = parse_qs(text.decode(), keep_blank_values=True, max_num_fields=100)
    except ValueError as error:
        raise OAuthError("invalid_request", "The request's body is not a form.") from error
    return {name: values[-1] for name, values in found.items()}


def _snake(name: str) -> str:
    """The exchange takes `grantType` in JSON and `grant_type` in a form."""
    return re.sub(r"([A-Z])", lambda found: "_" + found[1].lower(), name)
