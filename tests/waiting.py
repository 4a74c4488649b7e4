"""How tests wait: for a condition, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

SECONDS_MAX = 240.0
"""A computer that is shared with many others takes its time; whoever waits in vain waits so long once."""

REST_SECONDS = (0.02, 1.0)
"""Between two looks, within these: ..."""

RESTS_PER_LOOK = 3.0
"""... so many times as long as a look took, which leaves three quarters of a core to what is waited for."""

Found = TypeVar("Found")


def until(find: Callable[[], Found | None], what: Callable[[], object] | str = "") -> Found:
    """What `find` returns, as soon as it is true; `what` is told if it never is."""
    give_up_at = time.monotonic() + SECONDS_MAX
    while True:
        looked_at = time.monotonic()
        if found := find():
            return found
        now = time.monotonic()
        if now >= give_up_at:
            raise AssertionError(f"in vain for {SECONDS_MAX:.0f} s: {what() if callable(what) else what}")
        shortest, longest = REST_SECONDS
        time.sleep(min(longest, max(shortest, RESTS_PER_LOOK * (now - looked_at))))
