"""Whether a member may: bindings of the project and of the bucket, through the roles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from outlast_emulator.iam.roles import ROLES
from outlast_emulator.iam.state import PROJECT, State

PROJECT_POLICY = f"projects/{PROJECT}"

_CONVENIENCE = {
    "projectOwner": "roles/owner",
    "projectEditor": "roles/editor",
    "projectViewer": "roles/viewer",
}


def bucket_policy(name: str) -> str:
    return f"buckets/{name}"


def account_policy(email: str) -> str:
    return f"serviceAccounts/{email}"


def first_bucket_bindings() -> list[dict[str, Any]]:
    """What Google writes into a new bucket's policy: the project's basic roles reach its objects through these."""
    owners = [f"projectEditor:{PROJECT}", f"projectOwner:{PROJECT}"]
    viewers = [f"projectViewer:{PROJECT}"]
    return [
        {"role": "roles/storage.legacyBucketOwner", "members": owners},
        {"role": "roles/storage.legacyBucketReader", "members": viewers},
        {"role": "roles/storage.legacyObjectOwner", "members": owners},
        {"role": "roles/storage.legacyObjectReader", "members": viewers},
    ]


class Policy:
    """Answers `allows`, and keeps what it answered until a binding changes."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._known: dict[tuple[str, str, str], bool] = {}
        self._version = -1

    def allows(self, member: str, permission: str, resource: str = "") -> bool:
        """On the project, and on `resource` (`buckets/...`, `serviceAccounts/...`) where one is named. "" is nobody."""
        if self._version != self._state.version or len(self._known) > 10_000:
            self._known.clear()
            self._version = self._state.version
        key = (member, permission, resource)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._decide(member, permission, resource)
        return known

    def _decide(self, member: str, permission: str, resource: str) -> bool:
        policies = self._state.document["policies"]
        if self._granted(policies.get(PROJECT_POLICY, []), member, permission):
            return True
        if not resource:
            return False
        default = first_bucket_bindings() if resource.startswith("buckets/") else []
        return self._granted(policies.get(resource, default), member, permission)

    def _granted(self, bindings: Iterable[dict[str, Any]], member: str, permission: str) -> bool:
        return any(
            permission in ROLES.get(binding["role"], ())
            and any(self._includes(one, member) for one in binding["members"])
            for binding in bindings
        )

    def _includes(self, listed: str, member: str) -> bool:
        if listed == member or listed == "allUsers":
            return True
        if listed == "allAuthenticatedUsers":
            return bool(member)
        kind, _, rest = listed.partition(":")
        if kind in _CONVENIENCE and rest == PROJECT:
            bindings = self._state.document["policies"].get(PROJECT_POLICY, [])
            return any(binding["role"] == _CONVENIENCE[kind] and member in binding["members"] for binding in bindings)
        if kind == "domain":
            return member.startswith("user:") and member.endswith(f"@{rest}")
        if listed.startswith("principalSet://") and listed.endswith("/*"):
            return member.startswith(listed.removesuffix("*").replace("principalSet://", "principal://", 1))
        return False
