"""A move: a launch that finds no machine in its region goes on in the next one that was asked for.

Machines wait inside their region, whoever sleeps meanwhile; lists of regions are walked by whichever command is looking, step by step.
"""

from __future__ import annotations

from outlast.dataclass import replace
from outlast.engines.engine import LaunchState
from outlast.folder import life
from outlast.folder.folder import HeadAt
from outlast.folder.records import LaunchRecord
from outlast.jobs.job import Job, as_launch
from outlast.jobs.launch import index, launch_record, start
from outlast.jobs.world import World
from outlast.jobs.zones import remember_end
from outlast.spec.spec import Spec

WAIT_SECONDS = 180.0
"""So long a launch waits for capacity before it moves."""


def next_region(spec: Spec, record: LaunchRecord, state: LaunchState, now: float) -> str:
    """Where it should go; empty: it stays."""
    return _after(spec, record) if state.lacks_capacity and now - record.launched_at >= WAIT_SECONDS else ""


def with_next_region(spec: Spec, record: LaunchRecord, state: LaunchState) -> LaunchState:
    """What it waits for, and where it goes on if that does not come: nobody moves it while nobody looks."""
    region = _after(spec, record) if state.lacks_capacity else ""
    minutes = f"{WAIT_SECONDS / 60:.0f} min"
    words = f"{state.why}; after {minutes} of that, whoever looks moves it to `{region}`"
    return replace(state, why=words) if region else state


def _after(spec: Spec, record: LaunchRecord) -> str:
    """The region behind the one that it is in, in the order in which they were asked for."""
    if spec.machine.rented is None or record.machine.rented is None:
        return ""
    if record.engine != spec.engine:
        return ""  # somebody has moved it here from another one, whose regions are of another machine
    regions = spec.machine.rented.regions
    here = record.machine.rented.regions[0]
    after = regions[regions.index(here) + 1 :] if here in regions else ()
    return after[0] if after else ""


def move(world: World, job: Job, spec: Spec, record: LaunchRecord, at: HeadAt, region: str) -> HeadAt | None:
    """Record, index, head, old launch stopped, new one started; None: somebody else wrote head first. Deadline and limits stay."""
    from outlast.jobs.rent import in_region

    machine = in_region(spec.machine, region)
    assert machine.rented is not None
    moved = launch_record(
        job,
        record.launch + 1,
        record.engine,
        spec,
        job.folder.store.now(),
        machine=machine,
        usd_per_hour=machine.rented.usd_per_hour,
        deadline_at=record.deadline_at,
        max_cost_usd=record.max_cost_usd,
        agent=record.agent,
        args=record.args,
        bundle=at.head.bundle,
        workers=record.workers,
        cells=record.cells,
    )
    index(job, moved)
    swapped = job.folder.swap(at, life.moved(at.head, moved, job.folder.store.now()), f"{moved.id}-move")
    if swapped is None:
        return None
    world.engine(record.engine).stop(as_launch(job, record, spec))
    remember_end(job, record, swapped.head)
    start(world, job, spec, swapped.head)
    return job.folder.existing_head()
