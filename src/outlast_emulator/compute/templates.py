"""Instance templates, global and regional: made, used by groups, deleted when no group uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import links, templates_rules
from outlast_emulator.compute.resources import Resource
from outlast_emulator.compute.rules import refused
from outlast_emulator.errors import ApiError

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

KIND = "instanceTemplates"
GROUPS = "instanceGroupManagers"


class Templates:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def create(self, project: str, scope: str, body: Mapping[str, Any]) -> Resource:
        """`scope`: `global` or `regions/R`. Raises Google's refusals; a template is never changed afterwards."""
        compute = self._compute
        now = compute.clock.now()
        templates_rules.check(body, now=now, switches=compute.switches)
        document: dict[str, Any] = {
            "kind": "compute#instanceTemplate",
            "creationTimestamp": rfc3339(int(now * 1e6)),
            "description": body.get("description", ""),
            "properties": deepcopy(dict(body["properties"])),
        }
        if scope != links.GLOBAL:
            document["region"] = links.url(f"projects/{project}/{scope}")
        return compute.resources.add(KIND, project, scope, str(body["name"]), document)

    def check_unused(self, template: Resource) -> None:
        """400 while a group names it, or has a machine that it may have to make again from it."""
        for group in self._compute.resources.list(GROUPS, template.project):
            if template.path in set(used_by(group)):
                raise ApiError(
                    400,
                    "resourceInUseByAnotherResource",
                    f"The instance_template resource '{template.path}' is already being used by '{group.path}'",
                )

    def resolve(self, text: str, project: str, group_scope: str, field: str) -> Resource:
        """What a group's `instanceTemplate` names; a regional template serves only its region."""
        link = links.parse(text, KIND, project, links.GLOBAL)
        found = self._compute.resources.at(link) if link is not None else None
        if link is None:
            raise refused(field, text, "The URL is malformed.")
        if found is None:
            raise ApiError(404, "notFound", f"The resource '{link.path}' was not found")
        place = group_scope.split("/", 1)[1]
        region = links.region_of(place) if group_scope.startswith("zones/") else place
        if found.region and found.region != region:
            raise refused(field, text, f"The instance template must be global or in the region '{region}'.")
        return found


def used_by(group: Resource) -> Iterator[str]:
    """The paths of the templates that a group needs."""
    yield from (version["template"] for version in group.state.get("versions", []))
    yield from (member["template"] for member in group.state.get("members", []))
