"""storage.buckets: insert, get, list, patch, update, delete, and their IAM policy and layout."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError, invalid, not_implemented, required
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.storage import acl
from outlast_emulator.storage.buckets import Bucket
from outlast_emulator.storage.conditions import asked
from outlast_emulator.storage.lifecycle import check_rules
from outlast_emulator.storage.listing import position
from outlast_emulator.storage.resources import bucket_resource
from outlast_emulator.storage.settable import BUCKET, patched, settable
from outlast_emulator.switches import Switches

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

MULTI_REGIONS = ("US", "EU", "ASIA")
DUAL_REGIONS = ("NAM4", "EUR4", "EUR5", "EUR7", "EUR8", "ASIA1")
SOFT_DELETE_SECONDS_MIN, SOFT_DELETE_SECONDS_MAX = 7 * 86400, 90 * 86400
RETENTION_SECONDS_MAX = 3_155_760_000
"""A hundred years."""


class JsonBuckets:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._buckets = emulator.storage.buckets

    def insert(self, request: Request) -> Response:
        project = request.query("project")
        if not project:
            raise required("project")
        document = request.json()
        name = document.get("name")
        if not name:
            raise required("name")
        fields = first_fields(document, self._emulator.switches)
        _choose_lists(request, fields)
        return self._shown(self._buckets.create(name, project, fields))

    def get(self, request: Request) -> Response:
        return self._shown(self._buckets.get(request.params["bucket"], asked(request)))

    def list(self, request: Request) -> Response:
        project = request.query("project")
        if not project:
            raise required("project")
        limit = request.number("maxResults") or self._emulator.switches.list_page_max
        begin = position(request.query("pageToken")) if request.query("pageToken") else ""
        found = [bucket for bucket in self._buckets.all(project, request.query("prefix")) if bucket.name >= begin]
        document: dict[str, Any] = {"kind": "storage#buckets"}
        if len(found) > limit:
            document["nextPageToken"] = base64.urlsafe_b64encode(found[limit].name.encode()).decode()
        if found:
            document["items"] = [self._resource(bucket) for bucket in found[:limit]]
        return answer(document)

    def patch(self, request: Request) -> Response:
        change = request.json()

        def changed(bucket: Bucket) -> dict[str, Any]:
            fields = patched(bucket.fields, change, BUCKET)
            _check_location(bucket, fields)
            if change.get("softDeletePolicy", "") is None:
                fields["softDeletePolicy"] = {"retentionDurationSeconds": "0"}
            _choose_lists(request, fields)
            return completed(fields, self._emulator.switches)

        return self._shown(self._buckets.change(request.params["bucket"], changed, asked(request)))

    def update(self, request: Request) -> Response:
        document = request.json()

        def replaced(bucket: Bucket) -> dict[str, Any]:
            fixed = ("location", "locationType", "storageClass", "softDeletePolicy")
            fields = {name: bucket.fields[name] for name in fixed if name in bucket.fields} | settable(document, BUCKET)
            _choose_lists(request, fields)
            _check_location(bucket, fields)
            return completed(fields, self._emulator.switches)

        return self._shown(self._buckets.change(request.params["bucket"], replaced, asked(request)))

    def delete(self, request: Request) -> Response:
        self._buckets.delete(request.params["bucket"], asked(request))
        return Response(204)

    def storage_layout(self, request: Request) -> Response:
        bucket = self._buckets.find(request.params["bucket"])
        return answer(
            {
                "kind": "storage#storageLayout",
                "bucket": bucket.name,
                "location": bucket.fields["location"],
                "locationType": bucket.fields["locationType"],
                "hierarchicalNamespace": {
                    "enabled": bool(bucket.fields.get("hierarchicalNamespace", {}).get("enabled", False))
                },
            }
        )

    def list_managed_folders(self, request: Request) -> Response:
        """There are none, since none can be made; gcloud asks before it removes a bucket."""
        self._buckets.find(request.params["bucket"])
        return answer({"kind": "storage#managedFolders"})

    def list_folders(self, request: Request) -> Response:
        bucket = self._buckets.find(request.params["bucket"])
        if not bucket.fields.get("hierarchicalNamespace", {}).get("enabled"):
            raise ApiError(409, "conflict", "The bucket does not support hierarchical namespace.")
        return answer({"kind": "storage#folders"})

    def _resource(self, bucket: Bucket) -> dict[str, Any]:
        from outlast_emulator.emulator import PROJECT_NUMBER

        return bucket_resource(bucket, self._emulator.url, project_number=PROJECT_NUMBER)

    def _shown(self, bucket: Bucket) -> Response:
        return answer(self._resource(bucket))


def _choose_lists(request: Request, fields: dict[str, Any]) -> None:
    acl.chosen(fields, request.query("predefinedAcl"))
    acl.chosen(fields, request.query("predefinedDefaultObjectAcl"), "defaultObjectAcl")


def first_fields(document: dict[str, Any], switches: Switches) -> dict[str, Any]:
    """A new bucket's fields, from what its maker asked for."""
    fields = settable(document, BUCKET)
    fields["location"] = str(fields.get("location", "US")).upper()
    fields["locationType"] = location_type(fields["location"])
    fields.setdefault("storageClass", "STANDARD")
    return completed(fields, switches)


UNKNOWN = (
    ("versioning", "enabled"),
    ("billing", "requesterPays"),
    ("hierarchicalNamespace", "enabled"),
    ("autoclass", "enabled"),
    ("encryption", "defaultKmsKeyName"),
    ("ipFilter", "mode"),
)
"""What a bucket would behave differently with, and the emulator does not know: refused, not ignored."""


def completed(fields: dict[str, Any], switches: Switches) -> dict[str, Any]:
    """What Google adds to what was asked."""
    for name, inner in UNKNOWN:
        if (fields.get(name) or {}).get(inner):
            raise not_implemented(f"storage.buckets: {name}.{inner}")
    check_rules(fields.get("lifecycle") or {})
    access = dict(fields.get("iamConfiguration") or {})
    uniform = dict(access.get("uniformBucketLevelAccess") or access.get("bucketPolicyOnly") or {"enabled": False})
    access["uniformBucketLevelAccess"] = access["bucketPolicyOnly"] = uniform
    access.setdefault("publicAccessPrevention", "inherited")
    if access["publicAccessPrevention"] not in ("inherited", "enforced"):
        raise invalid(f"Invalid public access prevention: {access['publicAccessPrevention']}")
    fields["iamConfiguration"] = access
    policy = dict(fields.get("softDeletePolicy") or {})
    seconds = policy.setdefault("retentionDurationSeconds", str(switches.soft_delete_default_seconds))
    try:
        number = int(seconds)
    except ValueError:
        number = -1
    if number and not SOFT_DELETE_SECONDS_MIN <= number <= SOFT_DELETE_SECONDS_MAX:
        raise invalid("Soft delete policy retention must be 0, or between 7 and 90 days.")
    policy["retentionDurationSeconds"] = str(number)
    fields["softDeletePolicy"] = policy
    kept = fields.get("retentionPolicy")
    if kept and not 0 < int(kept.get("retentionPeriod", 0)) <= RETENTION_SECONDS_MAX:
        raise invalid(f"The retention period must be between 1 and {RETENTION_SECONDS_MAX} seconds.")
    return fields


def location_type(location: str) -> str:
    if location in MULTI_REGIONS:
        return "multi-region"
    return "dual-region" if location in DUAL_REGIONS else "region"


def _check_location(bucket: Bucket, fields: dict[str, Any]) -> None:
    if fields.get("location", "").upper() != bucket.fields["location"]:
        raise invalid("A bucket's location cannot be changed.")
    fields["location"] = bucket.fields["location"]
