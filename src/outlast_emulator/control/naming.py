"""Which object a request is for, where its path does not say: an upload's name is in its query or in its first bytes."""

from __future__ import annotations

import json
import re

from outlast_emulator.request import Incoming, Request

PEEK_BYTES = 64 << 10
_NAME = re.compile(rb'"name"\s*:\s*("(?:[^"\\]|\\.)*")')


class PeekedBody:
    """A body whose beginning was looked at."""

    def __init__(self, begun: bytes, body: Incoming) -> None:
        self.length = body.length
        self._begun = begun
        self._body = body

    def read(self, size: int) -> bytes:
        if self._begun:
            data, self._begun = self._begun[:size], self._begun[size:]
            return data
        return self._body.read(size)


def object_name(request: Request) -> str:
    """ "" if it cannot be told."""
    for name in ("object", "destinationObject"):
        if name in request.params:
            return request.params[name]
    if request.query("name"):
        return request.query("name")
    if request.method_id != "storage.objects.insert" or request.query("upload_id"):
        return ""
    begun = request.body.read(PEEK_BYTES)
    request.body = PeekedBody(begun, request.body)
    found = _NAME.search(begun)
    try:
        return str(json.loads(found[1])) if found else ""
    except ValueError:
        return ""
