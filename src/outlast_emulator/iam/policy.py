"""Whether a member may: bindings of the project and of the bucket, through the roles."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from outlast_emulator.clock import Clock
from outlast_emulator.iam.compute_roles import GROUPS, INSTANCE_ADMIN
from outlast_emulator.iam.roles import ROLES
from outlast_emulator.iam.state import PROJECT, State
from outlast_emulator.switches import Switches

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

    def __init__(self, state: State, clock: Clock, switches: Switches) -> None:
        self._state = state
        self._clock = clock
        self._switches = switches
        self._known: dict[tuple[str, str, str], bool] = {}
        self._document: dict[str, Any] = {}
        """The one that is true for callers by now, and that `_known` is about."""

    def allows(self, member: str, permission: str, resource: str = "") -> bool:
        """On the project, and on `resource` (`buckets/...`, `serviceAccounts/...`) where one is named. "" is nobody."""
        document = self._effective()
        if document is not self._document or len(self._known) > 10_000:
            self._known = {}
            self._document = document
        if permission in GROUPS:  # a switch decides, which may change at any time
            return self._decide(member, permission, resource)
        key = (member, permission, resource)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._decide(member, permission, resource)
        return known

    def knows(self, role: str) -> bool:
        return role in ROLES or (
            role in self._state.document["roles"] and not self._state.document["roles"][role]["deleted"]
        )

    def _effective(self) -> dict[str, Any]:
        """A change is known to those who check it only after a while; `iam_delay_seconds` says how long."""
        delay = self._clock.scaled(self._switches.iam_delay_seconds)
        if delay:
            known_until = self._clock.now() - delay
            for until, document in self._state.past:
                if until > known_until:
                    return document
        return self._state.document

    def _permissions(self, role: str) -> Container[str]:
        custom = self._document["roles"].get(role)
        if custom is not None:
            return () if custom["deleted"] or custom["stage"] == "DISABLED" else custom["permissions"]
        found = ROLES.get(role, frozenset())
        if role == INSTANCE_ADMIN and not self._switches.instance_admin_manages_groups:
            return found - GROUPS
        return found

    def _decide(self, member: str, permission: str, resource: str) -> bool:
        policies = self._document["policies"]
        if self._granted(policies.get(PROJECT_POLICY, []), member, permission):
            return True
        if not resource:
            return False
        default = first_bucket_bindings() if resource.startswith("buckets/") else []
        return self._granted(policies.get(resource, default), member, permission)

    def _granted(self, bindings: Iterable[dict[str, Any]], member: str, permission: str) -> bool:
        return any(
            permission in self._permissions(binding["role"])
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
            bindings = self._document["policies"].get(PROJECT_POLICY, [])
            return any(binding["role"] == _CONVENIENCE[kind] and member in binding["members"] for binding in bindings)
        if kind == "domain":
            return member.startswith("user:") and member.endswith(f"@{rest}")
        if listed.startswith("principalSet://") and listed.endswith("/*"):
            return member.startswith(listed.removesuffix("*").replace("principalSet://", "principal://", 1))
        return False
