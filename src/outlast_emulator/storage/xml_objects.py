"""Objects in the XML API: get, head, put, copy, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.sax.saxutils import escape

from outlast_emulator.clock import rfc3339
from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.storage import xml_headers as headers
from outlast_emulator.storage.contents import Content, pieces_of
from outlast_emulator.storage.media import download
from outlast_emulator.storage.stored import Stored
from outlast_emulator.storage.xml_errors import XML_TYPE, XmlError

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


class XmlObjects:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._storage = emulator.storage

    def get(self, request: Request) -> Response:
        with self._storage.objects.held():
            return self._read(request, self._find(request))

    def _read(self, request: Request, stored: Stored) -> Response:
        if request.verb == "HEAD":
            # An answer to HEAD has the length of what GET would send.
            return Response(200, b"", {**headers.read(stored), "content-length": str(stored.size)})
        response = download(self._storage.objects, stored, request)
        known = headers.read(stored)
        if "content-encoding" not in response.headers:
            known.pop("content-encoding", None)
        response.headers = {**response.headers, **known}
        return response

    def put(self, request: Request) -> Response:
        bucket, name = self.place(request)
        headers.refuse_unknown(request)
        fields, conditions = headers.fields(request), headers.conditions(request)
        self.demand_overwrite(request, bucket, name)
        stored = self._storage.objects.put(bucket, name, self.received(request), fields, conditions)
        return Response(200, b"", {**headers.written(stored), "content-type": "text/html; charset=UTF-8"})

    def received(self, request: Request) -> Content:
        """The request's body as a content, checked against the digests that came with it."""
        content = self._storage.contents.received(pieces_of(request.body))
        try:
            headers.check_digests(request, content.md5, content.crc32c)
        except ApiError:
            self._storage.contents.drop(content.id, content.data is not None)
            raise
        return content

    def copy(self, request: Request) -> Response:
        bucket, name = self.place(request)
        headers.refuse_unknown(request)
        source = self._copy_source(request)
        self.demand_overwrite(request, bucket, name)
        replace = headers.said(request, "metadata-directive").upper() == "REPLACE"
        fields = headers.fields(request) if replace else source.fields
        content = self._storage.objects.linked(source)
        conditions = headers.conditions(request)
        stored = self._storage.objects.put(bucket, name, content, fields, conditions, source.components)
        inside = f"<LastModified>{rfc3339(stored.updated_us)}</LastModified><ETag>{escape(headers.etag(stored))}</ETag>"
        text = f"<?xml version='1.0' encoding='UTF-8'?><CopyObjectResult>{inside}</CopyObjectResult>"
        return Response(200, text.encode(), {**headers.written(stored), "content-type": XML_TYPE})

    def _copy_source(self, request: Request) -> Stored:
        text, _, query = headers.said(request, "copy-source").partition("?")
        try:
            bucket, _, name = unquote(text, errors="strict").lstrip("/").partition("/")
        except UnicodeDecodeError as error:
            raise XmlError(400, "InvalidArgument", "Invalid argument.", "x-goog-copy-source") from error
        if not bucket or not name:
            raise XmlError(400, "InvalidArgument", "Invalid argument.", "x-goog-copy-source")
        said = query.removeprefix("generation=") or headers.said(request, "copy-source-generation")
        generation = int(said) if said.isascii() and said.isdigit() else None
        self._emulator.authority.check(request, "storage.objects.get", bucket, name)
        self.bucket(bucket)
        wanted = headers.conditions(request, "copy-source-if-")
        return self._storage.objects.get(bucket, name, wanted, generation)

    def delete(self, request: Request) -> Response:
        bucket, name = self.place(request)
        conditions, generation = headers.conditions(request), headers.generation_asked(request)
        self._storage.objects.delete(bucket, name, conditions, generation)
        return Response(204)

    def place(self, request: Request) -> tuple[str, str]:
        """Bucket and name; 404 NoSuchBucket."""
        bucket = request.params["bucket"]
        self.bucket(bucket)
        return bucket, request.params["object"]

    def bucket(self, name: str) -> None:
        try:
            self._storage.buckets.find(name)
        except ApiError as error:
            raise XmlError(error.status, "NoSuchBucket", "The specified bucket does not exist.") from error

    def demand_overwrite(self, request: Request, bucket: str, name: str) -> None:
        """To replace an object takes the permission to delete it."""
        try:
            self._storage.objects.get(bucket, name)
        except ApiError:
            return
        self._emulator.authority.check(request, "storage.objects.delete", bucket, name)

    def _find(self, request: Request) -> Stored:
        bucket, name = self.place(request)
        conditions, generation = headers.conditions(request), headers.generation_asked(request)
        stored = self._storage.objects.get(bucket, name, conditions, generation)
        headers.check_reading(request, stored)
        return stored
