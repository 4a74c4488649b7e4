"""The metadata server of a Google machine, as far as the machine itself asks it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import NotFound, StoreUnavailable
from outlast.google.auth.metadata import HEADERS, host_of
from outlast.google.connections import Connections
from outlast.google.wire import Answer, NoAnswer, Request, Wire

CONNECT_SECONDS = 5.0
STALL_SECONDS = 10.0


@dataclass
class Metadata:
    base: str
    wire: Wire
    etag: str = field(default="0", init=False)
    """Of the last answer of `watch`: what changes between two calls is not missed."""

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Metadata:
        return cls(f"http://{host_of(environ)}/computeMetadata/v1", Connections(environ))

    def get(self, path: str) -> bytes:
        answer = self._ask(f"{self.base}/{path}", STALL_SECONDS)
        if answer.status != 200:
            raise NotFound(f"the metadata server has no `{path}` ({answer.status})")
        return bytes(answer.body)

    def tell(self, name: str, words: str) -> bool:
        """A guest attribute, which whoever looks at the machine can read; whether it was taken. It takes no right."""
        url = f"{self.base}/instance/guest-attributes/{name}"
        request = Request("PUT", url, HEADERS, words.encode())
        try:
            answer = self.wire.send(request, connect_seconds=CONNECT_SECONDS, stall_seconds=STALL_SECONDS)
        except NoAnswer:
            return False
        return answer.status == 200

    def watch(self, path: str, seconds: int) -> dict[str, Any]:
        """The tree below `path`, when it has changed since the last call, or after so long."""
        query = f"recursive=true&alt=json&wait_for_change=true&last_etag={self.etag}&timeout_sec={seconds}"
        answer = self._ask(f"{self.base}/{path}?{query}", seconds + STALL_SECONDS)
        if answer.status != 200:
            raise StoreUnavailable(f"the metadata server answers {answer.status}")
        self.etag = answer.headers.get("etag", "0")
        try:
            document = json.loads(answer.body)
        except ValueError as error:
            raise StoreUnavailable("the metadata server's answer is no JSON") from error
        return document if isinstance(document, dict) else {}

    def _ask(self, url: str, stall_seconds: float) -> Answer:
        try:
            return self.wire.send(
                Request("GET", url, HEADERS, None), connect_seconds=CONNECT_SECONDS, stall_seconds=stall_seconds
            )
        except NoAnswer as error:
            raise StoreUnavailable(f"the metadata server does not answer: {error.why}") from error
