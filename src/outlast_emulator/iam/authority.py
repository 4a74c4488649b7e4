"""Who is calling, and whether they may: reads tokens, asks the policy, refuses in Google's words."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import NamedTuple

from outlast_emulator.clock import Clock
from outlast_emulator.errors import ApiError, young
from outlast_emulator.iam import jwt
from outlast_emulator.iam.policy import Policy, account_policy, bucket_policy
from outlast_emulator.iam.state import OWNER, PROJECT, State
from outlast_emulator.iam.tokens import CLOUD_PLATFORM, LIFETIME_SECONDS, PREFIX, Mint, Token
from outlast_emulator.request import Request
from outlast_emulator.switches import Switches

READ_ONLY = "https://www.googleapis.com/auth/devstorage.read_only"


class Caller(NamedTuple):
    member: str
    """"" is nobody."""
    scopes: tuple[str, ...]

    @property
    def name(self) -> str:
        """As refusals call them."""
        if not self.member:
            return "Anonymous caller"
        return self.member.split(":", 1)[1] if not self.member.startswith("principal:") else self.member


OWNING = Caller(f"user:{OWNER}", (CLOUD_PLATFORM,))
NOBODY = Caller("", ())


class Authority:
    def __init__(self, directory: Path, clock: Clock, switches: Switches) -> None:
        self.state = State(directory)
        self.state.now = clock.now
        self.clock = clock
        self.switches = switches
        self.policy = Policy(self.state, clock, switches)
        self.asked: dict[str, set[str]] = {}
        """By account: every permission that one of its calls has needed, given or not."""
        self._noted: set[tuple[str, str]] = set()
        """What of it stands there already."""
        self.mint = Mint(bytes.fromhex(self.state.document["secret"]))

    def token(
        self, member: str, scopes: tuple[str, ...] = (CLOUD_PLATFORM,), seconds: float = LIFETIME_SECONDS
    ) -> tuple[str, float]:
        """A new access token, and when it ends."""
        now = self.clock.now()
        return self.mint.issue(Token(member, scopes, now, now + seconds)), now + seconds

    def caller(self, request: Request) -> Caller:
        """Raises 401 for a token that is expired, revoked or forged, and, with `require_login`, for any that is not ours."""
        if request.caller is None:
            request.caller = self._found(request)
        return request.caller

    def _found(self, request: Request) -> Caller:
        text = _presented(request)
        if text.startswith(PREFIX):
            token = self.mint.read(text)
            if token is None or not self._is_valid(token):
                raise invalid_credentials()
            return Caller(token.member, token.scopes)
        if text.startswith("eyJ"):
            signed = self._self_signed(text)
            if signed is not None:
                return signed
        if not self.switches.require_login or (not text and _is_session(request)):
            return OWNING
        if text:
            raise invalid_credentials()
        return NOBODY

    def _is_valid(self, token: Token) -> bool:
        revoked_at = self.state.document["revoked_at"].get(token.member, 0.0)
        return self.clock.now() < token.expires_at and token.issued_at >= revoked_at

    def _self_signed(self, text: str) -> Caller | None:
        """A service account may sign a short-lived token itself instead of asking for one. None: not of an account of ours."""
        parsed = jwt.parse(text)
        email = parsed.claims.get("iss") if parsed else None
        if parsed is None or email not in self.state.document["service_accounts"]:
            return None
        if self.account_of(parsed) is None or not self.in_time(parsed):
            raise invalid_credentials()
        return Caller(f"serviceAccount:{email}", tuple(str(parsed.claims.get("scope", CLOUD_PLATFORM)).split()))

    def account_of(self, parsed: jwt.Jwt) -> str | None:
        """The service account whose key signed this, if there is one."""
        key = self.state.document["keys"].get(parsed.header.get("kid"))
        if key is None or key["email"] != parsed.claims.get("iss") or not parsed.verifies(int(key["modulus"], 16)):
            return None
        email = str(key["email"])
        account = self.state.document["service_accounts"].get(email)
        return None if account is None or account["disabled"] else email

    def in_time(self, parsed: jwt.Jwt) -> bool:
        issued, ends = parsed.claims.get("iat"), parsed.claims.get("exp")
        if not isinstance(issued, int) or not isinstance(ends, int):
            return False
        now = self.clock.now()
        return issued - 300 <= now < ends and ends - issued <= LIFETIME_SECONDS

    def allows(self, caller: Caller, permission: str, resource: str) -> bool:
        if (caller.member, permission) not in self._noted:
            self._noted.add((caller.member, permission))
            self.asked.setdefault(caller.name, set()).add(permission)
        return self.policy.allows(caller.member, permission, resource)

    def demand(self, caller: Caller, permission: str, bucket: str = "", object_name: str = "") -> None:
        """Raises 403, or 401 for nobody, unless the caller has the permission on the bucket (or, without one, the project)."""
        if self.allows(caller, permission, bucket_policy(bucket) if bucket else ""):
            return
        on_bucket = not object_name or permission.startswith("storage.buckets.") or permission.endswith(".list")
        what = "Google Cloud Storage bucket" if on_bucket else "Google Cloud Storage object"
        if not bucket:
            what = "Google Cloud project"
        message = (
            f"{caller.name} does not have {permission} access to the {what}. "
            f"Permission '{permission}' denied on resource (or it may not exist)."
        )
        if not caller.member:
            raise _unauthorized("required", message)
        raise ApiError(403, "forbidden", message)

    def demand_on(self, caller: Caller, permission: str, resource: str = "", named: str = "") -> None:
        """The same for all but Cloud Storage: on `resource` (a policy's name) or the project, which refusals call `named`."""
        if self.allows(caller, permission, resource):
            return
        if not caller.member:
            raise _unauthorized("required", "Request is missing required authentication credential.")
        raise refusal(permission, named or f"projects/{PROJECT}")

    def check(self, request: Request, permission: str, bucket: str = "", object_name: str = "") -> None:
        """For operations: a permission that only they can know is needed, such as that to replace an object."""
        if self.switches.authorize:
            caller = self.caller(request)
            if caller is not OWNING:
                self.demand(caller, permission, bucket, object_name)

    def check_on(self, request: Request, permission: str, resource: str = "", named: str = "") -> None:
        """The same for all but Cloud Storage."""
        if self.switches.authorize:
            caller = self.caller(request)
            if caller is not OWNING:
                self.demand_on(caller, permission, resource, named)

    def forget_bucket(self, name: str) -> None:
        """A bucket that is made again begins with the bindings of a new one."""
        if bucket_policy(name) in self.state.document["policies"]:
            with self.state.change() as document:
                del document["policies"][bucket_policy(name)]

    def knows_member(self, member: str) -> bool:
        """False: a service account of this project that is not there, or so new that policies do not know it yet."""
        kind, _, email = member.partition(":")
        if kind != "serviceAccount" or not email.endswith(f"@{PROJECT}.iam.gserviceaccount.com"):
            return True
        account = self.state.document["service_accounts"].get(email)
        known_until = self.clock.now() - self.clock.scaled(self.switches.account_lag_seconds)
        return account is not None and account.get("made_at", 0.0) <= known_until

    def demand_of_account(self, caller: Caller, permission: str, email: str) -> None:
        """The same for acting as a service account, which is refused in the younger APIs' shape."""
        if self.allows(caller, permission, account_policy(email)):
            return
        message = f"Permission '{permission}' denied on resource (or it may not exist)."
        raise ApiError(
            403, "IAM_PERMISSION_DENIED", message, domain="iam.googleapis.com", grpc_status="PERMISSION_DENIED"
        )


def refusal(permission: str, named: str) -> ApiError:
    """In the words of the API that the permission belongs to."""
    if permission.startswith("compute."):
        return ApiError(403, "forbidden", f"Required '{permission}' permission for '{named}'")
    message = f"Permission '{permission}' denied on resource '{named}' (or it may not exist)."
    domain = "iam.googleapis.com"
    return young(
        "PERMISSION_DENIED",
        message,
        reason="IAM_PERMISSION_DENIED",
        domain=domain,
        permission=permission,
        resource=named,
    )


def _presented(request: Request) -> str:
    header = request.headers.get("authorization", "")
    if header:
        scheme, _, text = header.partition(" ")
        scheme = scheme.lower()
        if scheme == "basic":
            return basic_password(header)
        return text.strip() if scheme in ("bearer", "oauth") else header
    if "access_token=" in request.query_text or "oauth_token=" in request.query_text:
        return request.query("access_token") or request.query("oauth_token")
    return ""


def basic_password(header: str) -> str:
    """Registries take an access token for the password of `oauth2accesstoken`; "": the header is another."""
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        user, _, password = base64.b64decode(text).decode().partition(":")
    except ValueError:
        return ""
    return password if user == "oauth2accesstoken" else f"{user}:{password}"


def _is_session(request: Request) -> bool:
    """The address of a resumable upload is a secret that opens it: who has it needs no token."""
    resumed = request.method_id == "storage.objects.insert" and request.verb in ("PUT", "DELETE")
    return resumed and "upload_id=" in request.query_text


def invalid_credentials() -> ApiError:
    error = _unauthorized("authError", "Invalid Credentials")
    error.headers["www-authenticate"] = 'Bearer realm="https://accounts.google.com/", error="invalid_token"'
    return error


def _unauthorized(reason: str, message: str) -> ApiError:
    headers = {"www-authenticate": 'Bearer realm="https://accounts.google.com/"'}
    return ApiError(401, reason, message, location="Authorization", location_type="header", headers=headers)
