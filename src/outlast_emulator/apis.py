"""The list of APIs and of the steps before them: what stands here is served.

An API is a function from the emulator to its routes, a step maker one from the emulator to its step (`chain.Step`). Both are
called once, when the emulator starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from outlast_emulator import inflate
from outlast_emulator.chain import Step
from outlast_emulator.compute import api as compute_api
from outlast_emulator.compute import control as compute_control
from outlast_emulator.compute import groups_control
from outlast_emulator.control import faults, record, surface
from outlast_emulator.discovery import validate
from outlast_emulator.emulator import Emulator
from outlast_emulator.iam import authorize, endpoints
from outlast_emulator.iap import api as iap_api
from outlast_emulator.logging_api import entries_api
from outlast_emulator.machines import world
from outlast_emulator.project import enabled, project_apis
from outlast_emulator.registry import api as registry_api
from outlast_emulator.registry import repositories
from outlast_emulator.routes import Route
from outlast_emulator.storage import batch, json_api, xml_api
from outlast_emulator.vertex import api as vertex_api
from outlast_emulator.vertex import control as vertex_control
from outlast_emulator.vertex import quotas_api as vertex_quotas

APIS: tuple[Callable[[Emulator], Iterable[Route]], ...] = (
    surface.routes,
    json_api.routes,
    batch.routes,
    endpoints.routes,
    project_apis.routes,
    compute_api.routes,
    compute_control.routes,
    groups_control.routes,
    world.routes,
    iap_api.routes,
    registry_api.routes,
    repositories.routes,
    vertex_api.routes,
    vertex_control.routes,
    vertex_quotas.routes,
    entries_api.routes,
    validate.routes,  # 501 for what Google has and nobody above has
    xml_api.routes,  # whatever path is left is a bucket's
)

STEPS: tuple[Callable[[Emulator], Step], ...] = (
    record.step,
    faults.step,
    inflate.step,
    authorize.step,
    enabled.step,
    validate.step,
)
"""Outermost first."""
