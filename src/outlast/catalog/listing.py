"""The table as lists that a person can read, each sorted by price: accelerators, machines, regions, images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from outlast.catalog.answers import by_price, by_price_of
from outlast.catalog.choose import CPUS_DEFAULT, offered_zones
from outlast.catalog.model import Gpu, MachineType, Tpu
from outlast.catalog.prices import gpus_usd, is_estimated, machine_usd
from outlast.catalog.table import Catalog
from outlast.dataclass import dataclass


@dataclass(frozen=True)
class Accelerator:
    """A type of GPU or TPU, where it is cheapest, or where it was asked for."""

    name: str
    kind: str
    """`gpu` or `tpu`."""

    memory_gb: int
    counts: tuple[int, ...]
    region: str
    zones: tuple[str, ...]
    machine: str
    """The cheapest that has the smallest number of it, or so many as were asked for; of a TPU its name with that number."""

    count: int
    usd: float | None
    usd_spot: float | None
    """US dollars an hour of that machine with all that is in it; None: not to be had so."""

    usd_each: float | None
    usd_each_spot: float | None
    """Of one of them alone."""

    estimated: bool
    regions: int
    """How many have it."""

    note: str = ""


@dataclass(frozen=True)
class Machine:
    name: str
    cpus: int
    memory_gb: float
    gpu: str
    gpus: int
    architecture: str
    region: str
    zones: tuple[str, ...]
    usd: float | None
    usd_spot: float | None
    """With its GPUs; without a disk and an address."""

    estimated: bool


@dataclass(frozen=True)
class Region:
    name: str
    zones: tuple[str, ...]
    """Those that have the machine."""

    machine: str
    usd: float | None
    usd_spot: float | None
    estimated: bool


@dataclass(frozen=True)
class Image:
    family: str
    project: str
    newest: str
    """What it meant when it was last looked up; empty: it was not."""

    boots: tuple[str, ...]
    """The GPUs whose machines boot it if nothing else is said, `none` for those without."""


def accelerators(
    catalog: Catalog, region: str = "", wanted: Gpu | Tpu | None = None, count: int = 0
) -> list[Accelerator]:
    """One row for each type, where it is cheapest; of one that is wanted a row for each region, with so many of it."""
    found: list[Accelerator] = []
    every: list[Gpu | Tpu] = [*(one for one in catalog.gpus.values() if not one.gone), *catalog.tpus.values()]
    for one in every:
        if wanted is not None and one.name != wanted.name:
            continue
        places = [region] if region else list(one.offers)
        rows = [row for place in places if (row := _accelerator(catalog, one, place, count)) is not None]
        rows.sort(key=lambda row: _price(row.usd_spot, row.usd, row.name))
        found += rows if wanted is not None else rows[:1]
    return sorted(found, key=lambda row: _price(row.usd_spot, row.usd, f"{row.name} {row.region}"))


def _accelerator(catalog: Catalog, one: Gpu | Tpu, region: str, wanted_count: int) -> Accelerator | None:
    offer = one.offers.get(region)
    counts = one.counts if isinstance(one, Tpu) else tuple(catalog.counts(one))
    if offer is None or not counts:
        return None
    count = wanted_count or counts[0]
    usd: float | None
    usd_spot: float | None
    if isinstance(one, Tpu):
        machine, estimated, zones = one.accelerator(count), offer.estimated, offer.zones
        usd, usd_spot = (each and each * count for each in (offer.usd, offer.usd_spot))
    else:
        cheapest = [*by_price_of(catalog, one, count, region, spot=True)[:1]] or [
            *by_price_of(catalog, one, count, region, spot=False)[:1]
        ]
        if not cheapest:
            return None
        carrier = cheapest[0][1]
        machine, estimated = carrier.name, offer.estimated or is_estimated(catalog, carrier, region)
        zones = offered_zones(catalog, carrier, one, region, spot=offer.usd_spot is not None) or ()
        usd, usd_spot = (_whole(catalog, carrier, one, count, region, spot=spot) for spot in (False, True))
        usd = None if carrier.spot_only else usd
    return Accelerator(
        name=one.name,
        kind="tpu" if isinstance(one, Tpu) else "gpu",
        memory_gb=one.memory_gb,
        counts=counts,
        region=region,
        zones=zones,
        machine=machine,
        count=count,
        usd=usd,
        usd_spot=usd_spot,
        usd_each=offer.usd,
        usd_each_spot=offer.usd_spot,
        estimated=estimated,
        regions=len(one.offers),
        note="" if isinstance(one, Tpu) else one.note,
    )


def machines(catalog: Catalog, region: str, gpu: Gpu | None = None, count: int = 0) -> list[Machine]:
    """All that the region has; with a GPU those that can have it, with each number of it or with `count`."""
    found = []
    for machine, attached, number in _combinations(catalog, gpu, count):
        zones = offered_zones(catalog, machine, attached, region, spot=False)
        zones = zones or offered_zones(catalog, machine, attached, region, spot=True)
        if zones is None:
            continue
        offer = attached.offers.get(region) if attached else None
        usd = None if machine.spot_only else _whole(catalog, machine, attached, number, region, spot=False)
        found.append(
            Machine(
                name=machine.name,
                cpus=machine.cpus,
                memory_gb=machine.memory_gb,
                gpu=attached.name if attached else "",
                gpus=number,
                architecture=catalog.families[machine.family].architecture,
                region=region,
                zones=zones,
                usd=usd,
                usd_spot=_whole(catalog, machine, attached, number, region, spot=True),
                estimated=is_estimated(catalog, machine, region) or (offer is not None and offer.estimated),
            )
        )
    return sorted(found, key=lambda row: _price(row.usd_spot, row.usd, f"{row.cpus:04d} {row.name}"))


def _combinations(catalog: Catalog, gpu: Gpu | None, count: int) -> Iterator[tuple[MachineType, Gpu | None, int]]:
    if gpu is None:
        for machine in catalog.machines():
            yield machine, catalog.gpus.get(machine.gpu), machine.gpus
        return
    for number in [count] if count else catalog.counts(gpu):
        for machine in catalog.carriers(gpu, number):
            yield machine, gpu, number


def regions(catalog: Catalog, gpu: Gpu | None = None, count: int = 0) -> list[Region]:
    """Where what a job rents who asks for nothing, or for this GPU, is to be had; the cheapest first."""
    found = []
    for region in catalog.regions:
        machine = example(catalog, region, gpu, count or 1)
        if machine is None:
            continue
        number = (count or 1) if gpu is not None else 0
        zones = offered_zones(catalog, machine, gpu, region, spot=False) or ()
        offer = gpu.offers.get(region) if gpu else None
        found.append(
            Region(
                name=region,
                zones=zones,
                machine=machine.name,
                usd=None if machine.spot_only else _whole(catalog, machine, gpu, number, region, spot=False),
                usd_spot=_whole(catalog, machine, gpu, number, region, spot=True),
                estimated=is_estimated(catalog, machine, region) or (offer is not None and offer.estimated),
            )
        )
    return sorted(found, key=lambda row: _price(row.usd_spot, row.usd, row.name))


def example(catalog: Catalog, region: str, gpu: Gpu | None, count: int) -> MachineType | None:
    """The cheapest there: of eight vCPUs, or with that GPU."""
    priced: Iterable[tuple[float, MachineType]]
    if gpu is not None:
        priced = by_price_of(catalog, gpu, count, region, spot=True) or by_price_of(
            catalog, gpu, count, region, spot=False
        )
    else:
        usual = [one for one in catalog.machines() if catalog.families[one.family].current and "-standard-" in one.name]
        priced = by_price(catalog, [one for one in usual if one.cpus == CPUS_DEFAULT], region, spot=True)
    return next((machine for _, machine in priced), None)


def images(catalog: Catalog) -> list[Image]:
    found = []
    for family, project in catalog.images.items():
        path = f"{project}/{family}"
        gpus = tuple(one.name for one in catalog.gpus.values() if one.image == path and not one.gone)
        boots = (*(("none",) if catalog.image == path else ()), *gpus)
        found.append(Image(family, project, catalog.newest_images.get(family, ""), boots))
    return sorted(found, key=lambda row: (not row.boots, row.family))


def _whole(
    catalog: Catalog, machine: MachineType, gpu: Gpu | None, count: int, region: str, *, spot: bool
) -> float | None:
    usd = machine_usd(catalog, machine, region, spot=spot)
    more = gpus_usd(gpu, count, region, spot=spot)
    return None if usd is None or more is None else round(usd + more, 5)


def _price(usd_spot: float | None, usd: float | None, name: str) -> tuple[float, str]:
    """As Spot; what is not to be had so by its price on demand."""
    known = usd_spot if usd_spot is not None else usd
    return (float("inf") if known is None else round(known, 6), name)
