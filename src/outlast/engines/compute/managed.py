"""What Google says of one machine of a group (`listManagedInstances`), read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from outlast.engines.compute import names, troubles

Managed = dict[str, Any]

ON = frozenset({"RUNNING", "STOPPING"})
"""In these something of a machine runs."""

SETTLED = ("NONE", "VERIFYING", "REFRESHING")
"""What a group does with a machine that it does not replace."""


def is_there(managed: Managed) -> bool:
    """A machine that Google calls running, and that its group is not replacing."""
    return managed.get("instanceStatus") == "RUNNING" and managed.get("currentAction") in SETTLED


def is_on(managed: Managed) -> bool:
    return managed.get("instanceStatus") in ON


def rank_of(managed: Managed) -> int | None:
    return names.rank_of(str(managed.get("instance", "")).rpartition("/")[2])


def id_of(managed: Managed) -> str:
    return str(managed.get("id", ""))


def place_of(managed: Managed) -> tuple[str, str]:
    """Its zone and name."""
    parts = str(managed["instance"]).split("/")
    return parts[parts.index("zones") + 1], parts[-1]


def there_by_rank(managed: Iterable[Managed]) -> dict[int, Managed]:
    return {rank: one for one in managed if is_there(one) and (rank := rank_of(one)) is not None}


def some_may_come(managed: list[Managed]) -> bool:
    """Not all were refused for good: those that are there do without the others."""
    return any(is_there(one) or not any(it.final for it in troubles.of_managed([one])) for one in managed)
