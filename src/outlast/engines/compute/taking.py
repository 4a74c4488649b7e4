"""For drills: the machines of a launch are taken away, as Google takes them."""

from __future__ import annotations

from outlast.engines.compute.group import LOOK_SECONDS, Group
from outlast.engines.compute.looking import boots_of, machine_id
from outlast.engines.compute.managed import id_of, is_on, place_of, there_by_rank
from outlast.engines.compute.requests import request_id
from outlast.google.transport import Transport

PREEMPT_SECONDS_MAX = 600.0


def take(group: Group, transport: Transport, taken: set[str], *, notice: bool) -> bool:
    """Whether there was any; `taken` has them from the moment on at which it was asked for. With notice as Google gives it; without, a
    machine is reset: all that runs on it is gone at once, and it boots again."""
    there = there_by_rank(group.managed())
    boots = boots_of(transport, group.launch, there)
    operations = []
    for rank, one in there.items():
        zone, name = place_of(one)
        ask = group.client.preempt_instance if notice else group.client.reset_instance
        operations.append((zone, ask(zone, name, request_id())))
        taken.add(machine_id(group.launch, rank, boots))
    for zone, operation in operations:
        group.finished(("zones", zone), operation)
    if notice:
        _wait_until_taken(group, {id_of(one) for one in there.values()})
    return bool(there)


def _wait_until_taken(group: Group, taken: set[str]) -> None:
    """The operation may be over when the notice is given."""
    until = group.clock.monotonic() + PREEMPT_SECONDS_MAX
    wait, wait_max = LOOK_SECONDS
    while group.clock.monotonic() < until:
        if not taken & {id_of(one) for one in group.managed() if is_on(one)}:
            return
        group.clock.sleep(wait)
        wait = min(wait_max, wait * 1.5)
