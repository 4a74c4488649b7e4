"""storage.objects: get, list, patch, update, delete, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError, invalid, required
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.storage import acl, listing, media
from outlast_emulator.storage.conditions import asked
from outlast_emulator.storage.json_upload import check_known, check_metadata
from outlast_emulator.storage.lifecycle import instant
from outlast_emulator.storage.resources import departed_resource, etag, object_resource
from outlast_emulator.storage.settable import OBJECT, patched, settable
from outlast_emulator.storage.stored import Stored

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


class JsonObjects:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._storage = emulator.storage
        self._objects = emulator.storage.objects

    def get(self, request: Request) -> Response:
        bucket, name = request.params["bucket"], request.params["object"]
        check_known(request)
        generation = request.number("generation")
        if request.flag("softDeleted"):
            if generation is None:
                raise required("generation")
            self._storage.buckets.find(bucket)
            return answer(departed_resource(self._objects.departed(bucket, name, generation), self._emulator.url))
        with self._objects.held():
            return self._read(request, self._objects.get(bucket, name, asked(request), generation))

    def _read(self, request: Request, stored: Stored) -> Response:
        tag = etag(stored.generation, stored.metageneration)
        if "if-none-match" in request.headers and _names_tag(request.headers["if-none-match"], tag):
            return Response(304, headers={"etag": tag})
        if "if-match" in request.headers and not _names_tag(request.headers["if-match"], tag):
            raise ApiError(412, "conditionNotMet", "Precondition Failed", location="If-Match", location_type="header")
        if request.wants_media:
            return media.download(self._objects, stored, request)
        return answer(object_resource(stored, self._emulator.url), headers={"etag": tag})

    def list(self, request: Request) -> Response:
        bucket = request.params["bucket"]
        query = listing.Query(
            prefix=request.query("prefix"),
            delimiter=request.query("delimiter"),
            start=request.query("startOffset"),
            end=request.query("endOffset"),
            limit=self.limit(request),
            token=request.query("pageToken"),
            trailing_delimiter=request.flag("includeTrailingDelimiter"),
            glob=request.query("matchGlob"),
        )
        document: dict[str, Any] = {"kind": "storage#objects"}
        if request.flag("softDeleted"):
            gone, token = self._storage.list_departed(bucket, query)
            items = [departed_resource(departed, self._emulator.url) for departed in gone]
            prefixes: list[str] = []
        else:
            page = self._storage.list(bucket, query)
            token, prefixes = page.token, page.prefixes
            items = [object_resource(stored, self._emulator.url) for stored in page.items]
        if token:
            document["nextPageToken"] = token
        if prefixes:
            document["prefixes"] = prefixes
        if items:
            document["items"] = items
        return answer(document)

    def limit(self, request: Request) -> int:
        page = self._emulator.switches.list_page_max
        wanted = request.number("maxResults")
        if wanted is None or wanted == 0:
            return page
        if wanted < 0:
            raise invalid(f"Invalid value for maxResults: {wanted}", location="maxResults")
        return min(wanted, page)

    def patch(self, request: Request) -> Response:
        change = request.json()
        return self._changed(request, lambda fields: _checked(fields, patched(fields, change, OBJECT)))

    def update(self, request: Request) -> Response:
        """All that is not sent is taken away, except the storage class and a custom time."""
        document = request.json()

        def replaced(fields: dict[str, Any]) -> dict[str, Any]:
            kept = {name: fields[name] for name in ("storageClass", "customTime") if name in fields}
            return _checked(fields, kept | settable(document, OBJECT))

        return self._changed(request, replaced)

    def _changed(self, request: Request, changed: Any) -> Response:
        bucket, name = request.params["bucket"], request.params["object"]
        generation = request.number("generation")
        place, predefined = self._storage.buckets.find(bucket), request.query("predefinedAcl")

        def checked(fields: dict[str, Any]) -> dict[str, Any]:
            new: dict[str, Any] = changed(fields)
            if predefined or new.get("acl") != fields.get("acl"):
                acl.chosen_of_object(new, predefined, place)
            return new

        stored = self._objects.change(bucket, name, checked, asked(request), generation)
        return answer(object_resource(stored, self._emulator.url))

    def delete(self, request: Request) -> Response:
        bucket, name = request.params["bucket"], request.params["object"]
        self._objects.delete(bucket, name, asked(request), request.number("generation"))
        return Response(204)

    def restore(self, request: Request) -> Response:
        bucket, name = request.params["bucket"], request.params["object"]
        generation = request.number("generation")
        if generation is None:
            raise required("generation")
        self._storage.buckets.find(bucket)
        stored = self._objects.restore(bucket, name, generation, asked(request))
        return answer(object_resource(stored, self._emulator.url))


def _names_tag(header: str, tag: str) -> bool:
    """A list of entity tags, or `*` for any."""
    named = [one.strip().removeprefix("W/").strip('"') for one in header.split(",")]
    return tag in named or "*" in named


def _checked(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A custom time that is set stays, or moves on: only a rewrite makes an object without it."""
    check_metadata(new)
    before, after = instant(old.get("customTime")), instant(new.get("customTime"))
    if old.get("customTime") and ("customTime" not in new or (before and after and after < before)):
        raise invalid("Custom time cannot be removed or set to an earlier time.", location="customTime")
    return new
