"""Buckets in the XML API: lists of objects (versions 1 and 2), lists of buckets, making and deleting one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from outlast_emulator.clock import rfc3339
from outlast_emulator.errors import ApiError
from outlast_emulator.iam.state import PROJECT, PROJECT_NUMBER
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.storage import xml_headers as headers
from outlast_emulator.storage.buckets import Bucket
from outlast_emulator.storage.json_buckets import JsonBuckets
from outlast_emulator.storage.listing import Page, Query, successor
from outlast_emulator.storage.stored import Stored
from outlast_emulator.storage.xml_errors import XML_TYPE, XmlError
from outlast_emulator.wire.bodies import MemoryBody

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

NAMESPACE = "http://doc.s3.amazonaws.com/2006-03-01"
UPLOADS_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
"""Google's two ways to spell it: clients look for the one that belongs to what they asked."""
KEYS_MAX = 1000
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class XmlLists:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._storage = emulator.storage
        self._json = JsonBuckets(emulator)

    def buckets(self, request: Request) -> Response:
        rows = "".join(
            f"<Bucket><Name>{bucket.name}</Name><CreationDate>{rfc3339(bucket.created_us)}</CreationDate></Bucket>"
            for bucket in self._storage.buckets.all(headers.said(request, "project-id") or None)
        )
        owner = f"<Owner><ID>{PROJECT_NUMBER}</ID></Owner>"
        return document("ListAllMyBucketsResult", f"{owner}<Buckets>{rows}</Buckets>")

    def head(self, request: Request) -> Response:
        bucket = self._find(request)
        location = str(bucket.fields.get("location", "US"))
        found = {"x-goog-metageneration": str(bucket.metageneration), "x-goog-bucket-location": location}
        return Response(200, b"", {**found, "content-type": XML_TYPE})

    def location(self, request: Request) -> Response:
        location = str(self._find(request).fields.get("location", "US"))
        text = f"<?xml version='1.0' encoding='UTF-8'?><LocationConstraint>{escape(location)}</LocationConstraint>"
        return Response(200, text.encode(), {"content-type": XML_TYPE})

    def versioning(self, request: Request) -> Response:
        enabled = self._find(request).fields.get("versioning", {}).get("enabled")
        return document(
            "VersioningConfiguration",
            "" if enabled is None else _element("Status", "Enabled" if enabled else "Suspended"),
        )

    def create(self, request: Request) -> Response:
        """The same as the JSON API's insert, in one region or, by default, in US."""
        found = re.search(rb"<LocationConstraint>\s*([\w-]+)\s*</LocationConstraint>", request.text())
        document = {"name": request.params["bucket"], **({"location": found[1].decode()} if found else {})}
        project = headers.said(request, "project-id") or PROJECT
        body = MemoryBody(json.dumps(document).encode())
        asked = Request("POST", "/storage/v1/b", f"project={quote(project)}", {}, body)
        try:
            self._json.insert(asked)
        except ApiError as error:
            if error.status == 409:
                code = "BucketAlreadyOwnedByYou" if self._is_mine(request, project) else "BucketAlreadyExists"
                raise XmlError(409, code, error.message) from error
            raise
        return Response(200, b"", {"content-type": XML_TYPE})

    def _is_mine(self, request: Request, project: str) -> bool:
        return self._storage.buckets.find(request.params["bucket"]).project == project

    def delete(self, request: Request) -> Response:
        self._find(request)
        try:
            self._storage.buckets.delete(request.params["bucket"])
        except ApiError as error:
            if error.status == 409:
                raise XmlError(409, "BucketNotEmpty", "The bucket you tried to delete is not empty.") from error
            raise
        return Response(204)

    def objects(self, request: Request) -> Response:
        bucket = self._find(request).name
        second = request.query("list-type") == "2"
        limit = self._limit(request)
        after = request.query("start-after") if second else request.query("marker")
        query = Query(
            prefix=request.query("prefix"),
            delimiter=request.query("delimiter"),
            start=_first_after(after, request.query("delimiter")),
            limit=max(1, limit),
            token=request.query("continuation-token"),
        )
        page = self._storage.list(bucket, query) if limit else Page()
        url_names = request.query("encoding-type") == "url"
        parts = [
            _element("Name", bucket),
            _element("Prefix", _shown(query.prefix, url_names)),
            _element("Delimiter", _shown(query.delimiter, url_names)) if query.delimiter else "",
            _element("EncodingType", "url") if url_names else "",
            _element("MaxKeys", str(limit)),
            *(self._paging(request, page) if second else _marked(request, page, url_names)),
            *(_contents(stored, url_names) for stored in page.items),
            *(
                f"<CommonPrefixes>{_element('Prefix', _shown(one, url_names))}</CommonPrefixes>"
                for one in page.prefixes
            ),
        ]
        return document("ListBucketResult", "".join(parts))

    def _limit(self, request: Request) -> int:
        text = request.query("max-keys") or str(KEYS_MAX)
        if not re.fullmatch(r"\d{1,9}", text):
            raise XmlError(400, "InvalidArgument", "Invalid argument.", f"max-keys: {text}")
        return min(int(text), KEYS_MAX, self._emulator.switches.list_page_max)

    def _paging(self, request: Request, page: Page) -> Iterable[str]:
        yield _element("KeyCount", str(len(page.items) + len(page.prefixes)))
        yield _element("IsTruncated", "true" if page.token else "false")
        if request.query("start-after"):
            yield _element("StartAfter", request.query("start-after"))
        if request.query("continuation-token"):
            yield _element("ContinuationToken", request.query("continuation-token"))
        if page.token:
            yield _element("NextContinuationToken", page.token)

    def _find(self, request: Request) -> Bucket:
        try:
            return self._storage.buckets.find(request.params["bucket"])
        except ApiError as error:
            raise XmlError(error.status, "NoSuchBucket", "The specified bucket does not exist.") from error


def _first_after(after: str, delimiter: str) -> str:
    """Where a list goes on. A marker may be a common prefix that was answered before: all that it stands for is over."""
    if after and delimiter and after.endswith(delimiter):
        return successor(after) or after
    return after + "\0" if after else ""


def _marked(request: Request, page: Page, url_names: bool) -> Iterable[str]:
    yield _element("Marker", _shown(request.query("marker"), url_names))
    yield _element("IsTruncated", "true" if page.token else "false")
    if page.token:
        last = max([*(stored.name for stored in page.items[-1:]), *page.prefixes[-1:]], key=str.encode)
        yield _element("NextMarker", _shown(last, url_names))


def _contents(stored: Stored, url_names: bool) -> str:
    return (
        f"<Contents>{_element('Key', _shown(stored.name, url_names))}<Generation>{stored.generation}</Generation>"
        f"<MetaGeneration>{stored.metageneration}</MetaGeneration><LastModified>{rfc3339(stored.updated_us)}</LastModified>"
        f"{_element('ETag', headers.etag(stored))}<Size>{stored.size}</Size>"
        f"<StorageClass>{escape(str(stored.fields.get('storageClass', 'STANDARD')))}</StorageClass></Contents>"
    )


def _shown(name: str, url_names: bool) -> str:
    if url_names:
        return quote(name, safe="/")
    if _ILLEGAL.search(name):
        raise XmlError(400, "InvalidArgument", "A name cannot be written in XML.", "hint: encoding-type=url")
    return name


def _element(tag: str, text: str) -> str:
    return f"<{tag}>{escape(text)}</{tag}>"


def document(root: str, inside: str, namespace: str = NAMESPACE) -> Response:
    text = f"<?xml version='1.0' encoding='UTF-8'?><{root} xmlns='{namespace}'>{inside}</{root}>"
    return Response(200, text.encode("utf-8", "replace"), {"content-type": XML_TYPE})


def parsed(text: bytes) -> ElementTree.Element:
    """A request's XML; 400 if it is none. Entities are refused: nobody needs them, and they can be bombs."""
    try:
        if b"<!" in text:
            raise ElementTree.ParseError("a document type")
        return ElementTree.fromstring(text)  # noqa: S314  without a document type there is nothing to expand
    except ElementTree.ParseError as error:
        message = "The XML you provided was not well-formed or did not validate against our published schema."
        raise XmlError(400, "MalformedXML", message) from error
