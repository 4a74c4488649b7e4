"""On which terms a worker of a sweep pays: how far ahead, what it holds back, and when it must be gone."""

from __future__ import annotations

from outlast.clock import Clock
from outlast.folder import cost

WORK_SECONDS_MIN = 60.0
"""Who has money for less does not begin a cell."""

START_SECONDS = 10.0
"""From a machine's boot to its first cell, at least."""

LEAVE_SECONDS = 180.0
"""What is held back of a worker's share, however small that is. For the time between its last cell and its machine's end; or, should the
machine die then, for two more that come up in its place one after the other, since their group makes them whether there is money or
not, and leave. Nobody can do without: a sweep's end is written by a machine, which has to boot for it."""

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
"""A machine that is so old and has no bill, since it cannot reach the home, leaves: the next one may be better connected."""

LAST_SECONDS = 105.0
"""At the end of its share a worker pays for so much more at a time: half a minute without an answer it waits for the home, and does not
leave, since the machine that came in its place would cost more than that."""

END_SECONDS = 45.0
"""From the moment at which a worker finds that all have spent the money until it has ended the sweep."""

SHORT_SECONDS = 150.0
SHORT_TIMES_MAX = 1.6
"""Where the machines of a place live for less on average, so many times as much is held back, up to this."""

IDLE_LOOK_SECONDS = 60.0
"""How often a worker looks for machines that could not leave."""


def paid_no_more(until: float | None, born_at: float, clock: Clock) -> bool:
    """Who cannot reach the home must leave now. `until`: of its bill; None: none was written yet."""
    if until is None:
        return clock.monotonic() >= born_at + UNPAID_SECONDS
    return clock.monotonic() >= until - GONE_SECONDS - BLOCKED_SECONDS


def share_usd_min(usd_per_hour: float) -> float:
    """The smallest share with which a worker begins a cell at all, if its part of a machine costs so much."""
    return usd_per_hour * (cost.BOOT_SECONDS + START_SECONDS + WORK_SECONDS_MIN + LEAVE_SECONDS) / 3600
