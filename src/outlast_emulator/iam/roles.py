"""Google's roles and what each permits; only the permissions that the emulator can ask for."""

from __future__ import annotations

from outlast_emulator.iam import (
    artifact_methods,
    compute_roles,
    iap_methods,
    logging_methods,
    project_roles,
    vertex_methods,
)

_OBJECT_READ = frozenset(
    ("storage.objects.get", "storage.objects.list", "storage.folders.list", "storage.managedFolders.list")
)
_OBJECT_USE = _OBJECT_READ | {
    "storage.objects.create",
    "storage.objects.delete",
    "storage.objects.update",
    "storage.objects.move",
    "storage.objects.restore",
    "storage.multipartUploads.abort",
    "storage.multipartUploads.create",
    "storage.multipartUploads.list",
    "storage.multipartUploads.listParts",
}
_OBJECT_ADMIN = _OBJECT_USE | {"storage.objects.getIamPolicy", "storage.objects.setIamPolicy"}
_BUCKET_ADMIN = frozenset(
    f"storage.buckets.{verb}"
    for verb in ("create", "delete", "get", "getIamPolicy", "list", "restore", "setIamPolicy", "update")
)
_STORAGE_ADMIN = _OBJECT_ADMIN | _BUCKET_ADMIN | {"storage.bucketOperations.get", "storage.bucketOperations.list"}
_ACCOUNT_USE = frozenset(("iam.serviceAccounts.getAccessToken", "iam.serviceAccounts.getOpenIdToken"))
_PROJECT_READ = frozenset(("resourcemanager.projects.get", "storage.buckets.list"))
_HMAC = frozenset(f"storage.hmacKeys.{verb}" for verb in ("create", "delete", "get", "list", "update"))

ROLES: dict[str, frozenset[str]] = {
    "roles/owner": _STORAGE_ADMIN | _PROJECT_READ | _HMAC | _ACCOUNT_USE,
    "roles/editor": (_STORAGE_ADMIN | _PROJECT_READ)
    - {"storage.buckets.setIamPolicy", "storage.objects.setIamPolicy", "storage.objects.getIamPolicy"},
    "roles/viewer": _PROJECT_READ | _OBJECT_READ | {"storage.buckets.get"},
    "roles/storage.admin": _STORAGE_ADMIN | {"resourcemanager.projects.get"} | _HMAC,
    "roles/storage.objectAdmin": _OBJECT_ADMIN | {"resourcemanager.projects.get"},
    "roles/storage.objectUser": _OBJECT_USE | {"resourcemanager.projects.get"},
    "roles/storage.objectViewer": _OBJECT_READ | {"resourcemanager.projects.get"},
    "roles/storage.objectCreator": frozenset(
        (
            "resourcemanager.projects.get",
            "storage.objects.create",
            "storage.multipartUploads.abort",
            "storage.multipartUploads.create",
            "storage.multipartUploads.listParts",
        )
    ),
    "roles/storage.bucketViewer": frozenset(("storage.buckets.get", "storage.buckets.list")),
    "roles/storage.legacyBucketReader": frozenset(
        ("storage.buckets.get", "storage.objects.list", "storage.multipartUploads.list")
    ),
    "roles/storage.legacyBucketWriter": frozenset(
        (
            "storage.buckets.get",
            "storage.objects.list",
            "storage.objects.create",
            "storage.objects.delete",
            "storage.objects.restore",
            "storage.multipartUploads.abort",
            "storage.multipartUploads.create",
            "storage.multipartUploads.list",
            "storage.multipartUploads.listParts",
        )
    ),
    "roles/storage.legacyBucketOwner": frozenset(
        (
            "storage.buckets.get",
            "storage.buckets.getIamPolicy",
            "storage.buckets.setIamPolicy",
            "storage.buckets.update",
            "storage.objects.list",
            "storage.objects.create",
            "storage.objects.delete",
            "storage.objects.restore",
            "storage.multipartUploads.abort",
            "storage.multipartUploads.create",
            "storage.multipartUploads.list",
            "storage.multipartUploads.listParts",
        )
    ),
    "roles/storage.legacyObjectReader": frozenset(("storage.objects.get",)),
    "roles/storage.legacyObjectOwner": frozenset(
        (
            "storage.objects.get",
            "storage.objects.getIamPolicy",
            "storage.objects.setIamPolicy",
            "storage.objects.update",
        )
    ),
    "roles/iam.serviceAccountTokenCreator": _ACCOUNT_USE,
    "roles/iam.workloadIdentityUser": _ACCOUNT_USE,
    "roles/iam.serviceAccountUser": frozenset(("iam.serviceAccounts.actAs",)),
    "roles/serviceusage.serviceUsageConsumer": frozenset(("serviceusage.services.use",)),
}

for _table in (
    project_roles.PERMITTED,
    compute_roles.PERMITTED,
    artifact_methods.PERMITTED,
    iap_methods.PERMITTED,
    logging_methods.PERMITTED,
    vertex_methods.PERMITTED,
):
    for _role, _permitted in _table.items():
        ROLES[_role] = ROLES.get(_role, frozenset()) | _permitted
