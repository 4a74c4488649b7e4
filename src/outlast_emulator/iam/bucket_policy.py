"""IAM of buckets in the JSON API: getIamPolicy, setIamPolicy, testIamPermissions, and the project's storage account."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError, condition_not_met, invalid, not_implemented
from outlast_emulator.iam.authority import OWNING, Authority
from outlast_emulator.iam.policy import bucket_policy, first_bucket_bindings
from outlast_emulator.iam.state import PROJECT_NUMBER
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

BUCKET = "/storage/v1/b/{bucket}"
MEMBER = re.compile(
    r"(deleted:.+|allUsers|allAuthenticatedUsers|(user|serviceAccount|group|domain|projectOwner|projectEditor|projectViewer):.+|principal(Set)?://.+)\Z"
)


class BucketPolicies:
    def __init__(self, emulator: Emulator, authority: Authority) -> None:
        self._emulator = emulator
        self._authority = authority

    def routes(self) -> Iterable[Route]:
        yield Route("storage.buckets.getIamPolicy", "GET", BUCKET + "/iam", self.get)
        yield Route("storage.buckets.setIamPolicy", "PUT", BUCKET + "/iam", self.put)
        yield Route("storage.buckets.testIamPermissions", "GET", BUCKET + "/iam/testPermissions", self.test)
        account = "/storage/v1/projects/{projectId}/serviceAccount"
        yield Route("storage.projects.serviceAccount.get", "GET", account, self.account)

    def get(self, request: Request) -> Response:
        return answer(self._shown(self._bucket(request)))

    def put(self, request: Request) -> Response:
        name = self._bucket(request)
        wanted = request.json()
        bindings = [_binding(one, self._authority) for one in wanted.get("bindings") or []]
        with self._authority.state.change() as document:
            etag = str(wanted.get("etag") or "").replace("-", "+").replace("_", "/")  # bytes, in either alphabet
            if etag and etag != self._shown(name)["etag"]:
                raise condition_not_met()
            document["policies"][bucket_policy(name)] = bindings
        return answer(self._shown(name))

    def test(self, request: Request) -> Response:
        name = self._bucket(request)
        caller = self._authority.caller(request)
        asked = request.queries.get("permissions", [])
        policy = self._authority.policy
        held = [one for one in asked if caller is OWNING or policy.allows(caller.member, one, bucket_policy(name))]
        document: dict[str, Any] = {"kind": "storage#testIamPermissionsResponse"}
        return answer({**document, "permissions": held} if held else document)

    def account(self, request: Request) -> Response:
        email = f"service-{PROJECT_NUMBER}@gs-project-accounts.iam.gserviceaccount.com"
        return answer({"kind": "storage#serviceAccount", "email_address": email})

    def _bucket(self, request: Request) -> str:
        """404 unless it exists. A bucket that was made again begins with a policy of its own."""
        name = request.params["bucket"]
        self._emulator.storage.buckets.find(name)
        return name

    def _shown(self, name: str) -> dict[str, Any]:
        bindings = self._authority.state.document["policies"].get(bucket_policy(name))
        if bindings is None:
            bindings = first_bucket_bindings()
        digest = hashlib.sha256(json.dumps(bindings, sort_keys=True).encode()).digest()
        etag = base64.b64encode(digest[:6]).decode()
        return {
            "kind": "storage#policy",
            "resourceId": f"projects/_/buckets/{name}",
            "version": 1,
            "etag": etag,
            "bindings": bindings,
        }


def _binding(one: dict[str, Any], authority: Authority) -> dict[str, Any]:
    if one.get("condition"):
        raise not_implemented("storage.buckets.setIamPolicy with conditions")
    role, members = one.get("role"), one.get("members")
    if not isinstance(role, str) or not authority.policy.knows(role):
        raise invalid(f"Role {role} is not supported for this resource.")
    if not isinstance(members, list) or not members:
        raise invalid("Bindings must have at least one member.")
    for member in members:
        if not isinstance(member, str) or not MEMBER.match(member):
            raise ApiError(400, "invalid", f"Invalid argument: The member {member} is of an unknown type.")
        if not authority.knows_member(member):
            email = member.partition(":")[2]
            raise ApiError(400, "invalidArgument", f"Service account {email} does not exist.")
    return {"role": role, "members": sorted(set(members))}
