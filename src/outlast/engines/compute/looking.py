"""The state of a launch, by what its group says of its machines, what they have counted in the home, and what they tell otherwise."""

from __future__ import annotations

from collections.abc import Collection

from outlast.engines.compute import names, troubles
from outlast.engines.compute.boots import Boots, read_boots, read_failed
from outlast.engines.compute.group import Group
from outlast.engines.compute.heard import Heard, hear
from outlast.engines.compute.managed import Managed, is_there, place_of, rank_of, some_may_come, there_by_rank
from outlast.engines.engine import Condition, Launch, LaunchState
from outlast.google.compute_building import BuildingClient
from outlast.google.storage import StorageClient
from outlast.google.transport import Transport

LEAVE_RIGHT = "compute.instanceGroupManagers.update"
"""What a machine needs to be deleted by its group at its own request."""


def look(group: Group, transport: Transport, taken: Collection[str]) -> LaunchState:
    """`taken`: machines that somebody here has taken away, which Google may call running for minutes."""
    launch = group.launch
    found = group.get()
    managed = group.members() if found is not None else None
    if found is None or managed is None or (not managed and group.is_empty(found)):
        return _without_group(transport, launch)
    troubled = troubles.of_managed(one for one in managed if not is_there(one))
    final = [one for one in troubled if one.final]
    if final and not (launch.independent and some_may_come(managed)):
        return LaunchState(Condition.REFUSED, f"in `{group.region}`: {troubles.told(final)}")
    there = list(there_by_rank(managed))
    boots = boots_of(transport, launch, there)
    silent = [one for one in managed if is_there(one) and not boots.is_up(rank_of(one) or 0)]
    heard = _hear(group, transport, silent)
    if heard.failed:
        return LaunchState(Condition.BOOT_FAILED, heard.failed)
    running = tuple(
        machine for rank in there if boots.is_up(rank) and (machine := machine_id(launch, rank, boots)) not in taken
    )
    if running and launch.independent:
        idle = tuple(f"{rank}-{boots.newest[rank]}" for rank in there if boots.is_idle(rank))
        why = trapped(len(idle)) if idle else troubles.told(troubled)
        return LaunchState(Condition.RUNNING, why, machines=running, idle=idle)
    if len(running) == launch.workers:
        return LaunchState(Condition.RUNNING, machines=running)
    if there:
        return LaunchState(Condition.STARTING, heard.waits or troubles.told(troubled), machines=running)
    lacking = any(one.code in troubles.CAPACITY for one in troubled)
    return LaunchState(Condition.WAITING, troubles.told(troubled) or "for its machine", lacks_capacity=lacking)


def machine_id(launch: Launch, rank: int, boots: Boots) -> str:
    """Of one life of a machine: its name is that of its successor too."""
    return f"{launch.id}-{rank}-{boots.newest.get(rank, 0)}"


def boots_of(transport: Transport, launch: Launch, ranks: Collection[int]) -> Boots:
    if not ranks:
        return Boots({}, frozenset(), failed=False)
    bucket = names.bucket_of(launch.home)
    return read_boots(StorageClient(transport, bucket.name), bucket, launch.boots)


def complaint(group: Group, transport: Transport) -> str:
    """Of the first machine that is there: what was refused to it last, in the home's own words."""
    there = there_by_rank(group.managed())
    return _hear(group, transport, [there[min(there)]] if there else []).waits


def _hear(group: Group, transport: Transport, silent: list[Managed]) -> Heard:
    """Of the first that runs and is not up: what keeps it keeps the others."""
    if not silent:
        return Heard()
    return hear(BuildingClient(transport, group.rented.project), *place_of(silent[0]))


def _without_group(transport: Transport, launch: Launch) -> LaunchState:
    bucket = names.bucket_of(launch.home)
    why = read_failed(StorageClient(transport, bucket.name), bucket, launch.boots)
    if why is None:
        return LaunchState(Condition.ABSENT)
    return LaunchState(Condition.BOOT_FAILED, why or "it left no word")


def trapped(idle: int) -> str:
    machines = f"{idle:,} of its machines have" if idle > 1 else "one of its machines has"
    return f"{machines} nothing to do, but may not leave: `outlast init` gives the right `{LEAVE_RIGHT}`; until the end it is paid for"
