"""Managed instance groups, zonal and regional: what may be asked of one. Who carries it out is the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import groups_rules, groups_versions, links, places, rules
from outlast_emulator.compute.groups_controller import Controller, recreated
from outlast_emulator.compute.groups_plan import ABANDONING, CREATING, DELETING, LEAVING, Member
from outlast_emulator.compute.groups_rules import Place
from outlast_emulator.compute.groups_state import KIND, Group
from outlast_emulator.compute.resources import Instance, Resource, fingerprint
from outlast_emulator.compute.rules import refused
from outlast_emulator.errors import ApiError, condition_not_met, not_implemented

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

INSTANCES_PER_CALL_MAX = 1000
SETTABLE = (
    "description",
    "targetSize",
    "distributionPolicy",
    "instanceLifecyclePolicy",
    "instanceFlexibilityPolicy",
    "updatePolicy",
    "allInstancesConfig",
    "autoHealingPolicies",
    "listManagedInstancesResults",
    "targetPools",
    "baseInstanceName",
)
"""What `patch` may change, besides the template."""


class Groups:
    """Every change is written before it returns, and carried out by the controller's next look."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        self.controller = Controller(compute)

    def get(self, project: str, scope: str, name: str) -> Group:
        return Group.of(self._compute.resources.get(KIND, project, scope, name))

    def all(self, project: str, scope: str = "") -> list[Group]:
        return [Group.of(resource) for resource in self._compute.resources.list(KIND, project, scope)]

    def place(self, scope: str) -> Place:
        kind, location = scope.split("/", 1)
        if kind == "zones":
            return Place(False, location, (location,))
        return Place(True, location, places.REGIONS[location])

    # ------------------------------------------------------------------------------------------------- the whole of it

    def create(self, project: str, scope: str, body: Mapping[str, Any]) -> Group:
        compute = self._compute
        with compute.database.write():
            versions = groups_versions.read(compute.templates, project, scope, body)
            template = compute.resources.get(*groups_versions.address(versions[0]["template"]))
            place = self.place(scope)
            document = groups_rules.filled(body, place, template.document["properties"], compute.switches)
            if place.regional:
                for zone in document["distributionPolicy"]["zones"]:
                    zone["zone"] = links.url(f"projects/{project}/zones/{zone['zone']}")
            document |= {
                "kind": "compute#instanceGroupManager",
                "creationTimestamp": rfc3339(int(compute.clock.now() * 1e6)),
                "region" if place.regional else "zone": links.url(f"projects/{project}/{scope}"),
                **groups_versions.shown(versions),
            }
            resource = compute.resources.add(KIND, project, scope, document["name"], document, {"versions": versions})
            self.controller.poke(resource.id)
        return Group.of(resource)

    def patch(self, group: Group, body: Mapping[str, Any]) -> None:
        """What is named is changed, and only that; 412 if a fingerprint is sent that is not the group's."""
        compute, place = self._compute, self.place(group.resource.scope)
        if body.get("fingerprint") and body["fingerprint"] != group_fingerprint(group):
            raise condition_not_met("fingerprint")
        with compute.database.write():
            group = self._living(group)
            wanted = {**group.document, **{key: body[key] for key in SETTABLE if key in body}}
            wanted = {key: value for key, value in wanted.items() if value is not None}
            for policy in ("instanceLifecyclePolicy", "updatePolicy", "distributionPolicy"):
                if body.get(policy):
                    wanted[policy] = {**group.document.get(policy, {}), **body[policy]}
            if "versions" in body or "instanceTemplate" in body:
                versions = groups_versions.read(compute.templates, group.resource.project, group.resource.scope, body)
                group.resource.state["versions"] = versions
            template = compute.resources.get(*groups_versions.address(group.template))
            filled = groups_rules.filled(wanted, place, template.document["properties"], compute.switches)
            for zone in filled.get("distributionPolicy", {}).get("zones", []):
                zone["zone"] = links.url(f"projects/{group.resource.project}/zones/{zone['zone']}")
            if place.regional and set(map(str, filled["distributionPolicy"]["zones"])) != set(
                map(str, group.document["distributionPolicy"]["zones"])
            ):
                raise refused("resource.distributionPolicy.zones", "", "Zones of a regional group cannot be changed.")
            group.document.update(filled | groups_versions.shown(group.resource.state["versions"]))
            if group.document["updatePolicy"]["type"] == "PROACTIVE":
                self._outdate(group)
            self._put(group)

    def delete(self, group: Group, operation: Resource) -> None:
        """All its machines go, then the group; then the operation ends. A second call waits for the same end."""
        compute = self._compute
        with compute.database.write():
            found = self._living(group)
            found.resource.state["deleting"] = operation.id
            found.document["targetSize"] = 0
            found.members = [replace(member, action=DELETING) for member in found.members]
            self._put(found)

    def resize(self, group: Group, size: int) -> None:
        groups_rules.check_size(size, group.regional, "size")
        with self._compute.database.write():
            found = self._living(group)
            found.document["targetSize"] = size
            self._put(found)

    # ---------------------------------------------------------------------------------------------------- some members

    def delete_instances(self, group: Group, urls: Sequence[str], *, skip: bool = False) -> None:
        """They are not repaired: the group is so much smaller from now on."""
        self._take_out(group, urls, DELETING, skip)

    def abandon_instances(self, group: Group, urls: Sequence[str]) -> None:
        """They go on without the group."""
        with self._compute.database.write():
            for member in self._take_out(group, urls, ABANDONING, False):
                instance = self.controller.instance(member)
                if instance is not None:
                    instance.state["by"] = ""
                    self._compute.resources.save(instance)

    def recreate_instances(self, group: Group, urls: Sequence[str]) -> None:
        self._change_named(group, urls, self._anew)

    def apply_updates(self, group: Group, urls: Sequence[str], *, everybody: bool, replacing: bool) -> None:
        """Whose template is not the group's any more is made anew; with `replacing` the others too."""

        def update(found: Group, member: Member) -> None:
            if replacing or member.template != found.template:
                self._anew(found, member)

        if everybody:
            urls = [group.instance_link(member).path for member in group.members if member.action not in LEAVING]
        self._change_named(group, urls, update)

    def create_instances(self, group: Group, names: Sequence[str]) -> None:
        """New members with the names that were asked for."""
        with self._compute.database.write():
            found = self._living(group)
            for index, name in enumerate(names):
                field = f"resource.instances[{index}].name"
                rules.check_name(name, field)
                if found.member(name) is not None:
                    raise refused(field, name, "Instance already exists in the managed instance group.")
                found.members.append(Member(name, CREATING, found.template))
            self._grow(found, len(names))
            self._put(found)

    def expire(self, instance: Instance) -> None:
        """A machine's time limit is reached: its group deletes it and, as the switch says, wants one less."""
        resource = self.controller.group_of(instance)
        if resource is None or not self._compute.switches.group_shrinks_at_deadline:
            return
        with self._compute.database.write():
            group = Group.of(resource)
            member = group.member(instance.name)
            if member is not None and member.machine_id == instance.id and member.action not in LEAVING:
                group.replace(replace(member, action=DELETING))
                self._grow(group, -1)
                self._put(group)

    # --------------------------------------------------------------------------------------------------------- parts

    def _take_out(self, group: Group, urls: Sequence[str], action: str, skip: bool) -> list[Member]:
        with self._compute.database.write():
            found = self._living(group)
            members = self._named(found, urls, skip)
            for member in members:
                found.replace(replace(member, action=action))
            self._grow(found, -len(members))
            self._put(found)
        return members

    def _change_named(self, group: Group, urls: Sequence[str], change: Callable[[Group, Member], None]) -> None:
        with self._compute.database.write():
            found = self._living(group)
            for member in self._named(found, urls, False):
                change(found, member)
            self._put(found)

    def _anew(self, group: Group, member: Member) -> None:
        instance = self.controller.instance(member)
        group.replace(recreated(member, 0 if instance is None else instance.id, group.template))

    def _outdate(self, group: Group) -> None:
        """A proactive update: all at once that may be unavailable, which the controller's looks then bring back."""
        if group.document["updatePolicy"]["mostDisruptiveAllowedAction"] != "REPLACE":
            return  # another template cannot be had without another machine
        old = [member for member in group.members if member.action not in LEAVING and member.template != group.template]
        if len(old) > int(group.document["updatePolicy"]["maxUnavailable"]["calculated"]):
            raise not_implemented("a proactive update of more machines than may be unavailable at once")
        for member in old:
            self._anew(group, member)

    def _named(self, group: Group, urls: Sequence[str], skip: bool) -> list[Member]:
        if len(urls) > INSTANCES_PER_CALL_MAX:
            why = f"The maximum number of instances per request is {INSTANCES_PER_CALL_MAX}."
            raise refused("resource.instances", len(urls), why)
        found: list[Member] = []
        for index, url in enumerate(urls):
            link = links.parse(url, "instances", group.resource.project, group.resource.scope)
            member = group.member(link.name) if link is not None else None
            here = (
                member is not None
                and link is not None
                and link.scope
                in (
                    group.resource.scope,
                    group.instance_link(member).scope,
                )
            )
            if member is None or not here or member.action in LEAVING:
                if skip:
                    continue
                why = f"The instance is not a member of the managed instance group '{group.resource.name}'."
                raise refused(f"resource.instances[{index}]", url, why)
            if member not in found:
                found.append(member)
        return found

    def _grow(self, group: Group, more: int) -> None:
        size = max(0, int(group.document["targetSize"]) + more)
        groups_rules.check_size(size, group.regional, "resource.targetSize")
        group.document["targetSize"] = size

    def _living(self, group: Group) -> Group:
        """As it is now; refused while it is being deleted."""
        found = self._compute.resources.by_id(group.resource.id)
        if found is None:
            return self.get(group.resource.project, group.resource.scope, group.resource.name)
        fresh = Group.of(found)
        if fresh.deleting:
            raise ApiError(400, "resourceNotReady", f"The resource '{found.path}' is not ready")
        return fresh

    def _put(self, group: Group) -> None:
        group.put()
        self._compute.resources.save(group.resource)
        self.controller.poke(group.resource.id)


def group_fingerprint(group: Group) -> str:
    """Of what `patch` may change: the size that a machine's end took away is none of it."""
    document = group.document
    return fingerprint({key: document.get(key) for key in SETTABLE} | {"versions": group.resource.state["versions"]})
