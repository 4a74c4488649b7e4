"""The versions of a managed group: which template its machines are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outlast_emulator.compute import links
from outlast_emulator.compute.rules import refused
from outlast_emulator.compute.templates import KIND, Templates
from outlast_emulator.errors import not_implemented


def read(templates: Templates, project: str, scope: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a body's `versions`, or its `instanceTemplate`, name; refused if that is nothing, or not there."""
    asked = list(body.get("versions") or [])
    if not asked and body.get("instanceTemplate"):
        asked = [{"instanceTemplate": body["instanceTemplate"]}]
    if not asked:
        raise refused("resource.instanceTemplate", "", "Instance template must be specified.")
    if len(asked) > 1 or asked[0].get("targetSize"):
        raise not_implemented("instanceGroupManagers with more than one version, or a version's targetSize")
    field = "resource.versions[0].instanceTemplate" if body.get("versions") else "resource.instanceTemplate"
    template = templates.resolve(str(asked[0].get("instanceTemplate") or ""), project, scope, field)
    return [{"template": template.path, "name": asked[0].get("name", "")}]


def shown(versions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`instanceTemplate` and `versions` of the group's document."""
    found = [
        {"instanceTemplate": links.url(one["template"]), **({"name": one["name"]} if one["name"] else {})}
        for one in versions
    ]
    return {"instanceTemplate": found[0]["instanceTemplate"], "versions": found}


def address(path: str) -> tuple[str, str, str, str]:
    """Of a template's path, as `Resources.get` takes it."""
    link = links.parse(path, KIND, "", links.GLOBAL)
    assert link is not None, path
    return link.kind, link.project, link.scope, link.name
