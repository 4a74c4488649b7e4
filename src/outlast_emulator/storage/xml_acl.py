"""Access control lists in the XML API: read only, as gsutil reads them to show an object."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.storage import acl
from outlast_emulator.storage import xml_headers as headers
from outlast_emulator.storage.buckets import Bucket
from outlast_emulator.storage.xml_errors import XML_TYPE, XmlError
from outlast_emulator.storage.xml_objects import XmlObjects

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

PERMISSIONS = {"OWNER": "FULL_CONTROL", "WRITER": "WRITE", "READER": "READ"}
_BY_KIND = {
    "user": ("UserByEmail", "EmailAddress"),
    "group": ("GroupByEmail", "EmailAddress"),
    "domain": ("GroupByDomain", "Domain"),
}
_EVERYBODY = {"allUsers": "AllUsers", "allAuthenticatedUsers": "AllAuthenticatedUsers"}


class XmlAcl:
    def __init__(self, emulator: Emulator, objects: XmlObjects) -> None:
        self._storage = emulator.storage
        self._objects = objects

    def of_bucket(self, request: Request) -> Response:
        return _document(acl.of_bucket(self._bucket(request, "a bucket")))

    def of_new_objects(self, request: Request) -> Response:
        return _document(acl.of_bucket(self._bucket(request, "a bucket"), "defaultObjectAcl"))

    def of_object(self, request: Request) -> Response:
        bucket, name = self._objects.place(request)
        conditions, generation = headers.conditions(request), headers.generation_asked(request)
        stored = self._storage.objects.get(bucket, name, conditions, generation)
        return _document(acl.of_object(stored.fields, self._bucket(request, "an object")))

    def _bucket(self, request: Request, what: str) -> Bucket:
        self._objects.bucket(request.params["bucket"])
        bucket = self._storage.buckets.find(request.params["bucket"])
        if acl.is_uniform(bucket):
            raise XmlError(400, "InvalidArgument", acl.UNIFORM_MESSAGE.format("get", what))
        return bucket


def _document(entries: acl.Entries) -> Response:
    rows = "".join(
        f"<Entry>{_scope(entry['entity'])}<Permission>{PERMISSIONS[entry['role']]}</Permission></Entry>"
        for entry in entries
    )
    inside = f"<Owner><ID>{acl.OWNERS}</ID></Owner><Entries>{rows}</Entries>"
    text = f"<?xml version='1.0' encoding='UTF-8'?><AccessControlList>{inside}</AccessControlList>"
    return Response(200, text.encode("utf-8", "replace"), {"content-type": XML_TYPE})


def _scope(entity: str) -> str:
    if entity in _EVERYBODY:
        return f"<Scope type='{_EVERYBODY[entity]}'/>"
    kind, _, rest = entity.partition("-")
    scope, element = _BY_KIND.get(kind, ("GroupById", "ID"))
    return f"<Scope type='{scope}'><{element}>{escape(rest if kind in _BY_KIND else entity)}</{element}></Scope>"
