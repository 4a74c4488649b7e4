"""Which permissions a method asks for, and on what: Google's table "IAM permissions for JSON methods", and for XML.

What depends on the state of an object (replacing one also takes `storage.objects.delete`) is asked for by the operation
itself, by `emulator.demand`.
"""

from __future__ import annotations

from typing import NamedTuple

from outlast_emulator.iam import (
    artifact_methods,
    compute_methods,
    iap_methods,
    logging_methods,
    project_methods,
    vertex_methods,
)


class Demand(NamedTuple):
    permission: str
    bucket: str = ""
    """The path's name of the bucket on which it is asked; "": on the project."""
    object: str = ""
    """The path's name of the object, for the words of the refusal; "": the bucket itself."""
    resource: str = ""
    """The policy that may grant it beside the project's, with names of the path in it: `secrets/{secret}`."""


def _bucket(*verbs: str, of: str = "bucket") -> tuple[Demand, ...]:
    return tuple(Demand(f"storage.{verb}", of) for verb in verbs)


def _object(*verbs: str, bucket: str = "bucket", of: str = "object") -> tuple[Demand, ...]:
    return tuple(Demand(f"storage.{verb}", bucket, of) for verb in verbs)


def _project(*permissions: str) -> tuple[Demand, ...]:
    return tuple(Demand(permission) for permission in permissions)


_COPY = (
    *_object("objects.get", bucket="sourceBucket", of="sourceObject"),
    *_object("objects.create", bucket="destinationBucket", of="destinationObject"),
)

DEMANDS: dict[str, tuple[Demand, ...]] = {
    "storage.buckets.delete": _bucket("buckets.delete"),
    "storage.buckets.get": _bucket("buckets.get"),
    "storage.buckets.getIamPolicy": _bucket("buckets.getIamPolicy"),
    "storage.buckets.getStorageLayout": _bucket("objects.list"),
    "storage.buckets.insert": _project("storage.buckets.create"),
    "storage.buckets.list": _project("storage.buckets.list"),
    "storage.buckets.lockRetentionPolicy": _bucket("buckets.update"),
    "storage.buckets.patch": _bucket("buckets.get", "buckets.update"),
    "storage.buckets.restore": _bucket("buckets.restore"),
    "storage.buckets.setIamPolicy": _bucket("buckets.setIamPolicy"),
    "storage.buckets.testIamPermissions": (),
    "storage.buckets.update": _bucket("buckets.get", "buckets.update"),
    "storage.folders.list": _bucket("folders.list"),
    "storage.managedFolders.list": _bucket("managedFolders.list"),
    "storage.batch": (),  # each call in it is checked by itself
    "storage.objects.compose": (
        *_object("objects.create", bucket="destinationBucket", of="destinationObject"),
        *_object("objects.get", bucket="destinationBucket", of="destinationObject"),
    ),
    "storage.objects.copy": _COPY,
    "storage.objects.delete": _object("objects.delete"),
    "storage.objects.get": _object("objects.get"),
    "storage.objects.insert": _object("objects.create"),
    "storage.objects.list": _bucket("objects.list"),
    "storage.objects.move": _object("objects.move", of="sourceObject")
    + _object("objects.create", of="destinationObject"),
    "storage.objects.patch": _object("objects.update"),
    "storage.objects.restore": _object("objects.restore", "objects.create"),
    "storage.objects.bulkRestore": _bucket("objects.restore", "objects.create"),
    "storage.objects.rewrite": _COPY,
    "storage.objects.update": _object("objects.update"),
    "storage.projects.serviceAccount.get": _project("resourcemanager.projects.get"),
    "xml.buckets.list": _project("storage.buckets.list"),
    "xml.buckets.get": _bucket("buckets.get"),
    "xml.buckets.getLocation": _bucket("buckets.get"),
    "xml.buckets.getVersioning": _bucket("buckets.get"),
    "xml.buckets.getAcl": _bucket("buckets.get", "buckets.getIamPolicy"),
    "xml.buckets.getDefaultObjectAcl": _bucket("buckets.get", "buckets.getIamPolicy"),
    "xml.buckets.create": _project("storage.buckets.create"),
    "xml.buckets.delete": _bucket("buckets.delete"),
    "xml.objects.list": _bucket("objects.list"),
    "xml.objects.get": _object("objects.get"),
    "xml.objects.head": _object("objects.get"),
    "xml.objects.put": _object("objects.create"),
    "xml.objects.copy": _object("objects.create"),
    "xml.objects.compose": _object("objects.create", "objects.get"),
    "xml.objects.delete": _object("objects.delete"),
    "xml.objects.deleteMany": (),  # each object is checked by itself
    "xml.objects.getAcl": _object("objects.get", "objects.getIamPolicy"),
    "xml.resumable.start": _object("objects.create"),
    "xml.resumable.put": _object("objects.create"),
    "xml.resumable.cancel": _object("objects.create"),
    "xml.uploads.start": _object("multipartUploads.create", "objects.create"),
    "xml.uploads.part": _object("multipartUploads.create", "objects.create"),
    "xml.uploads.complete": _object("multipartUploads.create", "objects.create"),
    "xml.uploads.abort": _object("multipartUploads.abort"),
    "xml.uploads.list": _bucket("multipartUploads.list"),
    "xml.uploads.parts": _object("multipartUploads.listParts"),
}
"""A method that is not here is the owner's alone, unless its route is public."""

DEMANDS.update(
    (method_id, tuple(Demand(permission, resource=resource) for permission in asked))
    for method_id, (resource, *asked) in project_methods.DEMANDS.items()
)
DEMANDS.update(
    (method_id, tuple(Demand(permission) for permission in asked))
    for table in (
        compute_methods.DEMANDS,
        artifact_methods.DEMANDS,
        iap_methods.DEMANDS,
        logging_methods.DEMANDS,
        vertex_methods.DEMANDS,
    )
    for method_id, asked in table.items()
)
