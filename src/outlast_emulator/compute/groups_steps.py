"""The steps that a managed group's plan is made of: each names a member, and says what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Add:
    """A new member, to be created; in this zone, if the shape is strict about that."""

    name: str
    zone: str = ""


@dataclass(frozen=True)
class Dismiss:
    """The group is larger than it should be: this one goes."""

    name: str


@dataclass(frozen=True)
class Notice:
    """Its machine is gone: from now the delay of the repair counts."""

    name: str


@dataclass(frozen=True)
class Recover:
    """Its machine is up again, before it was repaired."""

    name: str


@dataclass(frozen=True)
class Repair:
    """To be recreated, once the machine `doomed_id` (if there is one) is deleted."""

    name: str
    doomed_id: int


@dataclass(frozen=True)
class Clear:
    """Delete the machine that stands there."""

    name: str


@dataclass(frozen=True)
class Attempt:
    """Make its machine in the first of these (zone, machine type) that has room for it."""

    name: str
    places: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Settle:
    """Its machine runs: nothing is to be done."""

    name: str


@dataclass(frozen=True)
class Forget:
    """No member any more."""

    name: str


Step = Add | Dismiss | Notice | Recover | Repair | Clear | Attempt | Settle | Forget
