"""What a managed instance group does next: a pure function from what is wanted and what is there to a list of steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from outlast_emulator.compute.groups_names import BaseName
from outlast_emulator.compute.groups_shapes import ANY, ANY_SINGLE_ZONE, BALANCED, EVEN
from outlast_emulator.compute.groups_steps import (
    Add,
    Attempt,
    Clear,
    Dismiss,
    Forget,
    Notice,
    Recover,
    Repair,
    Settle,
    Step,
)

NONE, CREATING, RECREATING, DELETING, ABANDONING = "NONE", "CREATING", "RECREATING", "DELETING", "ABANDONING"
LEAVING = (DELETING, ABANDONING)
UP = ("PROVISIONING", "STAGING", "RUNNING", "REPAIRING")
GOING = ("STOPPING", "SUSPENDING", "PENDING_STOP", "DEPROVISIONING")
"""On its way down: nothing is begun before it has arrived."""


@dataclass(frozen=True)
class Wish:
    """What the group was told."""

    target_size: int
    zones: tuple[str, ...]
    shape: str
    base: BaseName
    machine_types: tuple[str, ...]
    """The preferred first."""
    template: str
    repairs: bool = True
    may_change_zone: bool = False
    updates_on_repair: bool = False
    """A repaired machine is made from the group's template of today, not from the one it had."""
    repair_seconds: float = 0.0
    """From a machine's death to the group's noticing."""
    redistributes: bool = False
    """An even group whose zones came to differ by more than one moves a machine."""


@dataclass(frozen=True)
class Member:
    """What the group knows of one of its machines."""

    name: str
    action: str
    template: str
    zone: str = ""
    """Where it is, was, or was last tried; "": nobody has tried yet."""
    machine_type: str = ""
    machine_id: int = 0
    """Of the machine that it has or had; 0: it never had one."""
    doomed_id: int = 0
    """The machine of this name that has to go before the next is made."""
    broken_at: float = 0.0
    """When the group saw that its machine is gone; 0: it is not."""
    retry_at: float = 0.0


@dataclass(frozen=True)
class Machine:
    """What is really there under a member's name."""

    id: int
    status: str
    leaving: bool = False
    """Its deletion has begun."""


@dataclass
class Plan:
    steps: list[Step] = field(default_factory=list)
    wake_at: float | None = None
    """When to look again, if nothing happens before."""

    def wake(self, at: float) -> None:
        self.wake_at = at if self.wake_at is None else min(self.wake_at, at)


def plan(wish: Wish, members: Sequence[Member], machines: Mapping[str, Machine], now: float) -> Plan:
    """`machines` by name; of a member that moved, only the machine that it has now."""
    made = Plan()
    made.steps += _sizing(wish, members, machines)
    if made.steps:
        return made  # what is done for each depends on who is there
    spread = Counter(
        member.zone
        for member in members
        if member.action not in LEAVING and member.zone and (member.machine_id or wish.shape == EVEN)
    )
    for member in members:
        _look(made, wish, member, machines.get(member.name), spread, now)
    return made


def _sizing(wish: Wish, members: Sequence[Member], machines: Mapping[str, Machine]) -> Iterator[Step]:
    staying = [member for member in members if member.action not in LEAVING]
    surplus = len(staying) - wish.target_size
    if surplus > 0:
        crowd = Counter(member.zone for member in staying)
        order = {member.name: index for index, member in enumerate(staying)}

        def worth(member: Member) -> tuple[int, int, int]:
            machine = machines.get(member.name)
            up = 0 if machine is None else 2 if machine.status == "RUNNING" else 1
            return (up, -crowd[member.zone] if wish.shape == EVEN else 0, -order[member.name])

        for member in sorted(staying, key=worth)[:surplus]:
            yield Dismiss(member.name)
    if not surplus and wish.redistributes:
        yield from _evened(wish, members)
    taken = {member.name for member in members}
    spread = Counter(member.zone for member in staying)
    for _ in range(-surplus):
        name = wish.base.next_name(taken)
        taken.add(name)
        zone = min(wish.zones, key=lambda zone: spread[zone]) if wish.shape == EVEN else ""
        spread[zone] += 1
        yield Add(name, zone)


def _evened(wish: Wish, members: Sequence[Member]) -> Iterator[Step]:
    """One goes from the fullest zone, and the next look makes another in the emptiest; one after the other."""
    if any(member.action != NONE or member.broken_at for member in members):
        return
    spread = Counter(member.zone for member in members)
    fullest = max(wish.zones, key=lambda zone: spread[zone])
    if spread[fullest] > min(spread[zone] for zone in wish.zones) + 1:
        yield Dismiss([member.name for member in members if member.zone == fullest][-1])


def _look(
    made: Plan, wish: Wish, member: Member, machine: Machine | None, spread: Mapping[str, int], now: float
) -> None:
    if member.action == ABANDONING:
        made.steps.append(Forget(member.name))
    elif member.action == DELETING:
        _remove(made, member, machine)
    elif machine is not None and machine.id == member.doomed_id:
        if not machine.leaving:
            made.steps.append(Clear(member.name))
    elif member.action == NONE:
        _watch(made, wish, member, machine, now)
    elif machine is None:
        if now >= member.retry_at:
            made.steps.append(Attempt(member.name, places(wish, member, spread)))
        else:
            made.wake(member.retry_at)
    elif machine.status == "RUNNING" and not machine.leaving:
        made.steps.append(Settle(member.name))
    elif machine.leaving or machine.status not in (*UP, *GOING):
        # It died while it was being created.
        made.steps.append(Repair(member.name, machine.id))


def _remove(made: Plan, member: Member, machine: Machine | None) -> None:
    if machine is None:
        made.steps.append(Forget(member.name))
    elif not machine.leaving:
        made.steps.append(Clear(member.name))


def _watch(made: Plan, wish: Wish, member: Member, machine: Machine | None, now: float) -> None:
    """A member that runs, as far as the group knows."""
    alive = machine is not None and not machine.leaving and machine.status in (*UP, *GOING)
    if alive:
        if member.broken_at and machine is not None and machine.status in UP:
            made.steps.append(Recover(member.name))
        return
    if not wish.repairs or (machine is not None and machine.leaving):
        return
    if not member.broken_at:
        made.steps.append(Notice(member.name))
        made.wake(now + wish.repair_seconds)
    elif now >= member.broken_at + wish.repair_seconds:
        made.steps.append(Repair(member.name, 0 if machine is None else machine.id))
    else:
        made.wake(member.broken_at + wish.repair_seconds)


def places(wish: Wish, member: Member, spread: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    """Where a member's machine may be made, and of which type: the best first."""
    if member.machine_id or (wish.shape == EVEN and member.zone):
        others = _ordered(wish, spread) if wish.may_change_zone and member.machine_id else ()
        zones = (member.zone, *(zone for zone in others if zone != member.zone))
    elif wish.shape == ANY_SINGLE_ZONE and any(spread.values()):
        zones = (max(wish.zones, key=lambda zone: spread.get(zone, 0)),)
    else:
        zones = _ordered(wish, spread)
    return tuple((zone, machine_type) for machine_type in wish.machine_types for zone in zones)


def _ordered(wish: Wish, spread: Mapping[str, int]) -> tuple[str, ...]:
    if wish.shape in (EVEN, BALANCED):
        return tuple(sorted(wish.zones, key=lambda zone: spread.get(zone, 0)))
    assert wish.shape in (ANY, ANY_SINGLE_ZONE), wish.shape
    return wish.zones
