"""The emulator's time: the only file that asks the system for it."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from functools import lru_cache


def utc_now() -> datetime:
    """The system's, for what is checked by clients that know no skew."""
    return datetime.now(timezone.utc)


def monotonic() -> float:
    return time.monotonic()


def pause(seconds: float) -> None:
    time.sleep(seconds)


class Clock:
    """The system's time plus a skew that `/_emulator/clock` may set; `scaled` shortens what Google takes long for."""

    def __init__(self, scale: float = 1.0, skew_seconds: float = 0.0) -> None:
        self.scale = scale
        self.skew_seconds = skew_seconds
        self._date: tuple[int, str] = (-1, "")

    def now(self) -> float:
        """Seconds since 1970, as every answer of the emulator tells them."""
        return time.time() + self.skew_seconds

    def monotonic(self) -> float:
        return time.monotonic()

    def scaled(self, seconds: float) -> float:
        """How long a lag, a notice or a limit of `seconds` takes here."""
        return seconds * self.scale

    def http_date(self) -> str:
        """For the header `Date`; made once a second, since every answer carries it."""
        second = int(self.now())
        if self._date[0] != second:
            from email.utils import formatdate  # not for machines, which want to know the time and to boot quickly

            self._date = (second, formatdate(second, usegmt=True))
        return self._date[1]


def rfc3339(microseconds: int) -> str:
    """`2026-11-15T23:10:00.123Z`, as the JSON API writes a time."""
    second, rest = divmod(microseconds, 1_000_000)
    return f"{_second(second)}.{rest // 1000:03d}Z"


@lru_cache(1024)
def _second(second: int) -> str:
    """Thousands of objects are written within one."""
    return f"{datetime.fromtimestamp(second, tz=timezone.utc):%Y-%m-%dT%H:%M:%S}"
