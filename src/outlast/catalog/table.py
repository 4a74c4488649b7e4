"""The table that ships with the tool: `table.json`, read once, and what one looks up in it."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("table.json")

_CUSTOM = re.compile(r"(?:(?P<family>[a-z0-9]+)-)?custom-(?P<cpus>[0-9]{1,4})-(?P<mb>[0-9]{1,8})(?P<extended>-ext)?")


@dataclass(frozen=True)
class Offer:
    """What a region has of something, and for how much an hour."""

    zones: tuple[str, ...]
    usd: float
    usd_spot: float | None
    """None: not as Spot."""

    def price(self, spot: bool) -> float | None:
        return self.usd_spot if spot else self.usd


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

    def usd(self, machine: MachineType, price: float) -> float:
        """What the machine costs where the unit costs `price`."""
        memory = self.memory_share * machine.memory_gb / self.unit_gb
        return price * ((1 - self.memory_share) * machine.cpus / self.unit_cpus + memory)


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


class Catalog:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self.dated: str = document["dated"]
        self.regions: dict[str, tuple[str, ...]] = {
            region: tuple(f"{region}-{letter}" for letter in letters) for region, letters in document["zones"].items()
        }
        self.families = {name: self._family(name, one) for name, one in document["families"].items()}
        self.gpus = {name: self._gpu(name, one) for name, one in document["gpus"].items()}
        self.disk_usd_per_gb_hour: dict[str, float] = document["disks"]
        self.images: dict[str, str] = document["images"]
        """Family -> the project that publishes it."""

        self.image: str = document["image"]
        """What a machine without GPUs boots, `PROJECT/FAMILY`."""

        self.address_usd: dict[str, float] = document["address"]
        self.ssd_usd_per_gb_hour: dict[str, float] = document["ssd"]

    def machine(self, name: str) -> MachineType | None:
        """By its name; custom types by what their name says."""
        for family in self.families.values():
            if name in family.machines:
                return family.machines[name]
        custom = _CUSTOM.fullmatch(name)
        return self._custom(name, custom) if custom else None

    def machines(self) -> Iterator[MachineType]:
        for family in self.families.values():
            yield from family.machines.values()

    def gpu(self, name: str) -> Gpu | None:
        """By its name, in any case, or by the cloud's."""
        plain = name.lower().removeprefix("nvidia-").removeprefix("tesla-").replace("_", "-")
        for gpu in self.gpus.values():
            theirs = gpu.cloud_name.removeprefix("nvidia-").removeprefix("tesla-")
            if plain in (gpu.name.lower(), theirs) or plain == gpu.name.lower().replace("-", ""):
                return gpu
        return None

    def carriers(self, gpu: Gpu, count: int) -> list[MachineType]:
        """Machines that can have exactly so many of it."""
        if not gpu.attached_to:
            return [one for one in self.machines() if one.gpu == gpu.name and one.gpus == count]
        if count not in gpu.limits:
            return []
        return [one for one in self.families[gpu.attached_to].machines.values() if fits(one, gpu, count)]

    def counts(self, gpu: Gpu) -> list[int]:
        if gpu.attached_to:
            return sorted(gpu.limits)
        return sorted({one.gpus for one in self.machines() if one.gpu == gpu.name})

    def _custom(self, name: str, typed: re.Match[str]) -> MachineType | None:
        family = self.families.get(typed["family"] or "n1")
        cpus, memory_gb = int(typed["cpus"]), int(typed["mb"]) / 1024
        if family is None or family.custom_gb is None or cpus < 1 or int(typed["mb"]) % 256:
            return None
        least, most = family.custom_gb
        legal = least * cpus <= memory_gb and (typed["extended"] is not None or memory_gb <= most * cpus)
        return MachineType(name, family.name, cpus, memory_gb) if legal and (cpus == 1 or cpus % 2 == 0) else None

    def _family(self, name: str, one: Mapping[str, Any]) -> Family:
        machines: dict[str, MachineType] = {}
        for shape, (gb, sizes) in one.get("shapes", {}).items():
            for cpus in sizes:
                machine = f"{name}-{shape}-{cpus}"
                machines[machine] = MachineType(machine, name, cpus, cpus * gb)
        for machine, (cpus, gb, *rest) in one.get("machines", {}).items():
            gpus, ssd_gb = (*rest, 0, 0)[:2]
            machines[machine] = MachineType(
                machine,
                name,
                cpus,
                gb,
                gpu=one.get("gpu", "") if gpus else "",
                gpus=gpus,
                ssd_gb=ssd_gb,
                spot_only=machine in one.get("spot_only", ()),
            )
        cpus, gb = one["unit"]
        return Family(
            name=name,
            disks=tuple(one["disks"]),
            unit_cpus=cpus,
            unit_gb=gb,
            memory_share=one.get("memory_share", 0.35),
            machines=machines,
            offers=_offers(one["offers"]),
            current=one.get("current", False),
            architecture=one.get("architecture", "x86_64"),
            custom_gb=tuple(one["custom_gb"]) if "custom_gb" in one else None,
        )

    def _gpu(self, name: str, one: Mapping[str, Any]) -> Gpu:
        return Gpu(
            name=name,
            cloud_name=one["cloud_name"],
            memory_gb=one["memory_gb"],
            offers=_offers(one.get("offers", {})),
            attached_to=one.get("attached_to", ""),
            limits={int(count): (cpus, gb) for count, (cpus, gb) in one.get("limits", {}).items()},
            gone=one.get("gone", ""),
            note=one.get("note", ""),
            successor=one.get("successor", ""),
            image=one.get("image", ""),
        )


def fits(machine: MachineType, gpu: Gpu, count: int) -> bool:
    """Whether so many can be attached to it."""
    cpus, gb = gpu.limits.get(count, (0, 0.0))
    return machine.family == gpu.attached_to and machine.cpus <= cpus and machine.memory_gb <= gb


def _offers(table: Mapping[str, str]) -> dict[str, Offer]:
    """`us-central1`: `abcf .363 .077`: zones, US dollars an hour, and as Spot; `-`: not as Spot."""
    offers = {}
    for region, line in table.items():
        letters, usd, usd_spot = line.split()
        zones = tuple(f"{region}-{letter}" for letter in letters)
        offers[region] = Offer(zones, float(usd), None if usd_spot == "-" else float(usd_spot))
    return offers


@functools.cache
def catalog() -> Catalog:
    return Catalog(json.loads(PATH.read_text()))
