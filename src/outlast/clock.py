"""The only file that asks what time it is."""

from __future__ import annotations

import time

TYPE_CHECKING = False  # as in `typing`, whose import alone takes longer than a short command
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class Clock(Protocol):
    """Time as an argument, so that a whole job can run inside a simulation."""

    def now(self) -> float:
        """Seconds since 1970 by this machine's own clock: for people to read, never to decide between two machines."""

    def monotonic(self) -> float:
        """Seconds that only go forward; shared by all processes of one boot, meaningless beyond it."""

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


SYSTEM = SystemClock()
