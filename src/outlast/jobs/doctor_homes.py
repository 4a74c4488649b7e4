"""Doctor's look at homes: can each be reached, and is it written as it must be?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from outlast.errors import Damaged, Denied, OutlastError, PreconditionFailed
from outlast.folder.folder import nonce
from outlast.folder.home import Home
from outlast.jobs.adrift import adrift
from outlast.jobs.finding import Finding, bad, good, warning
from outlast.jobs.world import World

PROBES = "doctor/"
STOPPED_MAX = 10
"""So many jobs are named in one command."""


def check_homes(world: World) -> Iterator[Finding]:
    if world.homes_damaged():
        fact = f"`{world.homes_path}` is no list of homes: jobs in any but your own are not found"
        yield warning(
            "homes", fact, f"""echo '["/path/of/a/home", "gs://BUCKET"]' > {shlex.quote(str(world.homes_path))}"""
        )
    for home in world.homes():
        yield from home_findings(world, home)
    yield from _adrift_findings(world)


def _adrift_findings(world: World) -> Iterator[Finding]:
    homes: dict[str, list[str]] = {}
    for one in adrift(world, lambda _: True):
        homes.setdefault(one.launch.home, []).append(one.id)
    for url, jobs in homes.items():
        are = f"job `{jobs[0]}` is" if len(jobs) == 1 else f"{len(jobs)} jobs are"
        fact = f"is not there, and {are} on this computer; is its file system mounted?"
        yield warning(f"home {url}", fact, f"outlast stop {' '.join(jobs[:STOPPED_MAX])}")


def home_findings(world: World, home: Home) -> Iterator[Finding]:
    name = f"home {home.url}"
    key = f"{PROBES}{nonce(world.random)}"
    try:
        world.check_mounted(home)
        problem = _problem(home, key)
    except Denied as error:
        mend = error.hint or f"chmod u+rwx {shlex.quote(home.url)}"
        yield bad(name, error.message, mend)
        return
    except OutlastError as error:
        yield bad(name, error.message, error.hint or f"outlast jobs --home {shlex.quote(home.url)}")
        return
    if problem:
        yield bad(name, problem, "OUTLAST_HOME on a local disk; NFS mounted with lookupcache=positive")
    else:
        yield good(name, "can be read and written, and refuses what came second")


def _problem(home: Home, key: str) -> str:
    """A record is created, found, not created twice, swapped, and removed: hard links, if it is a directory, are what does this."""
    store = home.store
    try:
        generation = store.put(key, b"1", if_generation=0)
        try:
            store.put(key, b"2", if_generation=0)
        except PreconditionFailed:
            pass
        else:
            return "takes the same record twice: it does not know hard links as it should"
        store.put(key, b"3", if_generation=generation)
        if store.get(key).data != b"3":
            return "does not show what was just written"
        if not any(entry.key == key for entry in store.list(PROBES)):
            return "does not list what was just written"
    except (Damaged, PreconditionFailed) as error:
        return f"does not keep what was just written: {error}"
    finally:
        store.purge([key])
    return ""
