"""What a cell that runs has logged under one name, read as it grows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from outlast.agent.child import Child

READ_BYTES = 1 << 20
READS_MAX = 16
"""So much is read at one look; the rest at the next."""


class LoggedMetric:
    def __init__(self, metric: str) -> None:
        self.metric = metric
        self._offset = 0
        self._rest = b""
        self._count = 0

    def news(self, child: Child) -> Iterator[tuple[int, float]]:
        """(step, value) of each line since the last look. Without steps of its own, values are counted from 1."""
        if child.stream_bytes("metrics") < self._offset:
            self._offset, self._rest, self._count = 0, b"", 0  # the next attempt has begun
        for _ in range(READS_MAX):
            data = child.stream_read("metrics", self._offset, READ_BYTES)
            if not data:
                return
            self._offset += len(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            if len(self._rest) > READ_BYTES:
                self._rest = b""
            for line in lines:
                found = self._read(line)
                if found is not None:
                    yield found

    def _read(self, line: bytes) -> tuple[int, float] | None:
        """A torn line is passed over."""
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(record, dict) or self.metric not in record:
            return None
        try:
            value = float(record[self.metric])  # what is not finite is written as a word
        except (TypeError, ValueError):
            return None
        self._count += 1
        step = record.get("step")
        return step if isinstance(step, int) and not isinstance(step, bool) else self._count, value
