"""The authorising step: finds the caller, checks scopes and permissions, and names what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast_emulator.chain import Step
from outlast_emulator.discovery.document import load, names
from outlast_emulator.errors import ApiError, young
from outlast_emulator.iam.authority import OWNING, Authority, Caller
from outlast_emulator.iam.methods import DEMANDS
from outlast_emulator.iam.tokens import CLOUD_PLATFORM
from outlast_emulator.request import Request, decoded
from outlast_emulator.response import Response
from outlast_emulator.routes import Operation

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

XML_READING = frozenset(
    ("xml.buckets.list", "xml.buckets.get", "xml.objects.list", "xml.objects.get", "xml.objects.head")
)
USE_SERVICES = "serviceusage.services.use"
_SCOPE = "https://www.googleapis.com/auth/"
_READING = frozenset(
    f"{_SCOPE}{name}"
    for name in (
        "cloud-platform",
        "cloud-platform.read-only",
        "devstorage.read_only",
        "devstorage.read_write",
        "devstorage.full_control",
    )
)
_PLATFORM = frozenset((CLOUD_PLATFORM,))
_WRITING = _READING - {f"{_SCOPE}cloud-platform.read-only", f"{_SCOPE}devstorage.read_only"}


def step(emulator: Emulator) -> Step:
    authority = emulator.authority
    scopes = {key: method.scopes for name in names() for key, method in load(name).methods.items()}

    def authorize(request: Request, following: Operation) -> Response:
        if request.route is not None and request.route.public:
            return following(request)
        caller = authority.caller(request)
        request.principal = caller.member.split(":", 1)[-1] if caller.member else ""
        if caller is not OWNING and emulator.switches.authorize:
            _check_scopes(request.method_id, caller, scopes)
            _check_quota_project(request, caller, authority)
            _check_permissions(request, caller, authority)
        response = following(request)
        if request.method_id in ("storage.buckets.delete", "xml.buckets.delete") and response.status < 300:
            authority.forget_bucket(request.params["bucket"])
        return response

    emulator.demand = authority.check
    return authorize


def _check_scopes(method_id: str, caller: Caller, scopes: dict[str, frozenset[str]]) -> None:
    if CLOUD_PLATFORM in caller.scopes or not caller.member:
        return
    accepted = scopes.get(method_id)
    if accepted is None:
        accepted = _READING if method_id in XML_READING else _WRITING
        if not method_id.startswith(("storage.", "xml.")):
            accepted = _PLATFORM
    if accepted.isdisjoint(caller.scopes):
        message = "Provided scope(s) are not authorized"
        raise ApiError(403, "forbidden", message)


def _check_quota_project(request: Request, caller: Caller, authority: Authority) -> None:
    """Whoever lets a project pay for a call, by name, needs the right to use its services."""
    project = request.headers.get("x-goog-user-project", "")
    if project and caller.member and not authority.allows(caller, USE_SERVICES, ""):
        message = (
            f"Caller does not have required permission to use project {project}. Grant the caller the "
            f"roles/serviceusage.serviceUsageConsumer role, or a custom role with the {USE_SERVICES} permission."
        )
        raise young(
            "PERMISSION_DENIED",
            message,
            reason="USER_PROJECT_DENIED",
            domain="googleapis.com",
            consumer=f"projects/{project}",
        )


def _check_permissions(request: Request, caller: Caller, authority: Authority) -> None:
    demands = DEMANDS.get(request.method_id)
    if demands is None:
        # Not in the table: a method that the emulator does not implement, which 501 tells better than 403.
        return
    for permission, bucket, object_name, resource in demands:
        if not permission.startswith("storage."):
            named = request.path.removeprefix("/compute").lstrip("/").split("/", 1)[-1]
            policy = resource.format(**request.params) if resource else ""
            authority.demand_on(caller, permission, policy, decoded(named))
            continue
        bucket_name = request.params.get(bucket, "") if bucket else ""
        authority.demand(caller, permission, bucket_name, request.params.get(object_name, "?") if object_name else "")
