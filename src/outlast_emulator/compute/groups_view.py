"""How a managed group, its machines and its errors look in an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from outlast_emulator.compute import links
from outlast_emulator.compute.groups import group_fingerprint
from outlast_emulator.compute.groups_plan import ABANDONING, DELETING, LEAVING, NONE, Member
from outlast_emulator.compute.groups_state import Group
from outlast_emulator.compute.resources import Instance

ACTIONS = (
    "abandoning",
    "creating",
    "creatingWithoutRetries",
    "deleting",
    "none",
    "recreating",
    "refreshing",
    "restarting",
    "resuming",
    "starting",
    "stopping",
    "suspending",
    "verifying",
)


def shown(group: Group) -> dict[str, Any]:
    document = {**group.document, "fingerprint": group_fingerprint(group)}
    counted = Counter(member.action.lower() for member in group.members)
    document["currentActions"] = {action: counted.get(action, 0) for action in ACTIONS}
    document["instanceGroup"] = group_link(group)
    document["status"] = {
        "isStable": is_stable(group),
        "versionTarget": {"isReached": all(member.template == group.template for member in group.members)},
        "stateful": {"hasStatefulConfig": bool(group.document.get("statefulPolicy"))},
        "allInstancesConfig": {"effective": True},
    }
    return document


def group_link(group: Group) -> str:
    resource = group.resource
    return links.Link(resource.project, resource.scope, "instanceGroups", resource.name).url


def is_stable(group: Group) -> bool:
    """Every machine runs, as many as there should be, and nothing is under way."""
    settled = all(member.action == NONE and not member.broken_at for member in group.members)
    return settled and not group.deleting and len(group.members) == int(group.document["targetSize"])


def instance_group(group: Group, network: str) -> dict[str, Any]:
    """The unmanaged face of the same group, which `instanceGroups` shows."""
    document = group.document
    place = "region" if group.regional else "zone"
    return {
        "kind": "compute#instanceGroup",
        "id": document["id"],
        "creationTimestamp": document["creationTimestamp"],
        "name": group.resource.name,
        "description": f"This instance group is controlled by Instance Group Manager '{group.resource.name}'.",
        "network": network,
        "fingerprint": "42WmSpB8rSM=",
        "selfLink": group_link(group),
        "size": sum(1 for member in group.members if member.machine_id),
        place: document[place],
    }


def managed(group: Group, member: Member, instance: Instance | None) -> dict[str, Any]:
    """One element of `listManagedInstances`."""
    found: dict[str, Any] = {
        "instance": group.instance_link(member).url,
        "name": member.name,
        "currentAction": member.action,
        "targetStatus": {DELETING: "DELETED", ABANDONING: "ABANDONED"}.get(member.action, "RUNNING"),
    }
    if member.action not in LEAVING:
        found["version"] = {"instanceTemplate": links.url(member.template)}
    if instance is not None:
        found |= {"id": str(instance.id), "instanceStatus": instance.status}
        ends_at = instance.document.get("resourceStatus", {}).get("scheduling", {}).get("terminationTimestamp")
        if ends_at:
            found["scheduling"] = {"terminationTimestamp": ends_at}
    errors = group.attempts.get(member.name)
    if errors:
        found["lastAttempt"] = {"errors": {"errors": errors}}
    if group.document.get("instanceFlexibilityPolicy") and member.machine_type:
        found["propertiesFromFlexibilityPolicy"] = {"machineType": member.machine_type}
    return found


def errors(group: Group) -> Sequence[dict[str, Any]]:
    """The youngest first."""
    return list(reversed(group.errors))
