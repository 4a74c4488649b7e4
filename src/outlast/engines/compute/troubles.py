"""What a group says about machines that it cannot make, as a person can read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from outlast.dataclass import dataclass

CAPACITY = frozenset(
    {
        "ZONE_RESOURCE_POOL_EXHAUSTED",
        "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
        "REGION_RESOURCE_POOL_EXHAUSTED",
        "RESOURCE_POOL_EXHAUSTED",
        "STOCKOUT",
    }
)
QUOTA = frozenset({"QUOTA_EXCEEDED", "QUOTA_LIMIT_EXCEEDED", "LIMIT_EXCEEDED"})
FINAL = frozenset(
    {
        "RESOURCE_NOT_FOUND",
        "INVALID_FIELD_VALUE",
        "INVALID_USAGE",
        "UNSUPPORTED_OPERATION",
        "FORBIDDEN",
        "PERMISSIONS_ERROR",
        "CONDITION_NOT_MET",
    }
)
"""No waiting mends these: no such image, no right to the service account, a policy of the organisation's."""

MESSAGE_CHARACTERS_MAX = 400


@dataclass(frozen=True)
class Trouble:
    code: str
    message: str
    zone: str = ""

    @property
    def final(self) -> bool:
        return self.code in QUOTA or self.code in FINAL


def of_managed(managed: Iterable[Mapping[str, Any]]) -> list[Trouble]:
    """The last attempt's, of every machine that is not there."""
    found = []
    for one in managed:
        errors = one.get("lastAttempt", {}).get("errors", {}).get("errors", [])
        zone = _zone(str(one.get("instance", "")))
        found += [Trouble(str(error.get("code", "")), str(error.get("message", "")), zone) for error in errors]
    return found


def of_operation(operation: Mapping[str, Any]) -> list[Trouble]:
    errors = operation.get("error", {}).get("errors", [])
    return [Trouble(str(error.get("code", "")), str(error.get("message", ""))) for error in errors]


def told(troubles: Iterable[Trouble]) -> str:
    """In one line: quota before capacity before the rest; each zone once."""
    ordered = sorted(troubles, key=lambda one: (one.code not in QUOTA, one.code not in CAPACITY))
    if not ordered:
        return ""
    first = ordered[0]
    if first.code in CAPACITY:
        zones = sorted({one.zone for one in ordered if one.code in CAPACITY and one.zone})
        where = f" in {', '.join(f'`{zone}`' for zone in zones)}" if zones else ""
        return f"for capacity{where}: {_short(first.message)} ({first.code})"
    return f"{_short(first.message)} ({first.code})"


def _short(message: str) -> str:
    return " ".join(message.split())[:MESSAGE_CHARACTERS_MAX]


def _zone(url: str) -> str:
    parts = url.split("/")
    return parts[parts.index("zones") + 1] if "zones" in parts[:-1] else ""
