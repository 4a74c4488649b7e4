"""A submit against a prune at the same moment: what it relies on is there, and stays. The rules are in folder/prunes.py."""

from __future__ import annotations

from collections.abc import Sequence

from outlast.dataclass import replace
from outlast.errors import Damaged, KeyMissing, OutlastError, PreconditionFailed
from outlast.folder.prunes import Prunes, newest_prune, read_prunes
from outlast.folder.records import Head
from outlast.folder.sweep_records import Source
from outlast.jobs.job import Job
from outlast.jobs.plan import Plan, plan
from outlast.jobs.reach import Reach
from outlast.jobs.world import World
from outlast.spec.spec import Spec
from outlast.store.store import Store


def settle(world: World, job: Job, spec: Spec, planned: Plan, *, there: bool) -> int:
    """Between spec and head. Returns when all that the spec names is in the home, and no newer prune has come; answers its number.

    `there`: the spec is an earlier submit's, which may have died before it came to this.
    """
    store = job.folder.store
    seen = -1 if there else planned.prune
    while (number := newest_prune(store)) not in (0, seen):
        prunes = read_prunes(store)
        if not lacks(store, spec, prunes):
            seen = prunes.number
            continue
        again = plan(world, replace(planned.asked, job_id=spec.job))
        prunes = read_prunes(store)
        if prunes.number == again.prune and lacks(store, spec, prunes):
            raise _changed(job, there)
    return number


def settle_sources(world: World, job: Job, spec: Spec, planned: Plan, sources: Sequence[Source]) -> None:
    """The same for the code of every commit that a sweep goes over, when its grid names them."""
    url = planned.asked.git.rpartition("@")[0]
    for source in sources:
        asked = replace(planned.asked, git=f"{url}@{source.ref}")
        settle(world, job, replace(spec, bundle=source.bundle), replace(planned, asked=asked), there=True)


def lacks(store: Store, spec: Spec, prunes: Prunes) -> bool:
    """Whether something that the spec names is gone, or condemned. The prunes were read before this is asked."""
    reach = Reach(store)
    try:
        reach.add(spec)
    except Damaged:
        return True
    for key in reach.keys:
        entry = next((one for one in store.list(key, limit=1) if one.key == key), None)
        if entry is None or prunes.condemns(entry):
            return True
    return False


def _changed(job: Job, there: bool) -> OutlastError:
    if not there:
        job.folder.store.delete(job.folder.keys.spec)
    return OutlastError(
        f"a prune removed what job `{job.id}` was to be shipped with, and the directory has changed meanwhile",
        state="nothing was started, nothing is being spent",
        hint=f"`outlast delete {job.id}`, then submit it again" if there else "submit it again",
    )


def hold(job: Job, head: Head, seen: int, *, there: bool) -> None:
    """After head. A prune may have taken this for a half submit: whose write of the spec comes first decides.

    One that comes from now on sees head. One that had come before this submit began knows no spec but an earlier submit's.
    """
    store, key = job.folder.store, job.folder.keys.spec
    while newest_prune(store) != seen or (there and seen):
        try:
            stored = store.get(key)
            store.put(key, stored.data, if_generation=stored.generation)
        except PreconditionFailed:
            continue
        except KeyMissing:
            _withdraw(job, head)
            raise OutlastError(
                f"job `{job.id}` was pruned as half a submit at this moment",
                state="nothing was started, nothing is being spent",
                hint="submit it again",
            ) from None
        else:
            return


def _withdraw(job: Job, head: Head) -> None:
    try:
        at = job.folder.read_head()
        if at.head == head:
            job.folder.store.delete(job.folder.keys.head, if_generation=at.generation)
    except (KeyMissing, PreconditionFailed):
        return
