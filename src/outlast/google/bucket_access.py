"""Who may use a bucket: its policy, what the caller may do there, and its end."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from outlast.google.errors import ApiError
from outlast.google.json_api import Document, JsonApi, change_policy, is_bound
from outlast.google.transport import Transport


class BucketAccess:
    def __init__(self, transport: Transport, bucket: str) -> None:
        self.transport = transport
        self.bucket = bucket
        self._api = JsonApi(transport, f"{transport.endpoints.storage}/storage/v1")
        self._name = f"b/{quote(bucket, safe='')}"

    def has_role(self, role: str, member: str) -> bool:
        return is_bound(self._policy(), role, member)

    def bind(self, role: str, member: str, *, bound: bool = True) -> bool:
        return change_policy(
            self._policy, lambda policy: self._api.put(f"{self._name}/iam", policy), role, member, bound=bound
        )

    def held(self, permissions: Iterable[str]) -> set[str]:
        query = {"permissions": sorted(permissions)}
        return set(self._api.get(f"{self._name}/iam/testPermissions", query).get("permissions", ()))

    def delete(self) -> bool:
        """Whether it is gone: a bucket that holds anything stays, and Google says so itself."""
        try:
            self._api.delete(self._name)
        except ApiError as error:
            if error.status == 409:
                return False
            raise
        return True

    def _policy(self) -> Document:
        return self._api.get(f"{self._name}/iam", {"optionsRequestedPolicyVersion": 3})
