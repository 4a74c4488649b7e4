"""The group of a launch is made: in the first way of asking that Google does not refuse as wrong."""

from __future__ import annotations

from collections.abc import Mapping

from outlast.engines.compute import bodies
from outlast.engines.compute.group import Group
from outlast.engines.compute.requests import request_id
from outlast.engines.compute.variants import Variant, variants
from outlast.google.endpoints import Endpoints
from outlast.google.errors import ApiError

TIME_SCALE = "OUTLAST_EMULATOR_TIME_SCALE"
"""An emulator that shortens notices says so; machines must not count on more."""


def make(group: Group, endpoints: Endpoints, environ: Mapping[str, str], program: str) -> None:
    """A template of an earlier call, whoever made it, is used as it is."""
    refused: ApiError | None = None
    for number, variant in enumerate(variants(spot=group.rented.spot)):
        try:
            path = _make_template(group, variant, number, endpoints, environ, program)
        except ApiError as error:
            refused = refused or _if_wrong(error)
            continue
        for moves in (True, False):
            try:
                _make_group(group, path, moves=moves)
            except ApiError as error:
                refused = refused or _if_wrong(error)
            else:
                return
    assert refused is not None
    raise refused


def _make_template(
    group: Group, variant: Variant, number: int, endpoints: Endpoints, environ: Mapping[str, str], program: str
) -> str:
    """Its path."""
    launch, rented, client = group.launch, group.rented, group.client
    time_scale = float(environ.get(TIME_SCALE) or 1.0) if endpoints.emulated else 1.0
    metadata = bodies.metadata(
        launch,
        rented,
        storage=endpoints.storage,
        group_url=client.group_url(group.region, group.name),
        notice_seconds=variant.notice_seconds,
        time_scale=time_scale,
        environ=_machines_environ(endpoints),
        program=program,
    )
    body = bodies.template(launch, rented, variant, number, metadata, time_scale=time_scale)
    group.insert(lambda: client.insert_template(group.region, body, request_id()))
    return f"projects/{rented.project}/regions/{group.region}/instanceTemplates/{body['name']}"


def _make_group(group: Group, template: str, *, moves: bool) -> None:
    body = bodies.group(group.launch, group.rented, template, moves=moves)
    group.insert(lambda: group.client.insert_group(group.region, body, request_id()))


def _machines_environ(endpoints: Endpoints) -> dict[str, str]:
    """Where Google is, for its machines: they are on the emulator's side when we are."""
    return {"OUTLAST_EMULATOR": endpoints.storage} if endpoints.emulated else {}


def _if_wrong(error: ApiError) -> ApiError:
    """What another way of asking may mend; anything else is raised as it is."""
    if error.status != 400:
        raise error
    return error
