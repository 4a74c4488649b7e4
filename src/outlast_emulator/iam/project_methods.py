"""Which permissions the project's own APIs ask for: services, policies, accounts, roles, secrets, prices.

Method -> (the policy that may grant it beside the project's, then the permissions), from Google's pages of permissions.
"""

from __future__ import annotations

OF_ACCOUNT = "serviceAccounts/{account}"
OF_SECRET = "secrets/{secret}"  # noqa: S105  the name of a policy

DEMANDS: dict[str, tuple[str, ...]] = {
    "serviceusage.services.enable": ("", "serviceusage.services.enable"),
    "serviceusage.services.disable": ("", "serviceusage.services.disable"),
    "serviceusage.services.get": ("", "serviceusage.services.get"),
    "serviceusage.services.list": ("", "serviceusage.services.list"),
    "serviceusage.services.batchEnable": ("", "serviceusage.services.enable"),
    "serviceusage.services.batchGet": ("", "serviceusage.services.get"),
    "serviceusage.services.consumerQuotaMetrics.list": ("", "serviceusage.quotas.get"),
    "serviceusage.operations.get": ("", "serviceusage.operations.get"),
    "cloudresourcemanager.projects.get": ("", "resourcemanager.projects.get"),
    "cloudresourcemanager.projects.list": ("",),
    "cloudresourcemanager.projects.getIamPolicy": ("", "resourcemanager.projects.getIamPolicy"),
    "cloudresourcemanager.projects.setIamPolicy": ("", "resourcemanager.projects.setIamPolicy"),
    "cloudresourcemanager.projects.testIamPermissions": ("",),
    "iam.projects.serviceAccounts.create": ("", "iam.serviceAccounts.create"),
    "iam.projects.serviceAccounts.get": (OF_ACCOUNT, "iam.serviceAccounts.get"),
    "iam.projects.serviceAccounts.list": ("", "iam.serviceAccounts.list"),
    "iam.projects.serviceAccounts.delete": (OF_ACCOUNT, "iam.serviceAccounts.delete"),
    "iam.projects.serviceAccounts.patch": (OF_ACCOUNT, "iam.serviceAccounts.update"),
    "iam.projects.serviceAccounts.enable": (OF_ACCOUNT, "iam.serviceAccounts.enable"),
    "iam.projects.serviceAccounts.disable": (OF_ACCOUNT, "iam.serviceAccounts.disable"),
    "iam.projects.serviceAccounts.getIamPolicy": (OF_ACCOUNT, "iam.serviceAccounts.getIamPolicy"),
    "iam.projects.serviceAccounts.setIamPolicy": (OF_ACCOUNT, "iam.serviceAccounts.setIamPolicy"),
    "iam.projects.serviceAccounts.testIamPermissions": ("",),
    "iam.projects.roles.create": ("", "iam.roles.create"),
    "iam.projects.roles.get": ("", "iam.roles.get"),
    "iam.projects.roles.list": ("", "iam.roles.list"),
    "iam.projects.roles.patch": ("", "iam.roles.update"),
    "iam.projects.roles.delete": ("", "iam.roles.delete"),
    "iam.projects.roles.undelete": ("", "iam.roles.undelete"),
    "iam.roles.get": ("",),
    "iam.permissions.queryTestablePermissions": ("",),
    "secretmanager.projects.secrets.create": ("", "secretmanager.secrets.create"),
    "secretmanager.projects.secrets.list": ("", "secretmanager.secrets.list"),
    "secretmanager.projects.secrets.get": (OF_SECRET, "secretmanager.secrets.get"),
    "secretmanager.projects.secrets.patch": (OF_SECRET, "secretmanager.secrets.update"),
    "secretmanager.projects.secrets.delete": (OF_SECRET, "secretmanager.secrets.delete"),
    "secretmanager.projects.secrets.getIamPolicy": (OF_SECRET, "secretmanager.secrets.getIamPolicy"),
    "secretmanager.projects.secrets.setIamPolicy": (OF_SECRET, "secretmanager.secrets.setIamPolicy"),
    "secretmanager.projects.secrets.testIamPermissions": ("",),
    "secretmanager.projects.secrets.addVersion": (OF_SECRET, "secretmanager.versions.add"),
    "secretmanager.projects.secrets.versions.access": (OF_SECRET, "secretmanager.versions.access"),
    "secretmanager.projects.secrets.versions.get": (OF_SECRET, "secretmanager.versions.get"),
    "secretmanager.projects.secrets.versions.list": (OF_SECRET, "secretmanager.versions.list"),
    "secretmanager.projects.secrets.versions.enable": (OF_SECRET, "secretmanager.versions.enable"),
    "secretmanager.projects.secrets.versions.disable": (OF_SECRET, "secretmanager.versions.disable"),
    "secretmanager.projects.secrets.versions.destroy": (OF_SECRET, "secretmanager.versions.destroy"),
    "cloudbilling.projects.getBillingInfo": ("", "resourcemanager.projects.get"),
    "cloudbilling.services.list": ("",),
    "cloudbilling.services.skus.list": ("",),
}
