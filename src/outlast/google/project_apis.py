"""Service Usage, Resource Manager, IAM and Cloud Billing: one method per request that outlast makes about a project."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from outlast.google.errors import ApiError
from outlast.google.json_api import Document, api, change_policy, is_bound
from outlast.google.transport import Transport


class ProjectApis:
    """Every method raises `ApiError` or `NoAnswer` and nothing else of the network's."""

    def __init__(self, transport: Transport, project: str) -> None:
        self.transport = transport
        self.project = project
        self._usage = api(transport, "serviceusage")
        self._projects = api(transport, "cloudresourcemanager")
        self._iam = api(transport, "iam")
        self._billing = api(transport, "cloudbilling")

    # The project.

    def get_project(self) -> Document:
        return self._projects.get(f"projects/{self.project}")

    @property
    def date(self) -> str:
        """What time it was at Google when it was last asked about the project, as HTTP writes it; empty: it was not."""
        return self._projects.date

    def is_billed(self) -> bool:
        return bool(self._billing.get(f"projects/{self.project}/billingInfo").get("billingEnabled"))

    def held(self, permissions: Iterable[str]) -> set[str]:
        """Those of the permissions that the caller has in the project."""
        answer = self._projects.post(
            f"projects/{self.project}:testIamPermissions", {"permissions": sorted(permissions)}
        )
        return set(answer.get("permissions", ()))

    def has_role(self, role: str, member: str) -> bool:
        return is_bound(self._policy(), role, member)

    def members(self, role: str) -> list[str]:
        """Who has the role in the project."""
        bindings = self._policy().get("bindings", ())
        return sorted({member for one in bindings if one["role"] == role for member in one.get("members", ())})

    def bind(self, role: str, member: str, *, bound: bool = True) -> bool:
        """Gives or takes a role in the project; whether that changed anything."""
        return change_policy(self._policy, self._put_policy, role, member, bound=bound)

    def _policy(self) -> Document:
        options = {"options": {"requestedPolicyVersion": 3}}
        return self._projects.post(f"projects/{self.project}:getIamPolicy", options)

    def _put_policy(self, policy: Document) -> Document:
        return self._projects.post(f"projects/{self.project}:setIamPolicy", {"policy": policy})

    # Its APIs.

    def enabled(self, names: Sequence[str]) -> set[str]:
        """Those of the APIs (`compute.googleapis.com`) that are on."""
        query = {"names": [f"projects/{self.project}/services/{name}" for name in names]}
        answer = self._usage.get(f"projects/{self.project}/services:batchGet", query)
        return {one["name"].rpartition("/")[2] for one in answer.get("services", ()) if one.get("state") == "ENABLED"}

    def enable(self, names: Sequence[str]) -> Document:
        """An operation: `operation` asks how far it is."""
        return self._usage.post(f"projects/{self.project}/services:batchEnable", {"serviceIds": list(names)})

    def operation(self, name: str) -> Document:
        return self._usage.get(name)

    # Its service accounts.

    def account_email(self, account: str) -> str:
        """A project of a domain, `example.com:name`, has its accounts under both."""
        domain, colon, name = self.project.rpartition(":")
        return f"{account}@{f'{name}.{domain}' if colon else name}.iam.gserviceaccount.com"

    def find_account(self, email: str) -> Document | None:
        return self._iam.find(self._account(email))

    def create_account(self, account: str, display_name: str, description: str) -> bool:
        """False: it was there, maybe by an earlier try of this very call."""
        described = {"displayName": display_name, "description": description}
        return self._created(
            f"projects/{self.project}/serviceAccounts", {"accountId": account, "serviceAccount": described}
        )

    def delete_account(self, email: str) -> bool:
        return self._iam.delete(self._account(email))

    def account_has_role(self, email: str, role: str, member: str) -> bool:
        return is_bound(self._iam.post(f"{self._account(email)}:getIamPolicy", {}), role, member)

    def bind_account(self, email: str, role: str, member: str, *, bound: bool = True) -> bool:
        name = self._account(email)
        return change_policy(
            lambda: self._iam.post(f"{name}:getIamPolicy", {}),
            lambda policy: self._iam.post(f"{name}:setIamPolicy", {"policy": policy}),
            role,
            member,
            bound=bound,
        )

    def held_on_account(self, email: str, permissions: Iterable[str]) -> set[str]:
        answer = self._iam.post(f"{self._account(email)}:testIamPermissions", {"permissions": sorted(permissions)})
        return set(answer.get("permissions", ()))

    def _account(self, email: str) -> str:
        return f"projects/{self.project}/serviceAccounts/{email}"

    # Its own roles.

    def find_role(self, role: str) -> Document | None:
        """With `deleted` true while Google remembers one that was deleted."""
        return self._iam.find(self.role_name(role))

    def create_role(self, role: str, described: Document) -> bool:
        return self._created(f"projects/{self.project}/roles", {"roleId": role, "role": described})

    def undelete_role(self, role: str) -> None:
        self._iam.post(f"{self.role_name(role)}:undelete", {})

    def change_role(self, role: str, described: Document) -> None:
        self._iam.patch(self.role_name(role), described, {"updateMask": ",".join(described)})

    def delete_role(self, role: str) -> bool:
        return self._iam.delete(self.role_name(role))

    def role_name(self, role: str) -> str:
        return f"projects/{self.project}/roles/{role}"

    def _created(self, name: str, body: dict[str, Any]) -> bool:
        try:
            self._iam.post(name, body)
        except ApiError as error:
            if error.status == 409:
                return False
            raise
        return True
