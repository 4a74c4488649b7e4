"""Resumable uploads in the XML API: begun by `x-goog-resumable: start`, gone on with as in the JSON API."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from outlast_emulator.errors import invalid
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.storage import checks
from outlast_emulator.storage import xml_headers as headers
from outlast_emulator.storage.conditions import NONE
from outlast_emulator.storage.json_upload import BUSY_SECONDS_MAX, alone
from outlast_emulator.storage.objects import check_object_name
from outlast_emulator.storage.uploads import Plan, Session
from outlast_emulator.storage.xml_errors import no_such_upload
from outlast_emulator.storage.xml_objects import XmlObjects

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

WORDS = {"content-type": "text/html; charset=UTF-8"}


class XmlResumable:
    def __init__(self, emulator: Emulator, objects: XmlObjects) -> None:
        self._emulator = emulator
        self._storage = emulator.storage
        self._objects = objects

    def start(self, request: Request) -> Response:
        bucket, name = self._objects.place(request)
        if headers.said(request, "resumable").lower() != "start":
            raise invalid(f"Invalid x-goog-resumable: {headers.said(request, 'resumable')}")
        headers.refuse_unknown(request)
        check_object_name(name)
        fields, conditions = headers.fields(request), headers.conditions(request)
        self._objects.demand_overwrite(request, bucket, name)
        if conditions != NONE:
            old = self._storage.objects.peek(bucket, name)
            conditions.check(old.generation if old else 0, old.metageneration if old else 0)
        length = request.headers.get("x-upload-content-length", "")
        total = int(length) if length.isascii() and length.isdigit() else None
        claims = checks.claimed(request.headers, {})
        session = self._storage.uploads.begin(Plan(bucket, name, fields, conditions, claims, total))
        host = request.headers.get("host") or self._emulator.url.split("://")[1]
        query = urlencode({"upload_id": session.id})
        location = f"{request.scheme}://{host}/{bucket}/{quote(name, safe='/~')}?{query}"
        return Response(201, b"", {**WORDS, "location": location, "x-guploader-uploadid": session.id})

    def resume(self, request: Request) -> Response:
        from outlast_emulator.storage.resuming import resume

        session = self._session(request)
        with alone(session, BUSY_SECONDS_MAX):
            response = resume(self._emulator, session, request)
        if not session.generation:
            return response
        plan = session.plan
        stored = self._storage.objects.get(plan.bucket, plan.name, generation=session.generation)
        return Response(200, b"", {**headers.written(stored), **WORDS})

    def cancel(self, request: Request) -> Response:
        session = self._session(request)
        with alone(session, BUSY_SECONDS_MAX):
            if not session.generation:
                self._storage.uploads.cancel(session)
        return Response(499, b"", dict(WORDS))

    def _session(self, request: Request) -> Session:
        bucket, name = self._objects.place(request)
        session = self._storage.uploads.find(request.query("upload_id"))
        if (session.plan.bucket, session.plan.name) != (bucket, name):
            raise no_such_upload()
        return session
