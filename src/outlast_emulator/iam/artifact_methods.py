"""Which permissions Artifact Registry asks for, and what Google's roles permit there."""

from __future__ import annotations

_OF = "artifactregistry.repositories"
_READ, _WRITE, _DELETE = f"{_OF}.downloadArtifacts", f"{_OF}.uploadArtifacts", f"{_OF}.deleteArtifacts"

DEMANDS: dict[str, tuple[str, ...]] = {
    "artifactregistry.docker.blobs.get": (_READ,),
    "artifactregistry.docker.blobs.delete": (_DELETE,),
    "artifactregistry.docker.uploads.start": (_WRITE,),
    "artifactregistry.docker.uploads.get": (_WRITE,),
    "artifactregistry.docker.uploads.append": (_WRITE,),
    "artifactregistry.docker.uploads.end": (_WRITE,),
    "artifactregistry.docker.uploads.abort": (_WRITE,),
    "artifactregistry.docker.manifests.get": (_READ,),
    "artifactregistry.docker.manifests.put": (_WRITE,),
    "artifactregistry.docker.manifests.delete": (_DELETE,),
    "artifactregistry.docker.tags.list": (_READ,),
    "artifactregistry.docker.catalog.list": (_READ,),
    "artifactregistry.projects.locations.repositories.create": (f"{_OF}.create",),
    "artifactregistry.projects.locations.repositories.get": (f"{_OF}.get",),
    "artifactregistry.projects.locations.repositories.list": (f"{_OF}.list",),
    "artifactregistry.projects.locations.repositories.delete": (f"{_OF}.delete",),
}
"""Method -> permissions on the project."""

ALL = frozenset(permission for permissions in DEMANDS.values() for permission in permissions)
_PROJECT = frozenset(("resourcemanager.projects.get",))
_READING = frozenset((_READ, f"{_OF}.get", f"{_OF}.list"))

PERMITTED: dict[str, frozenset[str]] = {
    "roles/owner": ALL,
    "roles/editor": ALL,
    "roles/viewer": _READING,
    "roles/artifactregistry.reader": _READING | _PROJECT,
    "roles/artifactregistry.writer": _READING | {_WRITE} | _PROJECT,
    "roles/artifactregistry.repoAdmin": _READING | {_WRITE, _DELETE} | _PROJECT,
    "roles/artifactregistry.admin": ALL | _PROJECT,
}
