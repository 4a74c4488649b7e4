"""From what was asked to one machine that is really offered: chosen where nothing was said, checked where something was."""

from __future__ import annotations

from outlast.catalog import answers
from outlast.catalog.model import Gpu, MachineType, Offer, fits
from outlast.catalog.table import Catalog
from outlast.dataclass import dataclass
from outlast.errors import UsageError

CPUS_DEFAULT = 8
REGION_DEFAULT = "us-central1"
GPU_DEFAULT = "L4"
FORCED = "n1-standard-8"
MEMORY_PER_GPU_MEMORY = 2
"""What is loaded into a GPU was in the machine's memory first, and the next batches wait there."""


@dataclass(frozen=True)
class Wish:
    """What is empty is chosen."""

    cpus: int | None = None
    gpus: int = 0
    gpu: str = ""
    machine_type: str = ""
    regions: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    exclude_zones: tuple[str, ...] = ()
    spot: bool = True
    disk_type: str = ""
    force: bool = False
    waits: bool = False
    """In a queue for it: that brings also what is otherwise rented as Spot only."""


@dataclass(frozen=True)
class Choice:
    machine: MachineType
    gpu: Gpu | None
    gpus: int
    regions: tuple[str, ...]
    zones: tuple[str, ...]
    """Those of the regions that have the machine and that are wanted."""

    disk_type: str
    image: str
    """`PROJECT/FAMILY`, for whoever names none."""

    notes: tuple[str, ...] = ()


def choose(catalog: Catalog, wish: Wish) -> Choice:
    """UsageError: there is no such machine, count, zone or region; the answer has what there is, the cheapest first."""
    regions = _regions(catalog, wish)
    notes: tuple[str, ...] = ()
    gpu, count = _gpu(catalog, wish)
    if gpu is not None and not wish.gpu and not wish.machine_type:
        notes += (f"`--gpus {count}` names no type: {gpu.name}, the cheapest that is current",)
    if gpu is not None and gpu.note:
        notes += (gpu.note,)
    machine = _machine(catalog, wish, gpu, count, regions)
    if machine.gpu and gpu is None:
        gpu, count = catalog.gpus[machine.gpu], machine.gpus
    zones = _zones(catalog, wish, machine, gpu, count, regions)
    family = catalog.families.get(machine.family)
    disk_type = wish.disk_type or (family.disks[0] if family else "pd-balanced")
    if family is not None and disk_type not in family.disks and not wish.force:
        raise answers.wrong_disk(machine, disk_type, family.disks)
    image = catalog.image if gpu is None else gpu.image or catalog.gpus[GPU_DEFAULT].image
    if family is not None and family.architecture != "x86_64" and not wish.force:
        raise answers.wrong_architecture(machine, family.architecture)
    return Choice(machine, gpu, count, regions, zones, disk_type, image, notes)


def _regions(catalog: Catalog, wish: Wish) -> tuple[str, ...]:
    """Those of the zones, where no region is named."""
    of_zones = tuple(dict.fromkeys(zone.rpartition("-")[0] for zone in wish.zones))
    regions = wish.regions or of_zones or (REGION_DEFAULT,)
    for region in regions:
        if region not in catalog.regions and not wish.force:
            raise answers.no_region(catalog, region)
    for zone in (*wish.zones, *wish.exclude_zones):
        region = zone.rpartition("-")[0]
        if not wish.force and zone not in catalog.regions.get(region, ()):
            raise answers.no_zone(catalog, zone)
    for zone in wish.zones:
        if zone.rpartition("-")[0] not in regions:
            raise UsageError(
                f"zone `{zone}` is in none of the regions {answers.listed(regions)}",
                hint=f"`--region {zone.rpartition('-')[0]}`, or leave `--region` out",
            )
    left = tuple(region for region in regions if not wish.zones or region in of_zones)
    if len(left) < len(regions):
        idle = next(region for region in regions if region not in left)
        raise UsageError(
            f"region `{idle}` has none of the zones {answers.listed(wish.zones)}",
            hint=f"`--zone {next(iter(catalog.regions.get(idle, ())), idle + '-b')}`, or leave `--region {idle}` out",
        )
    return regions


def _gpu(catalog: Catalog, wish: Wish) -> tuple[Gpu | None, int]:
    """Which, and how many. A number alone, beside a machine that brings GPUs along, means those."""
    machine = catalog.machine(wish.machine_type) if wish.machine_type else None
    if not wish.gpus:
        return None, 0
    if not wish.gpu:
        return catalog.gpus[machine.gpu if machine and machine.gpu else GPU_DEFAULT], wish.gpus
    gpu = catalog.gpu(wish.gpu)
    if gpu is None:
        if wish.force:
            return Gpu(wish.gpu, wish.gpu.lower(), 0), wish.gpus
        raise answers.no_gpu(catalog, wish.gpu)
    if gpu.gone and not wish.force:
        raise answers.gone(gpu, wish.gpus)
    return gpu, wish.gpus


def _machine(catalog: Catalog, wish: Wish, gpu: Gpu | None, count: int, regions: tuple[str, ...]) -> MachineType:
    if not wish.machine_type:
        return _chosen(catalog, wish, gpu, count, regions)
    machine = catalog.machine(wish.machine_type)
    if machine is None:
        if wish.force:
            return unknown(wish.machine_type, wish.cpus)
        raise answers.no_machine(catalog, wish.machine_type, wish.cpus or CPUS_DEFAULT, regions[0], spot=wish.spot)
    if machine.spot_only and not (wish.spot or wish.waits or wish.force):
        raise answers.spot_only(catalog, machine)
    if gpu is not None and not wish.force:
        carried = (machine.gpu, machine.gpus) == (gpu.name, count) or fits(machine, gpu, count)
        if not carried:
            raise answers.not_carried(catalog, machine, gpu, count, regions[0], spot=wish.spot)
    if wish.cpus is not None and wish.cpus > machine.cpus and not wish.force:
        raise UsageError(
            f"`{machine.name}` has {machine.cpus} vCPUs, and `--cpus {wish.cpus}` asks for more",
            hint="leave one of them out",
        )
    return machine


def _chosen(catalog: Catalog, wish: Wish, gpu: Gpu | None, count: int, regions: tuple[str, ...]) -> MachineType:
    """The cheapest, in the first region, of those that suffice."""
    if gpu is not None:
        return _carrier(catalog, wish, gpu, count, regions[0])
    cpus = wish.cpus or CPUS_DEFAULT
    current = [
        machine
        for machine in catalog.machines()
        if catalog.families[machine.family].current and machine.cpus >= cpus and "-standard-" in machine.name
    ]
    priced = answers.by_price(catalog, current, regions[0], spot=wish.spot)
    if priced:
        return priced[0][1]
    if wish.force and current:
        return min(current, key=lambda one: one.cpus)
    raise answers.no_size(catalog, cpus, regions[0], spot=wish.spot)


def _carrier(catalog: Catalog, wish: Wish, gpu: Gpu, count: int, region: str) -> MachineType:
    carriers = [one for one in catalog.carriers(gpu, count) if one.cpus >= (wish.cpus or 1)]
    if carriers and all(one.spot_only for one in carriers) and not (wish.spot or wish.waits or wish.force):
        raise answers.spot_only(catalog, carriers[0])
    if not carriers:
        if wish.force:  # whoever insists knows better than the table what it fits into
            return catalog.machine(FORCED) or unknown(FORCED, wish.cpus)
        if not catalog.carriers(gpu, count):
            raise answers.no_count(catalog, gpu, count, region, spot=wish.spot)
        raise answers.no_size(catalog, wish.cpus or 1, region, spot=wish.spot, gpu=gpu, count=count)
    needed_gb = MEMORY_PER_GPU_MEMORY * gpu.memory_gb * count
    roomy = [one for one in carriers if one.memory_gb >= needed_gb]
    if not roomy:  # none has so much: the one that has most
        most = max(one.memory_gb for one in carriers)
        roomy = [one for one in carriers if one.memory_gb == most]
    priced = answers.by_price(catalog, roomy, region, spot=wish.spot)
    return priced[0][1] if priced else min(roomy, key=lambda one: (one.cpus, one.memory_gb))


def _zones(
    catalog: Catalog, wish: Wish, machine: MachineType, gpu: Gpu | None, count: int, regions: tuple[str, ...]
) -> tuple[str, ...]:
    found: list[str] = []
    for region in regions:
        offered = offered_zones(catalog, machine, gpu, region, spot=wish.spot)
        if offered is None or wish.force:
            if not wish.force:
                raise answers.not_there(catalog, machine, gpu, count, region, spot=wish.spot)
            found += [zone for zone in wish.zones if zone.rpartition("-")[0] == region]
            continue
        for zone in wish.zones:
            if zone.rpartition("-")[0] == region and zone not in offered:
                raise answers.not_in_zone(machine, gpu, zone, offered)
        kept = [zone for zone in offered if zone not in wish.exclude_zones and (not wish.zones or zone in wish.zones)]
        if not kept:
            raise UsageError(
                f"nothing is left of `{region}`: {answers.what(machine, gpu)} is in {answers.listed(offered)}",
                hint="exclude fewer zones, or name another `--region`",
            )
        found += kept
    if wish.force and not found and wish.exclude_zones:
        found = [zone for one in regions for zone in catalog.regions.get(one, ()) if zone not in wish.exclude_zones]
    return tuple(found)


def offered_zones(
    catalog: Catalog, machine: MachineType, gpu: Gpu | None, region: str, *, spot: bool
) -> tuple[str, ...] | None:
    """Where the region has all of it; None: nowhere."""
    offers: list[Offer] = []
    family = catalog.families.get(machine.family)
    for table in (family.offers if family else {}, gpu.offers if gpu else None):
        if table is None:
            continue
        offer = table.get(region)
        if offer is None or offer.price(spot) is None:
            return None
        offers.append(offer)
    zones = [zone for zone in offers[0].zones if all(zone in one.zones for one in offers)]
    if machine.zones is not None:  # its family is in more of them
        zones = [zone for zone in zones if zone in machine.zones.get(region, ())]
    return tuple(zones) or None


def unknown(name: str, cpus: int | None) -> MachineType:
    """A machine that is not in the catalog: what its name says of it."""
    last = name.rpartition("-")[2]
    return MachineType(name, "", cpus or (int(last) if last.isdigit() and 0 < int(last) <= 4096 else 1), 0.0)
