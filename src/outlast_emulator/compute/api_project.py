"""The project as Compute Engine knows it: quotas, and metadata that all machines share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from outlast_emulator.compute import links, rules
from outlast_emulator.compute.resources import fingerprint
from outlast_emulator.compute.serving import change, served
from outlast_emulator.iam.state import PROJECT_NUMBER
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute
    from outlast_emulator.emulator import Emulator

NOTE = "project metadata"


def routes(emulator: Emulator) -> list[Route]:
    api = _Project(emulator.compute)
    return served({"projects.get": api.get, "projects.setCommonInstanceMetadata": api.set_metadata})


def items(compute: Compute) -> list[dict[str, str]]:
    """The metadata that every machine of the project sees below `project/attributes/`."""
    found: list[dict[str, str]] = json.loads(compute.database.note(NOTE) or "[]")
    return found


class _Project:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def get(self, request: Request) -> Response:
        project = request.params["project"]
        kept = items(self._compute)
        metadata = {"kind": "compute#metadata", "fingerprint": fingerprint(kept), **({"items": kept} if kept else {})}
        return answer(
            {
                "kind": "compute#project",
                "id": str(PROJECT_NUMBER),
                "creationTimestamp": "2026-01-05T08:00:00.000-08:00",
                "name": project,
                "commonInstanceMetadata": metadata,
                "quotas": self._compute.capacity.shown(project),
                "defaultServiceAccount": self._compute.default_account,
                "xpnProjectStatus": "UNSPECIFIED_XPN_PROJECT_STATUS",
                "defaultNetworkTier": "PREMIUM",
                "vmDnsSetting": "ZONAL_ONLY",
                "selfLink": links.url(f"projects/{project}"),
            }
        )

    def set_metadata(self, request: Request) -> Response:
        body = request.json()
        wanted = rules.check_metadata(body, "metadata")
        compute, project = self._compute, request.params["project"]
        rules.check_fingerprint(body.get("fingerprint"), fingerprint(items(compute)), "metadata")
        target = links.Link(project, links.GLOBAL, "projects", project)

        def act() -> None:
            compute.database.keep_note(NOTE, json.dumps(wanted))
            compute.contents.project_changed(wanted)

        return change(compute, request, "compute.projects.setCommonInstanceMetadata", target, act)
