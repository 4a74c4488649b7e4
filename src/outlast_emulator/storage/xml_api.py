"""The XML API's routes: what obstore, rclone and gsutil speak. The query decides what a path is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from outlast_emulator.errors import not_implemented
from outlast_emulator.iam.metadata import metadata_root
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Route
from outlast_emulator.storage.xml_acl import XmlAcl
from outlast_emulator.storage.xml_deletes import XmlDeletes
from outlast_emulator.storage.xml_errors import NoSuchPath, xml_error
from outlast_emulator.storage.xml_headers import said
from outlast_emulator.storage.xml_lists import XmlLists
from outlast_emulator.storage.xml_objects import XmlObjects
from outlast_emulator.storage.xml_resumable import XmlResumable
from outlast_emulator.storage.xml_uploads import XmlUploads

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

SUBRESOURCES = (
    "acl", "billing", "compose", "cors", "defaultObjectAcl", "delete", "encryption", "encryptionConfig", "iam", "lifecycle",
    "logging", "notification", "object-lock", "policy", "publicAccessBlock", "requestPayment", "restore", "retention",
    "storageClass", "tagging", "torrent", "versioning", "versions", "website",
)  # fmt: skip
"""A query that names one of these asks for something else than the bucket or the object itself."""

WAITING = frozenset({"xml.resumable.put", "xml.resumable.cancel"})
"""For the request that writes to the same upload."""

Operation = Callable[[Request], Response]


class XmlApi:
    def __init__(self, emulator: Emulator) -> None:
        objects = XmlObjects(emulator)
        lists = XmlLists(emulator)
        uploads = XmlUploads(emulator, objects)
        resumable, lists_of_access = XmlResumable(emulator, objects), XmlAcl(emulator, objects)
        self._operations: dict[str, Operation] = {
            "metadata.root": lambda request: metadata_root(),
            "xml.buckets.list": lists.buckets,
            "xml.buckets.get": lists.head,
            "xml.buckets.getLocation": lists.location,
            "xml.buckets.getVersioning": lists.versioning,
            "xml.buckets.getAcl": lists_of_access.of_bucket,
            "xml.buckets.getDefaultObjectAcl": lists_of_access.of_new_objects,
            "xml.buckets.create": lists.create,
            "xml.buckets.delete": lists.delete,
            "xml.objects.list": lists.objects,
            "xml.objects.get": objects.get,
            "xml.objects.head": objects.get,
            "xml.objects.put": objects.put,
            "xml.objects.copy": objects.copy,
            "xml.objects.delete": objects.delete,
            "xml.objects.deleteMany": XmlDeletes(emulator, objects).delete,
            "xml.objects.getAcl": lists_of_access.of_object,
            "xml.resumable.start": resumable.start,
            "xml.resumable.put": resumable.resume,
            "xml.resumable.cancel": resumable.cancel,
            "xml.uploads.start": uploads.start,
            "xml.uploads.part": uploads.part,
            "xml.uploads.complete": uploads.complete,
            "xml.uploads.abort": uploads.abort,
            "xml.uploads.parts": uploads.parts,
            "xml.uploads.list": uploads.list,
        }
        self._taken = {route.template.strip("/").split("/")[0] for route in emulator.router.routes}

    @property
    def method_ids(self) -> list[str]:
        return sorted(self._operations)

    @property
    def served_verbs(self) -> dict[str, list[str]]:
        """By what a query may name: the verbs that are served of it; the others answer 501."""
        return {
            name: [
                verb
                for verb in ("GET", "PUT", "POST", "DELETE")
                if any(_of_subresource(verb, kind, name) in self._operations for kind in ("buckets", "objects"))
            ]
            for name in SUBRESOURCES
        }

    def routes(self) -> Iterable[Route]:
        yield Route("xml.buckets.list", "GET", "/", self.call, refine=_of_root, render=xml_error)
        for template in ("/{bucket}", "/{bucket}/{object...}"):
            for verb in ("GET", "HEAD", "PUT", "POST", "DELETE"):
                # A list may be long, and completing an upload copies its parts.
                slow = verb == "POST" or (verb == "GET" and template == "/{bucket}")
                name = f"xml.{verb.lower()}"
                yield Route(
                    name, verb, template, self.call, quick=not slow, refine=self.refine, slow=WAITING, render=xml_error
                )

    def refine(self, request: Request) -> str:
        """The operation's name, from verb, query and headers."""
        if request.params["bucket"] in self._taken:
            return "xml.none"
        queries = request.queries
        for name in SUBRESOURCES:
            if name in queries:
                return _of_subresource(request.verb, "objects" if "object" in request.params else "buckets", name)
        return self._of_object(request) if "object" in request.params else self._of_bucket(request)

    def _of_bucket(self, request: Request) -> str:
        if request.verb == "GET":
            if "uploads" in request.queries:
                return "xml.uploads.list"
            return "xml.buckets.getLocation" if "location" in request.queries else "xml.objects.list"
        names = {"HEAD": "xml.buckets.get", "PUT": "xml.buckets.create", "DELETE": "xml.buckets.delete"}
        return names.get(request.verb, "xml.objects.postForm")

    def _of_object(self, request: Request) -> str:
        if request.verb == "POST":
            if said(request, "resumable"):
                return "xml.resumable.start"
            if "uploads" in request.queries:
                return "xml.uploads.start"
            return "xml.uploads.complete" if "uploadId" in request.queries else "xml.objects.post"
        if "upload_id" in request.queries and request.verb in ("PUT", "DELETE"):
            return "xml.resumable.put" if request.verb == "PUT" else "xml.resumable.cancel"
        if "uploadId" in request.queries:
            names = {"PUT": "xml.uploads.part", "DELETE": "xml.uploads.abort", "GET": "xml.uploads.parts"}
            if request.verb in names:
                copied = request.verb == "PUT" and said(request, "copy-source")
                return "xml.uploads.partCopy" if copied else names[request.verb]
        if request.verb == "PUT":
            return "xml.objects.copy" if said(request, "copy-source") else "xml.objects.put"
        return f"xml.objects.{request.verb.lower()}"

    def call(self, request: Request) -> Response:
        if request.method_id == "xml.none":
            raise NoSuchPath(404, "notFound", "Not Found")
        operation = self._operations.get(request.method_id)
        if operation is None:
            raise not_implemented(request.method_id)
        return operation(request)


def _of_subresource(verb: str, kind: str, name: str) -> str:
    if (verb, kind, name) == ("POST", "buckets", "delete"):
        return "xml.objects.deleteMany"
    return f"xml.{kind}.{verb.lower()}{name[0].upper()}{name[1:]}"


def _of_root(request: Request) -> str:
    """Google's clients ask the root of an address whether it is a metadata server."""
    return "metadata.root" if request.headers.get("metadata-flavor") == "Google" else "xml.buckets.list"


def routes(emulator: Emulator) -> Iterable[Route]:
    """To be listed after all other APIs: whatever path is left is a bucket's."""
    return list(XmlApi(emulator).routes())
