"""Which permissions Vertex AI asks for, and what Google's roles permit there."""

from __future__ import annotations

_JOBS = "aiplatform.customJobs"
_OF = "aiplatform.projects.locations"

DEMANDS: dict[str, tuple[str, ...]] = {
    f"{_OF}.customJobs.create": (f"{_JOBS}.create",),
    f"{_OF}.customJobs.get": (f"{_JOBS}.get",),
    f"{_OF}.customJobs.list": (f"{_JOBS}.list",),
    f"{_OF}.customJobs.cancel": (f"{_JOBS}.cancel",),
    f"{_OF}.customJobs.delete": (f"{_JOBS}.delete",),
    f"{_OF}.customJobs.operations.get": (),
    f"{_OF}.customJobs.operations.wait": (),
    f"{_OF}.operations.get": (),
    f"{_OF}.operations.wait": (),
}
"""Method -> permissions on the project."""

ALL = frozenset(permission for permissions in DEMANDS.values() for permission in permissions)
_READING = frozenset((f"{_JOBS}.get", f"{_JOBS}.list"))
_PROJECT = frozenset(("resourcemanager.projects.get",))

PERMITTED: dict[str, frozenset[str]] = {
    "roles/owner": ALL,
    "roles/editor": ALL,
    "roles/viewer": _READING,
    "roles/aiplatform.admin": ALL | _PROJECT,
    "roles/aiplatform.user": ALL | _PROJECT,
    "roles/aiplatform.viewer": _READING | _PROJECT,
    "roles/aiplatform.customCodeServiceAgent": _READING
    | _PROJECT
    | frozenset(
        (
            "artifactregistry.repositories.downloadArtifacts",
            "artifactregistry.repositories.get",
            "logging.logEntries.create",
            "storage.buckets.get",
            "storage.buckets.list",
            "storage.objects.create",
            "storage.objects.delete",
            "storage.objects.get",
            "storage.objects.list",
            "storage.objects.update",
        )
    ),
}
