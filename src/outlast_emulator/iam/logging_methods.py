"""Which permissions Cloud Logging asks for, and what Google's roles permit there."""

from __future__ import annotations

DEMANDS: dict[str, tuple[str, ...]] = {
    "logging.entries.write": ("logging.logEntries.create",),
    "logging.entries.list": ("logging.logEntries.list",),
    "logging.projects.logs.list": ("logging.logs.list",),
    "logging.projects.logs.delete": ("logging.logs.delete",),
}
"""Method -> permissions on the project."""

ALL = frozenset(permission for permissions in DEMANDS.values() for permission in permissions)
_READING = frozenset(("logging.logEntries.list", "logging.logs.list"))
_PROJECT = frozenset(("resourcemanager.projects.get",))

PERMITTED: dict[str, frozenset[str]] = {
    "roles/owner": ALL,
    "roles/editor": ALL,
    "roles/viewer": _READING,
    "roles/logging.admin": ALL | _PROJECT,
    "roles/logging.viewer": _READING | _PROJECT,
    "roles/logging.logWriter": frozenset(("logging.logEntries.create",)) | _PROJECT,
}
