"""Remembers the last requests and counts every one, by method: what tests and the ledger ask for."""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Operation

if TYPE_CHECKING:
    from outlast_emulator.chain import Step
    from outlast_emulator.emulator import Emulator

REMEMBERED_MAX = 10_000


class Record:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self._last: deque[tuple[str, str, str, str, dict[str, str], int]] = deque(maxlen=REMEMBERED_MAX)

    def add(self, request: Request, status: int) -> None:
        with self._lock:
            self.counts[request.method_id] += 1
            self._last.append(
                (request.method_id, request.verb, request.path, request.query_text, request.headers, status)
            )

    def last(self) -> list[dict[str, Any]]:
        with self._lock:
            entries = list(self._last)
        return [
            {
                "method": method,
                "verb": verb,
                "path": path,
                "query": query,
                "headers": {name: value for name, value in headers.items() if name != "authorization"},
                "status": status,
            }
            for method, verb, path, query, headers, status in entries
        ]

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
        status = 599  # nobody was answered
        try:
            response = following(request)
            status = response.status
        except ApiError as error:
            status = error.status
            raise
        finally:
            record.add(request, status)
        return response

    return call
