"""IAM policies as the younger APIs take and give them: one place that reads, checks and replaces them."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from outlast_emulator.errors import not_implemented, young
from outlast_emulator.iam.authority import OWNING, Authority
from outlast_emulator.iam.bucket_policy import MEMBER
from outlast_emulator.request import Request

DELETED = "deleted:"


def shown(authority: Authority, resource: str) -> dict[str, Any]:
    bindings = [one for one in authority.state.document["policies"].get(resource, []) if one["members"]]
    digest = hashlib.sha256(json.dumps(bindings, sort_keys=True).encode()).digest()
    document: dict[str, Any] = {"version": 1, "etag": base64.b64encode(digest[:8]).decode()}
    return {**document, "bindings": bindings} if bindings else document


def replace(authority: Authority, resource: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """409 if the policy is no longer the one that the caller has read; 400 for roles and members that are not there."""
    policy = wanted.get("policy") or {}
    bindings = [_binding(authority, one) for one in policy.get("bindings") or []]
    with authority.state.change() as document:
        etag = str(policy.get("etag") or "").replace("-", "+").replace("_", "/")  # bytes, in either alphabet
        if etag and etag != shown(authority, resource)["etag"]:
            raise young(
                "ABORTED",
                "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff.",
            )
        document["policies"][resource] = bindings
    return shown(authority, resource)


def tested(authority: Authority, request: Request, resource: str = "") -> dict[str, Any]:
    """Those of the permissions that the caller has."""
    caller = authority.caller(request)
    asked = request.json().get("permissions") or []
    everything = caller is OWNING or not authority.switches.authorize
    held = [one for one in asked if everything or authority.policy.allows(caller.member, one, resource)]
    return {"permissions": held} if held else {}


def _binding(authority: Authority, one: dict[str, Any]) -> dict[str, Any]:
    if one.get("condition"):
        raise not_implemented("setIamPolicy with conditions")
    role, members = one.get("role"), one.get("members") or []
    if not isinstance(role, str) or not authority.policy.knows(role):
        raise young("INVALID_ARGUMENT", f"Role {role} is not supported for this resource.")
    for member in members:
        check_member(authority, member)
    return {"role": role, "members": sorted(set(members))}


def check_member(authority: Authority, member: Any) -> None:
    if isinstance(member, str) and member.startswith(DELETED):
        return
    if not isinstance(member, str) or not MEMBER.match(member):
        raise young("INVALID_ARGUMENT", f"The member {member} is of an unknown type.")
    if not authority.knows_member(member):
        raise young("INVALID_ARGUMENT", f"Service account {member.partition(':')[2]} does not exist.")
