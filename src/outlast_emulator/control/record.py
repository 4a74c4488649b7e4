"""Remembers the last requests and counts every one, by method: what tests and the ledger ask for.

With `OUTLAST_EMULATOR_RECORD=FILE` in the environment every request is also appended to FILE, a JSON object per line; any
number of emulators may share one.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, NamedTuple

from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Operation

if TYPE_CHECKING:
    from outlast_emulator.chain import Step
    from outlast_emulator.emulator import Emulator

REMEMBERED_MAX = 10_000
RECORD = "OUTLAST_EMULATOR_RECORD"
SECRET = re.compile(r"((?:^|&)(?:access_token|oauth_token|key|X-Goog-Signature|Signature)=)[^&]*", re.IGNORECASE)


class Entry(NamedTuple):
    method: str
    verb: str
    path: str
    query: str
    headers: dict[str, str]
    status: int
    reason: str
    """Of a refusal: `conditionNotMet`, `notFound`, `invalid`...; "" if it was none."""
    principal: str = ""
    """Who called, if that was asked for."""
    undocumented: bool = False
    """It was refused because the discovery documents do not know it."""

    def shown(self) -> dict[str, Any]:
        """Without what would let somebody call in the caller's name."""
        kept = {name: value for name, value in self.headers.items() if name != "authorization"}
        return {**self._asdict(), "headers": kept, "query": SECRET.sub(r"\1...", self.query)}


class Record:
    def __init__(self, path: str = "") -> None:
        """`path`: where every request is also written; "": nowhere."""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if path else -1
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self._last: deque[Entry] = deque(maxlen=REMEMBERED_MAX)

    def add(self, request: Request, status: int, reason: str, *, undocumented: bool = False) -> None:
        entry = Entry(
            request.method_id,
            request.verb,
            request.path,
            request.query_text,
            request.headers,
            status,
            reason,
            request.principal,
            undocumented,
        )
        with self._lock:
            self.counts[request.method_id] += 1
            self._last.append(entry)
        if self._file >= 0:
            os.write(self._file, json.dumps(entry.shown()).encode() + b"\n")

    def last(self) -> list[dict[str, Any]]:
        with self._lock:
            entries = list(self._last)
        return [entry.shown() for entry in entries]

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def total(self) -> int:
        with self._lock:
            return self.counts.total()

    def counted(self) -> dict[str, int]:
        with self._lock:
            return dict(sorted(self.counts.items()))


def step(emulator: Emulator) -> Step:
    record = emulator.record

    def call(request: Request, following: Operation) -> Response:
        if request.method_id.startswith("emulator."):
            return following(request)
        status, reason, undocumented = 599, "", False  # nobody was answered
        try:
            response = following(request)
            status = response.status
        except ApiError as error:
            status, reason, undocumented = error.status, error.reason, error.undocumented
            raise
        finally:
            record.add(request, status, reason, undocumented=undocumented)
        return response

    return call
