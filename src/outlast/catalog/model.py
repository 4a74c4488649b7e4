"""What can be rented, in types: machines and their families, GPUs, TPUs, and what a region has of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from outlast.dataclass import dataclass


@dataclass(frozen=True)
class Offer:
    """What a region has of something, and for how much an hour."""

    zones: tuple[str, ...]
    usd: float
    usd_spot: float | None
    """None: not as Spot."""

    estimated: bool = False
    """Nobody has read this price of a list: it follows from other regions', or from an older list."""

    memory_share: float | None = None
    memory_share_spot: float | None = None
    """Of a family's unit, where Google's own list was read: its memory's part of the price; None: as everywhere."""

    def price(self, spot: bool) -> float | None:
        return self.usd_spot if spot else self.usd

    def share(self, spot: bool) -> float | None:
        return self.memory_share_spot if spot else self.memory_share


@dataclass(frozen=True)
class MachineType:
    name: str
    family: str
    cpus: int
    memory_gb: float
    gpu: str = ""
    """What it brings along; empty: nothing, or what is attached to it."""

    gpus: int = 0
    ssd_gb: int = 0
    """Disks of its own, which are paid for too."""

    spot_only: bool = False
    billed_cpus: float = 0.0
    """Of one that shares its cores with others: the part of them that is paid for; 0: all of them."""

    zones: Mapping[str, tuple[str, ...]] | None = None
    """Region -> where it really is, if that is less than where its family is; None: there."""


@dataclass(frozen=True)
class Family:
    """Machines that differ in size alone. `offers` are of its unit: so many vCPUs with so much memory."""

    name: str
    disks: tuple[str, ...]
    """That it can boot from; the first is what suits it."""

    unit_cpus: int
    unit_gb: float
    memory_share: float
    """Of the unit's price, what is paid for memory."""

    machines: Mapping[str, MachineType]
    offers: Mapping[str, Offer]
    current: bool = False
    """One of those from which a machine is chosen for whoever asks for none."""

    architecture: str = "x86_64"
    custom_gb: tuple[float, float] | None = None
    """Least and most memory per vCPU of its custom types; None: it has none."""

    def usd(self, machine: MachineType, offer: Offer, *, spot: bool) -> float | None:
        """What the machine costs where the unit costs what the offer says; None: it is not to be had so."""
        price, share = offer.price(spot), offer.share(spot)
        if price is None:
            return None
        if share is None:
            share = self.memory_share
        cpus = machine.billed_cpus or machine.cpus
        return price * ((1 - share) * cpus / self.unit_cpus + share * machine.memory_gb / self.unit_gb)


@dataclass(frozen=True)
class Gpu:
    name: str
    cloud_name: str
    memory_gb: int
    offers: Mapping[str, Offer] = field(default_factory=dict)
    """Of one of them."""

    attached_to: str = ""
    """The family that it is attached to; empty: it comes with machines of its own."""

    limits: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    """Where it is attached: how many there can be, and the most vCPUs and memory with so many."""

    gone: str = ""
    """Why it cannot be rented any more."""

    note: str = ""
    """What one should know of an older one."""

    successor: str = ""
    image: str = ""
    """Its `PROJECT/FAMILY` with a driver that fits."""


@dataclass(frozen=True)
class Tpu:
    name: str
    cloud_name: str
    """What stands before the size in the name of an accelerator: `v5litepod` of `v5litepod-8`."""

    memory_gb: int
    """Of one chip."""

    counts: tuple[int, ...]
    """How many chips there can be together."""

    offers: Mapping[str, Offer]
    """Of one chip, with its part of a machine."""

    cores: int = 1
    """What a chip counts for in the name of an accelerator: `v5p-8` is four chips of two cores."""

    def accelerator(self, chips: int) -> str:
        return f"{self.cloud_name}-{chips * self.cores}"


def fits(machine: MachineType, gpu: Gpu, count: int) -> bool:
    """Whether so many can be attached to it."""
    cpus, gb = gpu.limits.get(count, (0, 0.0))
    return machine.family == gpu.attached_to and machine.cpus <= cpus and machine.memory_gb <= gb
