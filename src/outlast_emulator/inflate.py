"""The step that undoes `Content-Encoding: gzip` of requests: in the JSON API it is a way to send, not a property of the object."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from outlast_emulator.errors import ApiError
from outlast_emulator.request import Incoming, Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Operation

if TYPE_CHECKING:
    from outlast_emulator.chain import Step
    from outlast_emulator.emulator import Emulator

PATHS = ("/storage/v1/", "/upload/storage/v1/", "/resumable/upload/", "/batch")
"""In the XML API the same header is metadata."""


class InflatedBody:
    def __init__(self, body: Incoming) -> None:
        self.length: int | None = None
        self._body = body
        self._inflater = zlib.decompressobj(wbits=31)

    def read(self, size: int) -> bytes:
        while not self._inflater.eof:
            packed = self._inflater.unconsumed_tail or self._body.read(size)
            try:
                data = self._inflater.decompress(packed, size)
            except zlib.error as error:
                raise ApiError(400, "badContent", "The request's body is not gzip, as its header says.") from error
            if data:
                return data
            if not packed:
                raise ApiError(400, "badContent", "The request's body ends in the middle of its gzip stream.")
        return b""


def step(emulator: Emulator) -> Step:
    def call(request: Request, following: Operation) -> Response:
        if request.headers.get("content-encoding", "").lower() == "gzip" and request.path.startswith(PATHS):
            request.body = InflatedBody(request.body)
        return following(request)

    return call
