"""Doctor's look at what runs on this computer: the supervisor, its machines, and what should not be there any more."""

from __future__ import annotations

from collections.abc import Iterator

from outlast.engines.registry import EXAMINERS, LEFTOVERS
from outlast.jobs.finding import Finding, bad, good, warning
from outlast.jobs.world import World


def check_supervisor(world: World) -> Iterator[Finding]:
    for name, examine in EXAMINERS.items():
        seen = examine(world.user_dir)
        if seen.problem:
            yield warning("supervisor", seen.problem, seen.mend)
        elif seen.supervisor:
            yield good("supervisor", f"of `{name}` runs as process {seen.supervisor}, {seen.launches} launches")
        else:
            yield good("supervisor", f"of `{name}` is not running; it starts with the next job")


def check_processes(world: World) -> Iterator[Finding]:
    for examine in EXAMINERS.values():
        strays = examine(world.user_dir).strays
        if strays:
            pids = " ".join(str(pid) for pid in strays)
            yield bad("processes", f"{len(strays)} of launches that have ended are alive: {pids}", f"kill {pids}")
        else:
            yield good("processes", "none is left of launches that have ended")


def check_machines(world: World) -> Iterator[Finding]:
    left = [leftover for find in LEFTOVERS.values() for leftover in find(world.user_dir)]
    if left:
        bytes_ = sum(leftover.bytes for leftover in left)
        fact = f"{len(left)} directories of dead machines are left, {bytes_ / 10**6:.1f} MB"
        yield warning("machines", fact, "outlast prune --keep-jobs")
    else:
        yield good("machines", "nothing is left of dead ones")
