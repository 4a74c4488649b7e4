"""Carries out what a managed group's plan says: makes and deletes machines, writes down what failed."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import groups_machine, groups_plan, links
from outlast_emulator.compute.failures import Failure
from outlast_emulator.compute.groups_plan import CREATING, DELETING, NONE, RECREATING, Machine, Member, Plan, Wish
from outlast_emulator.compute.groups_shapes import ANY, EVEN
from outlast_emulator.compute.groups_state import KIND, Group
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
from outlast_emulator.compute.resources import Instance
from outlast_emulator.errors import ApiError

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

LOOK = "groups.look"
AGENT = "service-agent@cloudservices.gserviceaccount.com"
"""In whose name Google makes and deletes the machines of groups."""
CODES = {
    400: "INVALID_FIELD_VALUE",
    403: "PERMISSIONS_ERROR",
    404: "RESOURCE_NOT_FOUND",
    409: "RESOURCE_ALREADY_EXISTS",
}
ATTEMPTS_PER_LOOK = 8
"""A look holds the database: a large group is made in several."""
ROUNDS_MAX = 10_000
"""Of one look: more steps than any group has machines; a plan that never ends is a bug."""


class Controller:
    """`look` is a task: one transaction, right also when it is done twice."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        compute.scheduler.on(LOOK, self.look)
        compute.instances.on_running.append(self.tell)
        compute.instances.on_gone.append(lambda instance, why: self.tell(instance))

    def tell(self, instance: Instance) -> None:
        """Something happened to a machine: its group looks again."""
        group = self.group_of(instance)
        if group is not None:
            self.poke(group.id)

    def group_of(self, instance: Instance) -> Any:
        """The resource of the group that made an instance, or None."""
        link = links.parse(str(instance.state.get("by") or ""), KIND, instance.project, "")
        return self._compute.resources.at(link) if link is not None else None

    def poke(self, number: int) -> None:
        self._compute.scheduler.later(0, LOOK, number=number)

    def recover(self) -> None:
        """At a start: whatever a killed emulator did not get to."""
        for group in self._compute.resources.list(KIND):
            self.poke(group.id)

    def look(self, number: int) -> None:
        compute = self._compute
        with compute.database.write() as connection:
            resource = compute.resources.by_id(number)
            if resource is None:
                return
            group = Group.of(resource)
            wake_at = self._work(connection, group)
            if group.deleting and not group.members:
                self._vanish(group)
                return
            if resource.state.get("wake"):
                compute.scheduler.cancel(resource.state["wake"])
            resource.state["wake"] = 0 if wake_at is None else compute.scheduler.at(wake_at, LOOK, number=number)
            group.put()
            compute.resources.save(resource)

    def _work(self, connection: sqlite3.Connection, group: Group) -> float | None:
        """Steps until there is none, or until others want the database too; when to look again."""
        wish, attempts = self._wish(group), 0
        for _ in range(ROUNDS_MAX):
            made = self._plan(wish, group)
            for step in made.steps:
                self._do(connection, group, wish, step)
                if isinstance(step, Attempt):
                    attempts += 1
                    if attempts >= ATTEMPTS_PER_LOOK:
                        return self._compute.clock.now()
                    if wish.shape not in (ANY, EVEN):
                        break  # where the next one may go depends on where this one went
            if not made.steps:
                return made.wake_at
        raise RuntimeError(f"the group {group.resource.path} does not come to rest")

    def _wish(self, group: Group) -> Wish:
        template = self._template(group.template)
        return group.wish(template["properties"], self._compute.switches, self._compute.clock)

    def _template(self, path: str) -> dict[str, Any]:
        link = links.parse(path, "instanceTemplates", "", links.GLOBAL)
        found = self._compute.resources.at(link) if link is not None else None
        if found is None:
            raise RuntimeError(f"the template {path} is used by a group, and gone")
        return found.document

    def _plan(self, wish: Wish, group: Group) -> Plan:
        machines = {}
        for member in group.members:
            instance = self.instance(member)
            if instance is not None:
                leaving = bool((instance.state.get("ending") or {}).get("delete"))
                machines[member.name] = Machine(instance.id, instance.status, leaving)
        return groups_plan.plan(wish, group.members, machines, self._compute.clock.now())

    def instance(self, member: Member) -> Instance | None:
        """The member's machine; a stranger of the same name is none."""
        if not member.machine_id:
            return None
        found = self._compute.resources.by_id(member.machine_id)
        return found if found is not None and found.kind == "instances" else None

    # ---------------------------------------------------------------------------------------------------------- steps

    def _do(self, connection: sqlite3.Connection, group: Group, wish: Wish, step: Step) -> None:
        now = self._compute.clock.now()
        if isinstance(step, Add):
            group.members.append(Member(step.name, CREATING, wish.template, step.zone))
            return
        member = group.member(step.name)
        assert member is not None, step
        if isinstance(step, Dismiss):
            group.replace(replace(member, action=DELETING))
        elif isinstance(step, Notice):
            group.replace(replace(member, broken_at=now))
        elif isinstance(step, Recover):
            group.replace(replace(member, broken_at=0.0))
        elif isinstance(step, Repair):
            template = wish.template if wish.updates_on_repair else member.template
            group.replace(recreated(member, step.doomed_id, template))
            self._compute.operations.done("compute.instances.repair.recreateInstance", group.instance_link(member))
        elif isinstance(step, Clear):
            self._clear(group, member)
        elif isinstance(step, Attempt):
            self._attempt(connection, group, member, step)
        elif isinstance(step, Settle):
            group.replace(replace(member, action=NONE, broken_at=0.0, retry_at=0.0))
            group.attempts.pop(member.name, None)
        elif isinstance(step, Forget):
            group.forget(member.name)

    def _clear(self, group: Group, member: Member) -> None:
        instance = self.instance(member)
        if instance is None:
            return
        operation = self._compute.operations.begin("delete", instance, user=AGENT)
        self._compute.instances.delete(instance, by=group.resource.url, operation=operation)

    def _attempt(self, connection: sqlite3.Connection, group: Group, member: Member, step: Attempt) -> None:
        compute, failures = self._compute, list[dict[str, Any]]()
        properties = self._template(member.template)["properties"]
        config = (group.document.get("allInstancesConfig") or {}).get("properties") or {}
        for zone, machine_type in groups_machine.offered(properties, step.places):
            tried = replace(member, zone=zone, machine_type=machine_type)
            operation = compute.operations.begin("insert", group.instance_link(tried), user=AGENT)
            connection.execute("SAVEPOINT attempt")
            try:
                body = groups_machine.body(properties, tried, config)
                made = compute.instances.create(
                    group.resource.project, zone, body, by=group.resource.url, operation=operation
                )
            except (ApiError, Failure) as error:
                connection.execute("ROLLBACK TO attempt")
                connection.execute("RELEASE attempt")
                failure = as_failure(error)
                compute.operations.end(operation, failure)
                failures.append(failure.error())
                self._write_down(group, tried, failure)
                continue
            connection.execute("RELEASE attempt")
            group.replace(replace(tried, machine_id=made.id, doomed_id=0, retry_at=0.0, broken_at=0.0))
            return
        retry_at = compute.clock.now() + compute.clock.scaled(compute.switches.group_retry_seconds)
        zone = member.zone or step.places[0][0]
        group.replace(replace(member, zone=zone, retry_at=retry_at, doomed_id=0))
        group.attempts[member.name] = failures

    def _write_down(self, group: Group, member: Member, failure: Failure) -> None:
        group.errors.append(
            {
                "timestamp": rfc3339(int(self._compute.clock.now() * 1e6)),
                "error": {"code": failure.code, "message": failure.message},
                "instanceActionDetails": {
                    "action": member.action,
                    "instance": group.instance_link(member).url,
                    "version": {"instanceTemplate": links.url(member.template)},
                },
            }
        )

    def _vanish(self, group: Group) -> None:
        compute = self._compute
        compute.resources.remove(group.resource)
        operation = compute.resources.by_id(group.deleting)
        if operation is not None:
            compute.operations.end(operation)


def recreated(member: Member, doomed_id: int, template: str) -> Member:
    """What a member is when its machine is to be made anew."""
    action = CREATING if member.action == CREATING and not doomed_id else RECREATING
    return replace(member, action=action, doomed_id=doomed_id, template=template, broken_at=0.0, retry_at=0.0)


def as_failure(error: ApiError | Failure) -> Failure:
    if isinstance(error, Failure):
        return error
    return Failure(CODES.get(error.status, "INTERNAL_ERROR"), error.message, error.status)
