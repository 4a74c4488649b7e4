"""What an hour of a machine costs, part by part."""

from __future__ import annotations

from outlast.catalog.model import Gpu, MachineType
from outlast.catalog.table import Catalog
from outlast.dataclass import dataclass

LISTED_IN = "us-central1"
"""The region whose disks and addresses the table that ships has; elsewhere their prices are estimates."""


@dataclass(frozen=True)
class Price:
    """US dollars an hour, of one machine."""

    machine: float
    gpus: float
    disk: float
    address: float
    estimated: tuple[str, ...] = ()
    """Those of its parts that stand in no list that was read."""

    management: float = 0.0
    """What a service asks for that runs the machine."""

    @property
    def total(self) -> float:
        return round(self.machine + self.gpus + self.disk + self.address + self.management, 5)

    def parts(self) -> dict[str, float]:
        """Those that cost anything."""
        parts = {"machine": self.machine, "gpus": self.gpus, "disk": self.disk, "address": self.address}
        parts["management"] = self.management
        return {name: round(usd, 5) for name, usd in parts.items() if usd}


@dataclass(frozen=True)
class Billed:
    """All of a machine that is paid for."""

    machine: MachineType
    gpu: Gpu | None
    gpus: int
    disk_type: str
    disk_gb: int
    external_ip: bool


def price(catalog: Catalog, what: Billed, region: str, *, spot: bool) -> Price | None:
    """None: the catalog has no price for it there."""
    machine = machine_usd(catalog, what.machine, region, spot=spot)
    gpus = gpus_usd(what.gpu, what.gpus, region, spot=spot)
    disk = disk_usd(catalog, what.disk_type, what.disk_gb, region)
    if machine is None or gpus is None or disk is None:
        return None
    address = address_usd(catalog, spot=spot) if what.external_ip else 0.0
    return Price(machine, gpus, disk, address, tuple(_estimated(catalog, what, region)))


def _estimated(catalog: Catalog, what: Billed, region: str) -> list[str]:
    found = []
    if is_estimated(catalog, what.machine, region):
        found.append("machine")
    if what.gpu is not None and (offer := what.gpu.offers.get(region)) is not None and offer.estimated:
        found.append("gpus")
    if what.disk_gb and region != LISTED_IN and what.disk_type not in catalog.disks_of_regions.get(region, {}):
        found.append("disk")
    return found


def is_estimated(catalog: Catalog, machine: MachineType, region: str) -> bool:
    family = catalog.families.get(machine.family)
    offer = family.offers.get(region) if family else None
    return offer is not None and offer.estimated


def machine_usd(catalog: Catalog, machine: MachineType, region: str, *, spot: bool) -> float | None:
    """With the disks that are in it, without what is attached."""
    family = catalog.families.get(machine.family)
    offer = family.offers.get(region) if family else None
    usd = family.usd(machine, offer, spot=spot) if family and offer else None
    return None if usd is None else usd + machine.ssd_gb * catalog.ssd_usd_per_gb_hour[_model(spot)]


def gpus_usd(gpu: Gpu | None, count: int, region: str, *, spot: bool) -> float | None:
    if gpu is None:
        return 0.0
    offer = gpu.offers.get(region)
    one = offer.price(spot) if offer else None
    return None if one is None else one * count


def disk_usd(catalog: Catalog, disk_type: str, disk_gb: int, region: str) -> float | None:
    """As in `us-central1` where the region's own price was not read: it is up to a third more, of a small part of the whole."""
    own = catalog.disks_of_regions.get(region, {}).get(disk_type)
    per_gb = own if own is not None else catalog.disk_usd_per_gb_hour.get(disk_type)
    return None if per_gb is None else per_gb * disk_gb


def address_usd(catalog: Catalog, *, spot: bool) -> float:
    return catalog.address_usd[_model(spot)]


def _model(spot: bool) -> str:
    return "spot" if spot else "on demand"
