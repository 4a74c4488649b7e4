"""Zones, regions with quotas, the project, and types of machines, accelerators and disks over HTTP: all of it is only read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import links, machine_types, places
from outlast_emulator.compute.accelerators import ACCELERATORS
from outlast_emulator.compute.machine_types import DISK_TYPES, TYPES, MachineType
from outlast_emulator.compute.model import Compute
from outlast_emulator.compute.resources import missing
from outlast_emulator.compute.serving import Document, aggregated, list_page, scope_of, served
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

EPOCH = "1969-12-31T16:00:00.000-08:00"
"""When Google says that all of these were made."""


def routes(emulator: Emulator) -> list[Route]:
    compute = emulator.compute
    table: dict[str, Operation] = {
        "zones.get": lambda request: answer(_zone(request.params["project"], _known_zone(request))),
        "zones.list": _list_zones,
        "regions.get": lambda request: answer(_region(compute, request.params["project"], _known_region(request))),
        "regions.list": lambda request: _list_regions(compute, request),
    }
    for typed in (_MACHINES, _ACCELERATORS, _DISKS):
        table.update(typed.table())
    slow = [name for name in table if name.endswith(("List", "list"))]
    return served(table, slow=slow)


def _known_zone(request: Request) -> str:
    zone = request.params["zone"]
    if zone not in places.ZONES:
        raise missing(f"projects/{request.params['project']}/zones/{zone}")
    return zone


def _known_region(request: Request) -> str:
    region = request.params["region"]
    if region not in places.REGIONS:
        raise missing(f"projects/{request.params['project']}/regions/{region}")
    return region


def _number(text: str) -> str:
    """Always the same for a name."""
    import zlib

    return str(2000 + zlib.crc32(text.encode()))


def _zone(project: str, zone: str) -> Document:
    return {
        "kind": "compute#zone",
        "id": _number(zone),
        "creationTimestamp": EPOCH,
        "name": zone,
        "description": zone,
        "status": "UP",
        "region": links.url(f"projects/{project}/regions/{places.ZONES[zone]}"),
        "selfLink": links.url(f"projects/{project}/zones/{zone}"),
        "availableCpuPlatforms": ["Intel Cascade Lake", "Intel Ice Lake", "AMD Milan"],
        "supportsPzs": False,
    }


def _list_zones(request: Request) -> Response:
    project = request.params["project"]
    documents = [_zone(project, zone) for zone in places.ZONES]
    return list_page(request, "compute#zoneList", f"projects/{project}/zones", documents)


def _region(compute: Compute, project: str, region: str) -> Document:
    return {
        "kind": "compute#region",
        "id": _number(region),
        "creationTimestamp": EPOCH,
        "name": region,
        "description": region,
        "status": "UP",
        "zones": [links.url(f"projects/{project}/zones/{zone}") for zone in places.REGIONS[region]],
        "quotas": compute.capacity.shown(project, region),
        "selfLink": links.url(f"projects/{project}/regions/{region}"),
        "supportsPzs": False,
    }


def _list_regions(compute: Compute, request: Request) -> Response:
    project = request.params["project"]
    documents = [_region(compute, project, region) for region in places.REGIONS]
    return list_page(request, "compute#regionList", f"projects/{project}/regions", documents)


class _Typed:
    """One collection of types: the same three methods for machines, accelerators and disks."""

    def __init__(
        self,
        collection: str,
        parameter: str,
        names: Callable[[str], Iterable[str]],
        document: Callable[[str, str, str], Document | None],
    ) -> None:
        self._collection = collection
        self._parameter = parameter
        self._names = names
        """Those that a zone has."""
        self._document = document
        """(project, zone, name) -> None: the zone has none."""
        self._kind = f"compute#{collection.removesuffix('s')}"

    def table(self) -> dict[str, Operation]:
        return {
            f"{self._collection}.get": self.get,
            f"{self._collection}.list": self.list_some,
            f"{self._collection}.aggregatedList": self.list_all,
        }

    def get(self, request: Request) -> Response:
        project, zone, name = request.params["project"], request.params["zone"], request.params[self._parameter]
        scope_of(request)
        found = self._document(project, zone, name)
        if found is None:
            raise missing(f"projects/{project}/zones/{zone}/{self._collection}/{name}")
        return answer(found)

    def list_some(self, request: Request) -> Response:
        project, scope = request.params["project"], scope_of(request)
        path = f"projects/{project}/{scope}/{self._collection}"
        return list_page(request, f"{self._kind}List", path, self._in_zone(project, request.params["zone"]))

    def list_all(self, request: Request) -> Response:
        project = request.params["project"]
        found = self._everywhere(project)
        scopes = places.scopes("zones")
        return aggregated(request, f"{self._kind}AggregatedList", project, self._collection, scopes, found)

    @lru_cache(4)  # noqa: B019  there is one of each kind, for ever
    def _everywhere(self, project: str) -> list[tuple[str, Document]]:
        """Thousands, of which a page shows some: made once."""
        return [(links.zone_scope(zone), one) for zone in places.ZONES for one in self._in_zone(project, zone)]

    def _in_zone(self, project: str, zone: str) -> list[Document]:
        found = (self._document(project, zone, name) for name in self._names(zone))
        return [one for one in found if one is not None]


def _machine(project: str, zone: str, name: str) -> Document | None:
    machine = machine_types.find(name)
    if machine is None or not machine_types.in_zone(machine, zone):
        return None
    shown: Document = {
        "kind": "compute#machineType",
        "id": _number(name),
        "creationTimestamp": EPOCH,
        "name": name,
        "description": _words(machine),
        "guestCpus": machine.cpus,
        "memoryMb": machine.memory_mb,
        "imageSpaceGb": 0,
        "maximumPersistentDisks": 128,
        "maximumPersistentDisksSizeGb": "263168",
        "zone": zone,
        "isSharedCpu": name in ("e2-micro", "e2-small", "e2-medium", "f1-micro", "g1-small"),
        "architecture": "ARM64" if machine_types.FAMILIES.get(machine.family, _N1).arm else "X86_64",
        "selfLink": links.url(f"projects/{project}/zones/{zone}/machineTypes/{name}"),
    }
    if machine.accelerator:
        shown["accelerators"] = [
            {"guestAcceleratorType": machine.accelerator, "guestAcceleratorCount": machine.accelerators}
        ]
    return shown


_N1 = machine_types.FAMILIES["n1"]


def _words(machine: MachineType) -> str:
    gb = machine.memory_mb / 1024
    gpus = f", {machine.accelerators} {ACCELERATORS[machine.accelerator].title} GPUs" if machine.accelerator else ""
    return f"{machine.cpus} vCPUs, {gb:g} GB RAM{gpus}"


def _accelerator(project: str, zone: str, name: str) -> Document | None:
    if not machine_types.accelerator_in_zone(name, zone):
        return None
    return {
        "kind": "compute#acceleratorType",
        "id": _number(name),
        "creationTimestamp": EPOCH,
        "name": name,
        "description": ACCELERATORS[name].title,
        "maximumCardsPerInstance": ACCELERATORS[name].cards_max,
        "zone": links.url(f"projects/{project}/zones/{zone}"),
        "selfLink": links.url(f"projects/{project}/zones/{zone}/acceleratorTypes/{name}"),
    }


def _disk(project: str, zone: str, name: str) -> Document | None:
    if name not in DISK_TYPES:
        return None
    title, size_gb, _ = DISK_TYPES[name]
    return {
        "kind": "compute#diskType",
        "id": _number(name),
        "creationTimestamp": EPOCH,
        "name": name,
        "description": title,
        "validDiskSize": "375GB-375GB" if name == "local-ssd" else "10GB-65536GB",
        "defaultDiskSizeGb": str(size_gb),
        "zone": links.url(f"projects/{project}/zones/{zone}"),
        "selfLink": links.url(f"projects/{project}/zones/{zone}/diskTypes/{name}"),
    }


def _all(names: Iterable[Any]) -> Callable[[str], Iterable[str]]:
    return lambda zone: [str(name) for name in names]


_MACHINES = _Typed("machineTypes", "machineType", _all(TYPES), _machine)
_ACCELERATORS = _Typed("acceleratorTypes", "acceleratorType", _all(ACCELERATORS), _accelerator)
_DISKS = _Typed("diskTypes", "diskType", _all(DISK_TYPES), _disk)
