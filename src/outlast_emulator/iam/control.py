"""The part of `/_emulator/` that makes accounts, keys, tokens and bindings.

| request | does |
| --- | --- |
| `GET /_emulator/iam` | shows accounts, pools, the machine's account and all bindings |
| `GET /_emulator/iam/asked` | account -> every permission that its calls have needed so far |
| `POST /_emulator/iam/users {"email", "roles"}` | a user; answers with what gcloud keeps as application default credentials |
| `POST /_emulator/iam/service-accounts {"email", "roles", "disabled"}` | a service account |
| `POST /_emulator/iam/keys {"email"}` | a new key of a service account: the key file |
| `POST /_emulator/iam/federation {"pool", "provider", "issuer", "account"}` | a workload identity pool: the credentials' file |
| `POST /_emulator/iam/tokens {"email", "scopes", "lifetime_seconds"}` | an access token |
| `POST /_emulator/iam/bindings {"resource", "role", "member"}`, or `DELETE` | gives or takes a role on `projects/emulated`, `buckets/B` |
| `POST /_emulator/iam/revoke {"email", "how"}` | ends a user's login or an account's tokens; how: `revoked`, `reauth`, or `` to undo |
| `POST /_emulator/iam/machine {"email", "scopes"}` | whose tokens the metadata server gives |
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError, invalid, not_found
from outlast_emulator.iam import rsa
from outlast_emulator.iam.authority import Authority
from outlast_emulator.iam.policy import PROJECT_POLICY, first_bucket_bindings
from outlast_emulator.iam.roles import ROLES
from outlast_emulator.iam.state import PROJECT, PROJECT_NUMBER
from outlast_emulator.iam.tokens import CLOUD_PLATFORM, LIFETIME_SECONDS
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

CLIENT_ID = "emulated.apps.googleusercontent.com"


class Control:
    def __init__(self, emulator: Emulator, authority: Authority) -> None:
        self._emulator = emulator
        self._state = authority.state
        self._authority = authority

    def routes(self) -> Iterable[Route]:
        posts: dict[str, Callable[[dict[str, Any]], Any]] = {
            "users": self.user,
            "service-accounts": self.account,
            "keys": self.key,
            "federation": self.federation,
            "tokens": self.token,
            "bindings": self.bind,
            "revoke": self.revoke,
            "machine": self.machine,
        }
        yield Route("emulator.iam.asked", "GET", "/_emulator/iam/asked", self.asked, public=True)
        yield Route("emulator.iam.get", "GET", "/_emulator/iam", self.show, public=True)
        for name, make in posts.items():
            operation = _operation(make)
            yield Route(f"emulator.iam.{name}", "POST", f"/_emulator/iam/{name}", operation, quick=False, public=True)
        unbind = _operation(self.unbind)
        yield Route("emulator.iam.unbind", "DELETE", "/_emulator/iam/bindings", unbind, public=True)

    def show(self, request: Request) -> Response:
        document = self._state.document
        users = {email: {"revoked": user["revoked"]} for email, user in document["users"].items()}
        shown = {name: document[name] for name in ("service_accounts", "pools", "machine", "policies")}
        return answer({"project": PROJECT, "users": users, **shown, "roles": sorted(ROLES)})

    def asked(self, request: Request) -> Response:
        return answer({who: sorted(permissions) for who, permissions in sorted(self._authority.asked.items())})

    def user(self, body: dict[str, Any]) -> dict[str, Any]:
        email = _email(body)
        with self._state.change() as document:
            fresh = {"refresh_token": f"1//{secrets.token_urlsafe(24)}", "revoked": ""}
            user = document["users"].setdefault(email, fresh)
            _grant(document, f"user:{email}", body)
        return {
            "type": "authorized_user",
            "client_id": CLIENT_ID,
            "client_secret": "emulated",
            "refresh_token": user["refresh_token"],
            "token_uri": f"{self._emulator.url}/token",
            "universe_domain": "googleapis.com",
        }

    def account(self, body: dict[str, Any]) -> dict[str, Any]:
        email = _email(body)
        with self._state.change() as document:
            account = document["service_accounts"].setdefault(email, {"disabled": False})
            account["disabled"] = bool(body.get("disabled", False))
            _grant(document, f"serviceAccount:{email}", body)
        return {"email": email, **account}

    def key(self, body: dict[str, Any]) -> dict[str, Any]:
        email = self._known_account(body)
        modulus, private_key = rsa.make_key()
        key_id = secrets.token_hex(20)
        with self._state.change() as document:
            document["keys"][key_id] = {"email": email, "modulus": f"{modulus:x}"}
        return {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": key_id,
            "private_key": private_key,
            "client_email": email,
            "client_id": str(PROJECT_NUMBER),
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": f"{self._emulator.url}/token",
            "universe_domain": "googleapis.com",
        }

    def federation(self, body: dict[str, Any]) -> dict[str, Any]:
        pool, provider = str(body.get("pool", "emulated")), str(body.get("provider", "emulated"))
        place = f"//iam.googleapis.com/projects/{PROJECT_NUMBER}/locations/global/workloadIdentityPools/{pool}"
        audience = f"{place}/providers/{provider}"
        file = {
            "type": "external_account",
            "audience": audience,
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": f"{self._emulator.url}/v1/token",
            "credential_source": {"file": str(body.get("file", "subject-token"))},
            "universe_domain": "googleapis.com",
        }
        with self._state.change() as document:
            document["pools"][audience] = {"issuer": str(body.get("issuer", ""))}
        if body.get("account"):
            call = f"/v1/projects/-/serviceAccounts/{body['account']}:generateAccessToken"
            file["service_account_impersonation_url"] = self._emulator.url + call
        return file

    def token(self, body: dict[str, Any]) -> dict[str, Any]:
        email = _email(body)
        kind = "serviceAccount" if email in self._state.document["service_accounts"] else "user"
        if kind == "user" and email not in self._state.document["users"]:
            raise not_found(f"no account `{email}`")
        seconds = body.get("lifetime_seconds", LIFETIME_SECONDS)
        if not isinstance(seconds, (int, float)):
            raise invalid("`lifetime_seconds` is a number")
        scopes = tuple(_texts(body, "scopes") or (CLOUD_PLATFORM,))
        text, _ = self._authority.token(f"{kind}:{email}", scopes, float(seconds))
        return {"access_token": text, "expires_in": seconds, "token_type": "Bearer"}

    def bind(self, body: dict[str, Any]) -> dict[str, Any]:
        resource, role, member = _named_binding(body, self._state.document)
        with self._state.change() as document:
            _add(document, resource, role, member)
        return {"bindings": self._state.document["policies"][resource]}

    def unbind(self, body: dict[str, Any]) -> dict[str, Any]:
        resource, role, member = _named_binding(body, self._state.document)
        with self._state.change() as document:
            for binding in document["policies"].get(resource, []):
                if binding["role"] == role and member in binding["members"]:
                    binding["members"].remove(member)
        return {"bindings": self._state.document["policies"].get(resource, [])}

    def revoke(self, body: dict[str, Any]) -> dict[str, Any]:
        email, how = _email(body), str(body.get("how", "revoked"))
        if how not in ("", "revoked", "reauth"):
            raise invalid("`how` is `revoked`, `reauth` or empty")
        with self._state.change() as document:
            if email in document["users"]:
                document["users"][email]["revoked"] = how
            elif email not in document["service_accounts"]:
                raise not_found(f"no account `{email}`")
            kind = "user" if email in document["users"] else "serviceAccount"
            document["revoked_at"][f"{kind}:{email}"] = self._authority.clock.now() if how else 0.0
        return {"email": email, "revoked": how}

    def machine(self, body: dict[str, Any]) -> dict[str, Any]:
        email = self._known_account(body)
        with self._state.change() as document:
            document["machine"] = {"account": email, "scopes": _texts(body, "scopes") or [CLOUD_PLATFORM]}
        return dict(self._state.document["machine"])

    def _known_account(self, body: dict[str, Any]) -> str:
        email = _email(body)
        if email not in self._state.document["service_accounts"]:
            raise not_found(f"no service account `{email}`")
        return email


def _operation(make: Callable[[dict[str, Any]], Any]) -> Callable[[Request], Response]:
    return lambda request: answer(make(request.json()))


def _email(body: dict[str, Any]) -> str:
    email = body.get("email")
    if not isinstance(email, str) or "@" not in email:
        raise invalid("`email` is an account's address")
    return email


def _texts(body: dict[str, Any], name: str) -> list[str]:
    found = body.get(name) or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise invalid(f"`{name}` is a list of texts")
    return found


def _grant(document: dict[str, Any], member: str, body: dict[str, Any]) -> None:
    for role in _texts(body, "roles"):
        _add(document, PROJECT_POLICY, _role(role, document), member)


def _named_binding(body: dict[str, Any], document: dict[str, Any]) -> tuple[str, str, str]:
    resource, member = body.get("resource", PROJECT_POLICY), body.get("member")
    if not isinstance(resource, str) or not isinstance(member, str):
        raise invalid("`resource` and `member` are texts")
    return resource, _role(body.get("role"), document), member


def _role(role: Any, document: dict[str, Any]) -> str:
    if not isinstance(role, str) or (role not in ROLES and role not in document["roles"]):
        raise ApiError(400, "invalid", f"no role `{role}`; there are {', '.join(sorted(ROLES))}")
    return role


def _add(document: dict[str, Any], resource: str, role: str, member: str) -> None:
    first = first_bucket_bindings() if resource.startswith("buckets/") else []
    bindings = document["policies"].setdefault(resource, first)
    for binding in bindings:
        if binding["role"] == role:
            if member not in binding["members"]:
                binding["members"].append(member)
            return
    bindings.append({"role": role, "members": [member]})
