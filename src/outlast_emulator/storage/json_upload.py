"""storage.objects.insert: media, multipart and resumable uploads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from outlast_emulator.errors import ApiError, invalid, not_implemented, required
from outlast_emulator.request import Request, parse_json
from outlast_emulator.response import Response, answer
from outlast_emulator.storage import acl, checks, masks, multipart
from outlast_emulator.storage.conditions import NONE, Conditions, asked
from outlast_emulator.storage.contents import Content, pieces_of
from outlast_emulator.storage.objects import check_object_name
from outlast_emulator.storage.resources import object_resource
from outlast_emulator.storage.settable import METADATA_BYTES_MAX, OBJECT, settable
from outlast_emulator.storage.stored import Stored
from outlast_emulator.storage.uploads import Plan, Session
from outlast_emulator.wire.bodies import MemoryBody

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

METHOD = "storage.objects.insert"
BUSY_SECONDS_MAX = 2.0
"""A client that gave up on a connection asks on another how far it came; the first one may not have noticed yet."""


class JsonUpload:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._storage = emulator.storage

    def insert(self, request: Request) -> Response:
        kind = request.query("uploadType") or request.query("upload_type")
        if not kind:
            content_type = request.headers.get("content-type", "").lower()
            kind = "multipart" if content_type.startswith("multipart/related") else "media"
        if not request.path.startswith(("/upload/", "/resumable/")):
            return self._insert_metadata(request)
        if kind == "media":
            return self._insert_media(request)
        if kind == "multipart":
            return self._insert_multipart(request)
        if kind == "resumable":
            return self._begin_resumable(request)
        raise invalid(f"Invalid value for uploadType: {kind}", location="uploadType")

    # ----------------------------------------------------------------------------------------------------- in one request

    def _insert_media(self, request: Request) -> Response:
        document: dict[str, Any] = {}
        if request.headers.get("content-type"):
            document["contentType"] = request.headers["content-type"]
        plan = self._plan(request, document)
        return self._stored(request, plan, self._storage.contents.received(pieces_of(request.body)))

    def _insert_metadata(self, request: Request) -> Response:
        """Without an upload path there are no bytes: an empty object."""
        return self._stored(request, self._plan(request, request.json()), self._storage.contents.small(b""))

    def _insert_multipart(self, request: Request) -> Response:
        boundary = multipart.boundary_of(request.headers.get("content-type", ""))
        if isinstance(request.body, MemoryBody):
            text = request.text()
            found = multipart.two_parts(text, boundary)
            if found is not None:
                metadata, headers, data = found
                plan = self._plan(request, self._described(metadata, headers))
                return self._stored(request, plan, self._storage.contents.small(data))
            request.body = MemoryBody(text)
        return self._insert_parts(request, iter(multipart.Parts(request.body, boundary)))

    def _insert_parts(self, request: Request, parts: Iterator[tuple[dict[str, str], Iterator[bytes]]]) -> Response:
        """The same as it arrives."""
        _, pieces = next(parts, ({}, iter(())))
        metadata = b"".join(pieces)
        headers, pieces = next(parts, (None, iter(())))
        document = self._described(metadata, headers or {})
        if headers is None:
            raise ApiError(400, "badContent", "Missing media part in a multipart upload.")
        plan = self._plan(request, document)
        return self._stored(request, plan, self._storage.contents.received(pieces))

    def _described(self, metadata: bytes, headers: dict[str, str]) -> dict[str, Any]:
        """The object as the first part has it, checked; a type that only the second part names is taken from there."""
        document = parse_json(metadata)
        self._emulator.check_body(METHOD, document)
        if "contentType" not in document and headers.get("content-type"):
            document["contentType"] = headers["content-type"]
        return document

    # ------------------------------------------------------------------------------------------------------------ rules

    def _plan(self, request: Request, document: dict[str, Any], *, begins: bool = False) -> Plan:
        """All that can be refused before the bytes arrive is refused here. `begins`: they come in other requests."""
        bucket = self._storage.buckets.find(request.params["bucket"])
        name = request.query("name") or document.get("name") or ""
        if not name:
            raise required("name")
        check_object_name(name)
        check_known(request)
        if document.get("bucket", bucket.name) != bucket.name:
            raise invalid("The bucket in the request's body is not the one in its path.")
        fields = settable(document, OBJECT)
        fields.setdefault("storageClass", bucket.fields.get("storageClass", "STANDARD"))
        if request.query("contentEncoding"):
            fields["contentEncoding"] = request.query("contentEncoding")
        acl.chosen_of_object(fields, request.query("predefinedAcl"), bucket)
        check_metadata(fields)
        conditions = asked(request)
        if begins or not isinstance(request.body, MemoryBody):
            self._check_early(request, bucket.name, name, conditions)
        length = request.headers.get("x-upload-content-length", "")
        return Plan(
            bucket.name,
            name,
            fields,
            conditions,
            checks.claimed(request.headers, document),
            int(length) if length.isascii() and length.isdigit() else None,
        )

    def _check_early(self, request: Request, bucket: str, name: str, conditions: Conditions) -> None:
        """A precondition that does not hold now is refused before a byte is sent; it is checked again when all is there.

        What is here already (a small body) is checked then, and only then.
        """
        old = self._storage.objects.peek(bucket, name)
        if old is not None:
            self._emulator.demand(request, "storage.objects.delete", bucket, name)
        if conditions != NONE:
            conditions.check(old.generation if old else 0, old.metageneration if old else 0)

    def _stored(self, request: Request, plan: Plan, content: Content) -> Response:
        stored = self._put(request, plan, content)
        wanted = masks.names(request.query("fields"))
        return answer(object_resource(stored, self._emulator.url, wanted, plan.fields))

    def _put(self, request: Request, plan: Plan, content: Content) -> Stored:
        try:
            checks.check(content, plan.claims)
        except ApiError:
            self._storage.contents.drop(content.id, content.data is not None)
            raise

        def replacing() -> None:
            self._emulator.demand(request, "storage.objects.delete", plan.bucket, plan.name)

        return self._storage.objects.put(
            plan.bucket, plan.name, content, plan.fields, plan.conditions, replacing=replacing
        )

    # -------------------------------------------------------------------------------------------------------- resumable

    def _begin_resumable(self, request: Request) -> Response:
        if request.query("upload_id"):
            return self.resume(request)  # as gcsfs continues an upload
        document = request.json()
        self._emulator.check_body(METHOD, document)
        if request.headers.get("x-upload-content-type"):
            document = {"contentType": request.headers["x-upload-content-type"], **document}
        plan = self._plan(request, document, begins=True)
        session = self._storage.uploads.begin(plan)
        host = request.headers.get("host") or self._emulator.url.split("://")[1]
        query = urlencode({"uploadType": "resumable", "name": plan.name, "upload_id": session.id})
        path = f"/upload/storage/v1/b/{quote(plan.bucket, safe='')}/o"
        location = f"{request.scheme}://{host}{path}?{query}"
        return Response(200, b"", {"location": location, "x-guploader-uploadid": session.id})

    def resume(self, request: Request) -> Response:
        """PUT to a session's address: bytes, or the question how many there are."""
        from outlast_emulator.storage.resuming import resume

        if not request.query("upload_id"):
            raise required("upload_id")
        session = self._storage.uploads.find(request.query("upload_id"))
        if session.plan.bucket != request.params["bucket"]:
            raise ApiError(404, "notFound", "Upload not found. The upload id is unknown.")
        # What comes by POST may be served by the loop, which waits for nobody.
        with alone(session, BUSY_SECONDS_MAX if request.verb == "PUT" else 0.0):
            return resume(self._emulator, session, request)

    def cancel(self, request: Request) -> Response:
        session = self._storage.uploads.find(request.query("upload_id"))
        with alone(session, BUSY_SECONDS_MAX):
            if not session.generation:
                self._storage.uploads.cancel(session)
        return Response(499, b"", {"content-type": "text/html; charset=UTF-8"})


@contextmanager
def alone(session: Session, seconds: float) -> Iterator[None]:
    """503 if another request writes to it for longer than that."""
    if not session.lock.acquire(timeout=seconds):
        raise ApiError(503, "backendError", "Another request is writing to this upload.")
    try:
        yield
    finally:
        session.lock.release()


def check_known(request: Request) -> None:
    """501 for what would change how the bytes are stored: keys of the customer's."""
    if "x-goog-encryption-algorithm" in request.headers:
        raise not_implemented("customer-supplied encryption keys")
    if request.query("kmsKeyName") or request.query("destinationKmsKeyName"):
        raise not_implemented("customer-managed encryption keys")


def check_metadata(fields: dict[str, Any]) -> None:
    metadata = fields.get("metadata") or {}
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise invalid("Invalid metadata: a map of names to strings is expected.", location="metadata")
    if sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items()) > METADATA_BYTES_MAX:
        raise invalid(f"Metadata is larger than {METADATA_BYTES_MAX} bytes.", reason="metadataTooLarge")
