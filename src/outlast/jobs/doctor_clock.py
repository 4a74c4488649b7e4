"""Doctor's look at the clock: against every home's own, and against what was submitted there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from outlast.errors import OutlastError
from outlast.folder.home import Home
from outlast.jobs.finding import Finding, good, warning
from outlast.jobs.world import World

CLOCK = "clock"
SKEW_SECONDS_MAX = 30.0
MEND = "sudo timedatectl set-ntp true; on macOS sudo sntp -sS time.apple.com"


def check_clock(world: World) -> Iterator[Finding]:
    """A home that cannot be reached says nothing about the time; `check_homes` tells of it."""
    problems: list[str] = []
    for home in world.homes():
        try:
            problems.extend(_problems(world, home))
        except OutlastError:
            continue
    for problem in problems:
        yield warning(CLOCK, problem, MEND)
    if not problems:
        now = datetime.fromtimestamp(world.clock.now(), timezone.utc)
        yield good(CLOCK, f"it is {now:%Y-%m-%d %H:%M} UTC, and no home says otherwise")


def _problems(world: World, home: Home) -> Iterator[str]:
    skew = home.store.now() - world.clock.now()
    if abs(skew) > SKEW_SECONDS_MAX:
        yield f"this computer's differs from `{home.url}`'s by {skew:.0f} s"
        return
    newest = next(home.index(), None)
    ahead = newest.submitted_at - world.clock.now() if newest is not None else 0.0
    if newest is not None and ahead > SKEW_SECONDS_MAX:
        yield f"it is behind: job `{newest.job}` in `{home.url}` was submitted {ahead:.0f} s from now"
