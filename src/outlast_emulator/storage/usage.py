"""How many bytes each bucket holds, and for how long: what storage costs."""

from __future__ import annotations

import threading

from outlast_emulator.clock import Clock


class Usage:
    """Departed objects count until they are purged, as Google bills them."""

    def __init__(self, clock: Clock, sizes: dict[str, int]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._sizes = sizes
        self._byte_seconds = 0.0
        self._since = clock.monotonic()

    def add(self, bucket: str, size: int) -> None:
        with self._lock:
            self._accrue()
            self._sizes[bucket] = self._sizes.get(bucket, 0) + size

    def sizes(self) -> dict[str, int]:
        with self._lock:
            return {bucket: size for bucket, size in self._sizes.items() if size}

    def byte_seconds(self) -> float:
        with self._lock:
            self._accrue()
            return self._byte_seconds

    def _accrue(self) -> None:
        now = self._clock.monotonic()
        self._byte_seconds += sum(self._sizes.values()) * (now - self._since)
        self._since = now
