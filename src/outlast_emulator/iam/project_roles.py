"""What Google's roles permit in the project's own APIs: services, policies, accounts, roles, secrets."""

from __future__ import annotations

from outlast_emulator.iam.project_methods import DEMANDS


def _of(*beginnings: str) -> frozenset[str]:
    return frozenset(one for one in ALL if one.startswith(beginnings))


ALL = frozenset(permission for _, *permissions in DEMANDS.values() for permission in permissions) | {
    "iam.serviceAccounts.actAs",
    "serviceusage.services.use",
}
_READING = frozenset(one for one in ALL if one.rsplit(".", 1)[1] in ("get", "list"))
_POLICIES = frozenset(one for one in ALL if one.endswith("IamPolicy"))
_PROJECT = frozenset(("resourcemanager.projects.get",))

PERMITTED: dict[str, frozenset[str]] = {
    "roles/owner": ALL,
    # An editor may make secrets and not read them, use accounts and not say who else may, and cannot touch roles.
    "roles/editor": (ALL - _POLICIES - _of("iam.roles.") - {"secretmanager.versions.access"}) | _READING,
    "roles/viewer": _READING | {"resourcemanager.projects.getIamPolicy"},
    "roles/browser": _PROJECT | {"resourcemanager.projects.getIamPolicy"},
    "roles/resourcemanager.projectIamAdmin": _of("resourcemanager."),
    "roles/iam.serviceAccountAdmin": (_of("iam.serviceAccounts.") - {"iam.serviceAccounts.actAs"}) | _PROJECT,
    "roles/iam.serviceAccountUser": frozenset(
        ("iam.serviceAccounts.actAs", "iam.serviceAccounts.get", "iam.serviceAccounts.list")
    )
    | _PROJECT,
    "roles/iam.roleAdmin": _of("iam.roles.")
    | {"resourcemanager.projects.get", "resourcemanager.projects.getIamPolicy"},
    "roles/serviceusage.serviceUsageAdmin": _of("serviceusage."),
    "roles/serviceusage.serviceUsageConsumer": frozenset(
        (
            "serviceusage.services.use",
            "serviceusage.services.get",
            "serviceusage.services.list",
            "serviceusage.operations.get",
        )
    ),
    "roles/secretmanager.admin": _of("secretmanager.") | _PROJECT,
    "roles/secretmanager.secretAccessor": frozenset(("secretmanager.versions.access",)) | _PROJECT,
    "roles/secretmanager.viewer": frozenset(one for one in _READING if one.startswith("secretmanager."))
    | {"secretmanager.secrets.getIamPolicy"}
    | _PROJECT,
    "roles/secretmanager.secretVersionAdder": frozenset(("secretmanager.versions.add",)) | _PROJECT,
}
