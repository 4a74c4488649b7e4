"""Compute Engine's JSON API: all of its routes, and an answer for what is below its root and nobody serves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from outlast_emulator.compute import (
    api_advice,
    api_autoscalers,
    api_disks,
    api_groups,
    api_images,
    api_instance_changes,
    api_instance_groups,
    api_instance_output,
    api_instances,
    api_networks,
    api_operations,
    api_places,
    api_project,
    api_templates,
)
from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

ROOT = "/compute/v1/"
PARTS = (
    api_places,
    api_project,
    api_operations,
    api_instances,
    api_instance_changes,
    api_instance_output,
    api_disks,
    api_images,
    api_networks,
    api_advice,
    api_templates,
    api_groups,
    api_instance_groups,
    api_autoscalers,
)


def routes(emulator: Emulator) -> Iterable[Route]:
    for part in PARTS:
        yield from part.routes(emulator)
    for verb in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        yield Route("compute.unknown", verb, f"{ROOT}{{path...}}", _unserved)


def _unserved(request: Request) -> Response:
    words = f"The emulator does not implement {request.verb} {request.path}"
    raise ApiError(501, "notImplemented", words)
