"""A managed group as it is stored: its resource, read as wish, members and errors, and written back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from outlast_emulator.clock import Clock
from outlast_emulator.compute import groups_names, groups_rules, groups_shapes, links
from outlast_emulator.compute.groups_plan import Member, Wish
from outlast_emulator.compute.resources import Resource
from outlast_emulator.switches import Switches

KIND = "instanceGroupManagers"
ERRORS_MAX = 200
"""The oldest beyond this are forgotten."""

_MEMBER_FIELDS = tuple(one.name for one in fields(Member))


@dataclass
class Group:
    """Read with `Group.of`; whoever changes it calls `put` and saves the resource in the same transaction."""

    resource: Resource
    members: list[Member] = field(default_factory=list)
    attempts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Member -> the errors of its last attempt."""
    errors: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, resource: Resource) -> Group:
        state = resource.state
        members = [
            Member(**{key: one[key] for key in _MEMBER_FIELDS if key in one}) for one in state.get("members", [])
        ]
        return cls(resource, members, dict(state.get("attempts", {})), list(state.get("errors", [])))

    def put(self) -> None:
        """Into the resource, which is still to be saved."""
        self.resource.state.update(
            members=[asdict(member) for member in self.members],
            attempts={name: found for name, found in self.attempts.items() if found and self.member(name)},
            errors=self.errors[-ERRORS_MAX:],
        )

    @property
    def document(self) -> dict[str, Any]:
        return self.resource.document

    @property
    def regional(self) -> bool:
        return self.resource.scope.startswith("regions/")

    @property
    def deleting(self) -> int:
        """The number of the operation that deletes it, or 0."""
        return int(self.resource.state.get("deleting", 0))

    @property
    def template(self) -> str:
        """The path of the template that new machines are made from."""
        return str(self.resource.state["versions"][0]["template"])

    def member(self, name: str) -> Member | None:
        return next((member for member in self.members if member.name == name), None)

    def replace(self, changed: Member) -> None:
        self.members = [changed if member.name == changed.name else member for member in self.members]

    def forget(self, name: str) -> None:
        self.members = [member for member in self.members if member.name != name]

    def zones(self) -> tuple[str, ...]:
        if not self.regional:
            return (self.resource.zone,)
        return tuple(groups_rules.zone_of(one["zone"]) for one in self.document["distributionPolicy"]["zones"])

    def wish(self, properties: Mapping[str, Any], switches: Switches, clock: Clock) -> Wish:
        """`properties`: of the template."""
        document = self.document
        policy = document["instanceLifecyclePolicy"]
        base = groups_names.parse(document["baseInstanceName"])
        assert base is not None  # checked when the group was made
        ranked = [machine_type for _, types in groups_rules.selections(document) for machine_type in types]
        return Wish(
            target_size=int(document["targetSize"]),
            zones=self.zones(),
            shape=groups_rules.shape_of(document) if self.regional else groups_shapes.EVEN,
            base=base,
            machine_types=tuple(ranked) or (str(properties["machineType"]),),
            template=self.template,
            repairs=policy["defaultActionOnFailure"] == "REPAIR",
            may_change_zone=groups_rules.may_change_zone(document),
            updates_on_repair=policy["forceUpdateOnRepair"] == "YES",
            repair_seconds=clock.scaled(switches.group_repair_seconds),
            redistributes=document["updatePolicy"].get("instanceRedistributionType") == "PROACTIVE",
        )

    def instance_link(self, member: Member) -> links.Link:
        """Of its machine, also of one that is not there yet."""
        zone = member.zone or self.zones()[0]
        return links.Link(self.resource.project, links.zone_scope(zone), "instances", member.name)
