"""What of ours is at Compute Engine, in every region and zone, by its labels: what it is, what it costs, and how it goes away."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from outlast.catalog.prices import address_usd, disk_usd, gpus_usd, machine_usd
from outlast.catalog.table import catalog
from outlast.engines.compute import names
from outlast.engines.compute.image_bodies import BUILDER, LIMIT_SECONDS
from outlast.engines.engine import Found
from outlast.google.compute import ComputeClient
from outlast.google.connect import connect
from outlast.google.errors import MEMBER_HINT, ApiError, translated, unreachable
from outlast.google.project import project_of
from outlast.google.wire import NoAnswer

Document = Mapping[str, Any]

STOPPED = frozenset({"TERMINATED", "STOPPED", "SUSPENDED"})
HOURS_A_MONTH = 730.0
IMAGE_USD_PER_GB_HOUR = 0.05 / HOURS_A_MONTH
URL_KINDS = {
    "machine": "instances",
    "disk": "disks",
    "group": "instanceGroupManagers",
    "template": "instanceTemplates",
    "image": "images",
}


class ComputeAuditor:
    def __init__(self, project: str = "", environ: Mapping[str, str] = os.environ) -> None:
        self._project = project
        self._environ = environ

    @cached_property
    def client(self) -> ComputeClient:
        transport = connect(self._environ)
        return ComputeClient(transport, project_of(self._project, self._environ, transport))

    def now(self) -> float:
        return self.client.transport.now()

    def found(self) -> Iterator[Found]:
        try:
            yield from map(_group, self.client.aggregated("instanceGroupManagers", names.MARK))
            yield from map(_machine, self.client.aggregated("instances", names.MARK))
            yield from map(_disk, self.client.aggregated("disks", names.MARK))
            yield from map(_template, self.client.aggregated("instanceTemplates", names.MARK))
            yield from map(_image, self.client.list_images(names.MARK))
        except ApiError as error:
            raise translated(error, f"looking through project `{self.client.project}`", granted=MEMBER_HINT) from error
        except NoAnswer as error:
            raise unreachable(error, "looking through all regions") from error

    def remove(self, found: Found) -> None:
        scope = _scope(found)
        try:
            operation = self.client.delete_in(scope, URL_KINDS[found.kind], found.name, str(uuid.uuid4()))
            while operation.get("status") != "DONE":
                operation = self.client.wait_in(scope, str(operation["name"]))
        except ApiError as error:
            if error.status != 404:
                raise translated(
                    error, f"removing {found.kind} `{found.name}` in `{found.place}`", granted=MEMBER_HINT
                ) from error
        except NoAnswer as error:
            raise unreachable(error, f"removing {found.kind} `{found.name}`") from error


def _scope(found: Found) -> tuple[str, ...]:
    if found.place == "global":
        return ("global",)
    is_zone = found.place.count("-") == 2
    return ("zones" if is_zone else "regions", found.place)


def _group(one: Document) -> Found:
    labels = one.get("allInstancesConfig", {}).get("properties", {}).get("labels", {})
    detail = f"keeps {one.get('targetSize', '?')} alive"
    return _found("group", one, labels, 0.0, detail)


def _machine(one: Document) -> Found:
    spot = one.get("scheduling", {}).get("provisioningModel") == "SPOT"
    status = str(one.get("status", "")).lower()
    machine_type = _last(one.get("machineType", ""))
    stopped = one.get("status") in STOPPED
    usd = 0.0 if stopped else _machine_usd(one, machine_type, spot)
    addresses = 0 if stopped else _addresses(one)
    detail = f"{machine_type}{', Spot' if spot else ''}{', with an address' if addresses else ''}, {status}"
    more = addresses * address_usd(catalog(), spot=spot)
    return replace(_found("machine", one, one.get("labels", {}), (usd or 0.0) + more, detail), unpriced=usd is None)


def _machine_usd(one: Document, machine_type: str, spot: bool) -> float | None:
    """None: the catalog does not know it, or what is attached to it."""
    table = catalog()
    known = table.machine(machine_type)
    region = _place(one).rpartition("-")[0]
    usd = machine_usd(table, known, region, spot=spot) if known is not None else None
    gpus = {table.gpus[known.gpu].cloud_name: known.gpus} if known is not None and known.gpu else {}
    for attached in one.get("guestAccelerators", []):  # those that are part of the type are listed too, or are not
        gpus[_last(attached.get("acceleratorType", ""))] = int(attached.get("acceleratorCount", 1))
    for name, count in gpus.items():
        gpu = table.gpu(name)
        more = gpus_usd(gpu, count, region, spot=spot) if gpu is not None else None
        usd = None if usd is None or more is None else usd + more
    return usd


def _addresses(one: Document) -> int:
    """External ones: they are paid for by the hour, while the machine runs."""
    return sum(len(interface.get("accessConfigs", [])) for interface in one.get("networkInterfaces", []))


def _disk(one: Document) -> Found:
    size_gb = int(one.get("sizeGb", 0))
    region = _place(one).rpartition("-")[0]
    usd = disk_usd(catalog(), _last(one.get("type", "")), size_gb, region)
    users = [_last(user) for user in one.get("users", [])]
    owner = f"of {users[0]}" if users else "of no machine"
    return replace(
        _found("disk", one, one.get("labels", {}), usd or 0.0, f"{size_gb} GB, {owner}"), unpriced=usd is None
    )


def _template(one: Document) -> Found:
    return _found("template", one, one.get("properties", {}).get("labels", {}), 0.0, "costs nothing")


def _image(one: Document) -> Found:
    stored_gb = int(one.get("archiveSizeBytes", 0)) / 1e9
    detail = f"{stored_gb:.1f} GB, family {one.get('family', 'none')}"
    return _found("image", one, {}, stored_gb * IMAGE_USD_PER_GB_HOUR, detail, kept=True)


def _found(
    kind: str, one: Document, labels: Mapping[str, str], usd: float, detail: str, *, kept: bool = False
) -> Found:
    return Found(
        kind=kind,
        name=str(one.get("name", "")),
        place=_place(one),
        usd_per_hour=round(usd, 5),
        made_at=_made_at(one),
        home=labels.get(names.HOME_LABEL, ""),
        job=labels.get(names.JOB_LABEL, ""),
        launch=labels.get(names.LAUNCH_LABEL, ""),
        detail=detail,
        kept=kept,
        until_at=_made_at(one) + LIMIT_SECONDS if labels.get(names.KIND_LABEL) == BUILDER else 0.0,
    )


def _place(one: Document) -> str:
    return _last(one.get("zone") or one.get("region") or "") or "global"


def _last(url: str) -> str:
    return url.rpartition("/")[2]


def _made_at(one: Document) -> float:
    try:
        return datetime.fromisoformat(str(one["creationTimestamp"]).replace("Z", "+00:00")).timestamp()
    except (KeyError, ValueError):
        return 0.0
