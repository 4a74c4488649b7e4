"""Where the behaviour of the project's APIs is from (see `outlast_emulator.sources`)."""

from __future__ import annotations

_POLICY = {"document": "fields, etag", "page": "409 for a policy that has changed since it was read"}
_TESTED = {"document": "fields"}
_ACCOUNT = "iam.projects.serviceAccounts"
_ROLE = "iam.projects.roles"
_SECRET = "secretmanager.projects.secrets"  # noqa: S105  a collection's name

ORIGINS: dict[str, dict[str, str]] = {
    "serviceusage.services.list": {"document": "fields, filter by state"},
    "serviceusage.services.get": {"document": "fields"},
    "serviceusage.services.batchGet": {"document": "fields, 30 at most"},
    "serviceusage.services.enable": {"document": "an operation", "guess": "how long it takes: switch `enable_seconds`"},
    "serviceusage.services.batchEnable": {"document": "an operation, 20 at most"},
    "serviceusage.services.disable": {"document": "an operation", "guess": "that nothing depends on another API"},
    "serviceusage.services.consumerQuotaMetrics.list": {
        "document": "fields, both views",
        "report": "the metrics of Vertex AI's training by name; 501 for any other service",
    },
    "serviceusage.operations.get": {"document": "fields", "report": "names as gcloud waits for them"},
    "cloudresourcemanager.projects.get": {"document": "fields"},
    "cloudresourcemanager.projects.list": {"document": "fields"},
    "cloudresourcemanager.projects.getIamPolicy": _POLICY,
    "cloudresourcemanager.projects.setIamPolicy": {
        **_POLICY,
        "report": "a member that was just made is refused for a while: switch `account_lag_seconds`",
        "guess": "when a binding is known to those who check it: switch `iam_delay_seconds`",
    },
    "cloudresourcemanager.projects.testIamPermissions": _TESTED,
    f"{_ACCOUNT}.create": {"document": "fields", "page": "rules of names", "report": "409 for one that is there"},
    f"{_ACCOUNT}.get": {"document": "fields, `-` for any project"},
    f"{_ACCOUNT}.list": {"document": "fields", "guess": "never more than one page"},
    f"{_ACCOUNT}.delete": {"page": "bindings keep a `deleted:` member"},
    f"{_ACCOUNT}.patch": {"document": "fields"},
    f"{_ACCOUNT}.enable": {"document": "fields"},
    f"{_ACCOUNT}.disable": {"page": "no token is given to it any more"},
    f"{_ACCOUNT}.getIamPolicy": _POLICY,
    f"{_ACCOUNT}.setIamPolicy": _POLICY,
    f"{_ACCOUNT}.testIamPermissions": _TESTED,
    f"{_ROLE}.create": {
        "document": "fields",
        "page": "rules of names",
        "report": "400 where a deleted role has the name",
    },
    f"{_ROLE}.get": {"document": "fields"},
    f"{_ROLE}.list": {"document": "showDeleted"},
    f"{_ROLE}.patch": {"document": "update mask, etag"},
    f"{_ROLE}.delete": {"page": "kept for a week, and permits nothing"},
    f"{_ROLE}.undelete": {"page": "as it was"},
    "iam.permissions.queryTestablePermissions": {"report": "asked for by gcloud before it makes a role"},
    "iam.roles.get": {"document": "fields", "guess": "only the permissions that the emulator can ask for"},
    f"{_SECRET}.create": {"document": "fields", "page": "rules of names, labels, replication is required"},
    f"{_SECRET}.list": {"document": "paging", "page": "filter by a label"},
    f"{_SECRET}.get": {"document": "fields"},
    f"{_SECRET}.patch": {"document": "labels only; anything else is refused"},
    f"{_SECRET}.delete": {"document": "with all its versions"},
    f"{_SECRET}.addVersion": {"document": "checksum", "page": "64 KiB"},
    f"{_SECRET}.getIamPolicy": _POLICY,
    f"{_SECRET}.setIamPolicy": _POLICY,
    f"{_SECRET}.testIamPermissions": _TESTED,
    f"{_SECRET}.versions.list": {"document": "newest first"},
    f"{_SECRET}.versions.get": {"document": "`latest`"},
    f"{_SECRET}.versions.access": {"document": "checksum", "page": "400 for one that is disabled or destroyed"},
    f"{_SECRET}.versions.enable": {"document": "fields"},
    f"{_SECRET}.versions.disable": {"document": "fields"},
    f"{_SECRET}.versions.destroy": {"document": "for ever"},
    "cloudbilling.projects.getBillingInfo": {"document": "fields"},
    "cloudbilling.services.list": {"document": "fields; Compute Engine and Cloud TPU alone"},
    "cloudbilling.services.skus.list": {
        "document": "paging",
        "report": "descriptions, and which Spot rows call themselves on demand; the units of TPUs",
        "guess": "how a machine's price is split into cores and memory; prices of places by a factor",
    },
}
