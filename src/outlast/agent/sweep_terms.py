"""On which terms a worker of a sweep pays: how far ahead, what it holds back, and when it must be gone."""

from __future__ import annotations

from outlast.clock import Clock
from outlast.folder import cost

WORK_SECONDS_MIN = 60.0
"""Who has money for less does not begin a cell."""

START_SECONDS = 10.0
"""From a machine's boot to its first cell, at least."""

LEAVE_SECONDS = 90.0
LEAVE_SHARE = 0.3
"""What is held back of a worker's share: so long, or that much of it. For the time between its last cell and its machine's end; or, should
the machine die then, for one more that comes up in its place, whether there is money or not, and leaves."""

RENEW_SECONDS = 30.0
AHEAD_SECONDS = 120.0
AHEAD_SHARE = 0.1
AHEAD_SECONDS_MAX = 600.0
"""How often a bill is renewed, and how far ahead of its time it is: so long at least, or that much of the worker's share. So long a
worker that is cut off goes on; and so much is lost of the share of one that dies without a word, if nobody comes in its place sooner."""

FURNISH_SECONDS = 900.0
"""Further ahead at first: who makes an environment or fetches a dataset renews nothing meanwhile."""

RETRY_SECONDS = 10.0
"""Between two tries to renew."""

GONE_SECONDS = 15.0
"""From a worker's last word to the end of its machine."""

BLOCKED_SECONDS = 60.0
"""So long one request may wait for an answer: who is cut off decides so much sooner."""

UNPAID_SECONDS = 120.0
"""A worker that cannot write its first bill by then leaves."""

LAST_SECONDS = 45.0
"""At the end of its share a worker pays for so much more at a time."""

IDLE_LOOK_SECONDS = 60.0
"""How often a worker looks for machines that could not leave."""


def paid_no_more(until: float | None, clock: Clock) -> bool:
    """Who cannot reach the home must leave now. None: no bill was written yet; then nothing says how long it may wait."""
    return until is not None and clock.monotonic() >= until - GONE_SECONDS - BLOCKED_SECONDS


def share_usd_min(usd_per_hour: float) -> float:
    """The smallest share with which a worker begins a cell at all, if its part of a machine costs so much."""
    return usd_per_hour * (cost.BOOT_SECONDS + START_SECONDS + WORK_SECONDS_MIN) / 3600 / (1 - LEAVE_SHARE)
