"""What an hour of a machine costs, part by part."""

from __future__ import annotations

from dataclasses import dataclass

from outlast.catalog.table import Catalog, Gpu, MachineType


@dataclass(frozen=True)
class Price:
    """US dollars an hour, of one machine."""

    machine: float
    gpus: float
    disk: float
    address: float

    @property
    def total(self) -> float:
        return round(self.machine + self.gpus + self.disk + self.address, 5)

    def parts(self) -> dict[str, float]:
        """Those that cost anything."""
        parts = {"machine": self.machine, "gpus": self.gpus, "disk": self.disk, "address": self.address}
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
    disk = disk_usd(catalog, what.disk_type, what.disk_gb)
    if machine is None or gpus is None or disk is None:
        return None
    return Price(machine, gpus, disk, catalog.address_usd[_model(spot)] if what.external_ip else 0.0)


def machine_usd(catalog: Catalog, machine: MachineType, region: str, *, spot: bool) -> float | None:
    """With the disks that are in it, without what is attached."""
    family = catalog.families.get(machine.family)
    offer = family.offers.get(region) if family else None
    unit = offer.price(spot) if offer else None
    if family is None or unit is None:
        return None
    return family.usd(machine, unit) + machine.ssd_gb * catalog.ssd_usd_per_gb_hour[_model(spot)]


def gpus_usd(gpu: Gpu | None, count: int, region: str, *, spot: bool) -> float | None:
    if gpu is None:
        return 0.0
    offer = gpu.offers.get(region)
    one = offer.price(spot) if offer else None
    return None if one is None else one * count


def disk_usd(catalog: Catalog, disk_type: str, disk_gb: int) -> float | None:
    """As in `us-central1`; elsewhere it is up to a third more, of a small part of the whole."""
    per_gb = catalog.disk_usd_per_gb_hour.get(disk_type)
    return None if per_gb is None else per_gb * disk_gb


def _model(spot: bool) -> str:
    return "spot" if spot else "on demand"
