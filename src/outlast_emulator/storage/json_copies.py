"""storage.objects: compose, copy, rewrite and move."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError, invalid
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.storage import acl
from outlast_emulator.storage.composing import SOURCES_MAX, composed
from outlast_emulator.storage.conditions import NONE, Conditions, asked
from outlast_emulator.storage.json_upload import check_known, check_metadata
from outlast_emulator.storage.objects import check_object_name
from outlast_emulator.storage.resources import object_resource
from outlast_emulator.storage.settable import OBJECT, settable
from outlast_emulator.storage.stored import Stored

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

MEBIBYTE = 1 << 20


class JsonCopies:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._storage = emulator.storage
        self._objects = emulator.storage.objects

    def compose(self, request: Request) -> Response:
        bucket, name = request.params["destinationBucket"], request.params["destinationObject"]
        document = request.json()
        asked_for = document.get("sourceObjects") or []
        if not 1 <= len(asked_for) <= SOURCES_MAX:
            raise invalid(f"The number of source components provided ({len(asked_for)}) is not between 1 and 32.")
        check_object_name(name)
        sources = [self._source(request, bucket, entry) for entry in asked_for]
        fields = settable(document.get("destination") or {}, OBJECT)
        check_metadata(fields)
        target = self._storage.buckets.find(bucket)
        acl.chosen_of_object(fields, request.query("destinationPredefinedAcl"), target)
        fields.setdefault("storageClass", target.fields["storageClass"])
        if "contentType" not in fields and sources[0].fields.get("contentType"):
            fields["contentType"] = sources[0].fields["contentType"]
        components = sum(max(1, source.components) for source in sources)
        self.demand_replacing(request, bucket, name)
        content = composed(self._storage.contents, self._objects, sources)
        with self._storage.database.write():
            stored = self._objects.put(bucket, name, content, fields, asked(request), components)
            if document.get("deleteSourceObjects"):
                for source in {entry.name: entry for entry in sources if entry.name != name}.values():
                    self._emulator.demand(request, "storage.objects.delete", bucket, source.name)
                    self._objects.delete(bucket, source.name, NONE, source.generation)
        return answer(object_resource(stored, self._emulator.url))

    def _source(self, request: Request, bucket: str, entry: dict[str, Any]) -> Stored:
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            raise invalid("A source object has no name.")
        self._emulator.demand(request, "storage.objects.get", bucket, name)
        expected = (entry.get("objectPreconditions") or {}).get("ifGenerationMatch")
        generation = entry.get("generation")
        try:
            conditions = Conditions(generation_match=None if expected is None else int(expected))
            return self._objects.get(bucket, name, conditions, None if generation is None else int(generation))
        except ValueError as error:
            raise invalid(f"Invalid generation of the source object {name}.") from error

    def copy(self, request: Request) -> Response:
        with self._objects.held():
            source, fields = self._copied(request)
            return answer(object_resource(self._linked(request, source, fields), self._emulator.url))

    def rewrite(self, request: Request) -> Response:
        with self._objects.held():
            return self._rewritten(request, *self._copied(request))

    def _rewritten(self, request: Request, source: Stored, fields: dict[str, Any]) -> Response:
        token = request.query("rewriteToken")
        done = self._done(request, source, token) if token else 0
        per_call = self._bytes_per_call(request, source, fields)
        document: dict[str, Any] = {"kind": "storage#rewriteResponse", "objectSize": str(source.size)}
        if per_call and done + per_call < source.size:
            document["totalBytesRewritten"] = str(done + per_call)
            document["done"] = False
            document["rewriteToken"] = _token(request, source, done + per_call)
            return answer(document)
        stored = self._linked(request, source, fields)
        document["totalBytesRewritten"] = str(source.size)
        document["done"] = True
        document["resource"] = object_resource(stored, self._emulator.url)
        return answer(document)

    def move(self, request: Request) -> Response:
        bucket = request.params["bucket"]
        source, target = request.params["sourceObject"], request.params["destinationObject"]
        self.demand_replacing(request, bucket, target)
        stored = self._objects.move(bucket, source, target, asked(request, "Source"), asked(request))
        return answer(object_resource(stored, self._emulator.url))

    # ------------------------------------------------------------------------------------------------------------ rules

    def _copied(self, request: Request) -> tuple[Stored, dict[str, Any]]:
        """The source, and the fields of its copy: those that were sent, or else the source's own."""
        check_known(request)
        source = self._objects.get(
            request.params["sourceBucket"],
            request.params["sourceObject"],
            asked(request, "Source"),
            request.number("sourceGeneration"),
        )
        target = self._storage.buckets.find(request.params["destinationBucket"])
        check_object_name(request.params["destinationObject"])
        sent = settable(request.json(), OBJECT)
        check_metadata(sent)
        kept = {name: value for name, value in source.fields.items() if name not in ("storageClass", "acl")}
        fields = sent or kept
        if sent and "contentType" not in sent and "contentType" in kept:
            fields["contentType"] = kept["contentType"]
        acl.chosen_of_object(fields, request.query("destinationPredefinedAcl"), target)
        fields.setdefault("storageClass", target.fields["storageClass"])
        return source, fields

    def _linked(self, request: Request, source: Stored, fields: dict[str, Any]) -> Stored:
        bucket, name = request.params["destinationBucket"], request.params["destinationObject"]
        self.demand_replacing(request, bucket, name)
        content = self._objects.linked(source)
        return self._objects.put(bucket, name, content, fields, asked(request), source.components)

    def demand_replacing(self, request: Request, bucket: str, name: str) -> None:
        if self._objects.peek(bucket, name) is not None:
            self._emulator.demand(request, "storage.objects.delete", bucket, name)

    def _bytes_per_call(self, request: Request, source: Stored, fields: dict[str, Any]) -> int:
        """0: all at once. A limit counts only where bytes really move: to another location or storage class."""
        wanted = request.number("maxBytesRewrittenPerCall") or 0
        if wanted % MEBIBYTE or wanted < 0:
            raise invalid(
                "maxBytesRewrittenPerCall must be an integral multiple of 1 MiB.", location="maxBytesRewrittenPerCall"
            )
        target = self._storage.buckets.find(request.params["destinationBucket"])
        origin = self._storage.buckets.find(source.bucket)
        moves = target.fields["location"] != origin.fields["location"] or fields["storageClass"] != source.fields.get(
            "storageClass"
        )
        return wanted if moves and wanted else self._emulator.switches.rewrite_bytes_per_call

    def _done(self, request: Request, source: Stored, token: str) -> int:
        try:
            said = json.loads(base64.urlsafe_b64decode(token.encode()))
        except (ValueError, binascii.Error) as error:
            raise invalid("Invalid rewrite token.", location="rewriteToken") from error
        if not isinstance(said, dict) or said.get("of") != _identity(request, source):
            raise ApiError(
                400, "invalid", "The rewrite token is of another request.", location="rewriteToken",
                location_type="parameter",
            )  # fmt: skip
        return int(said["done"])


def _identity(request: Request, source: Stored) -> list[str]:
    names = ("sourceBucket", "sourceObject", "destinationBucket", "destinationObject")
    return [*(request.params[name] for name in names), str(source.generation)]


def _token(request: Request, source: Stored, done: int) -> str:
    text = json.dumps({"of": _identity(request, source), "done": done})
    return base64.urlsafe_b64encode(text.encode()).decode()
