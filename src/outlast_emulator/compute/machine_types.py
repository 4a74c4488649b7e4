"""Machine types, accelerators and disk types: their sizes, which GPU is in which, and what an hour of each costs.

Sizes as Google lists them; prices in USD, list price of us-central1 as of 2026-08-21, on demand and the share of it that
Spot costs. The same price everywhere: the ledger is for comparing, not for invoices.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from outlast_emulator.compute import accelerators
from outlast_emulator.compute.accelerators import ACCELERATORS


class Family(NamedTuple):
    cpu_usd: float
    """Per vCPU and hour."""
    gb_usd: float
    """Per GB of memory and hour."""
    spot: float
    """The share of the price on demand."""
    arm: bool = False


FAMILIES: dict[str, Family] = {
    "n1": Family(0.031611, 0.004237, 0.468),
    "n2": Family(0.031611, 0.004237, 0.575),
    "n2d": Family(0.027502, 0.003686, 0.349),
    "n4": Family(0.0313, 0.0042, 0.37),
    "e2": Family(0.021811, 0.002923, 0.597),
    "c2": Family(0.03398, 0.00455, 0.31),
    "c2d": Family(0.029563, 0.003959, 0.31),
    "c3": Family(0.03465, 0.003938, 0.313),
    "c3d": Family(0.029563, 0.003959, 0.212),
    "c4": Family(0.03465, 0.003938, 0.6),
    "c4d": Family(0.0324, 0.00358, 0.368),
    "c4a": Family(0.0308, 0.0035, 0.4, True),
    "t2d": Family(0.027502, 0.003686, 0.19),
    "t2a": Family(0.0244, 0.0033, 0.4, True),
    "g2": Family(0.024988, 0.002927, 0.599),
    "g4": Family(0.0709, 0.0, 0.343),
    "a2": Family(0.031611, 0.004237, 0.578),
    "a3": Family(0.04548, 0.0, 0.6),
    "a4": Family(0.0, 0.0, 1.0),
    "a4x": Family(0.0, 0.0, 1.0),
}


class MachineType(NamedTuple):
    name: str
    cpus: int
    memory_mb: int
    accelerator: str = ""
    """The GPU that is part of it, and how many."""
    accelerators: int = 0

    @property
    def family(self) -> str:
        return self.name.split("-")[0] if not self.name.startswith("custom-") else "n1"


_SHAPES: tuple[tuple[str, float, str], ...] = (
    ("n1-standard", 3.75, "1 2 4 8 16 32 64 96"),
    ("n1-highmem", 6.5, "2 4 8 16 32 64 96"),
    ("n1-highcpu", 0.9, "2 4 8 16 32 64 96"),
    ("n2-standard", 4, "2 4 8 16 32 48 64 80 96 128"),
    ("n2-highmem", 8, "2 4 8 16 32 48 64 80 96"),
    ("n2-highcpu", 1, "2 4 8 16 32 48 64 80 96"),
    ("n2d-standard", 4, "2 4 8 16 32 48 64 80 96 128 224"),
    ("n2d-highmem", 8, "2 4 8 16 32 48 64 80 96"),
    ("n2d-highcpu", 1, "2 4 8 16 32 48 64 80 96 128 224"),
    ("n4-standard", 4, "2 4 8 16 32 48 64 80"),
    ("n4-highmem", 8, "2 4 8 16 32 48 64 80"),
    ("n4-highcpu", 2, "2 4 8 16 32 48 64 80"),
    ("e2-standard", 4, "2 4 8 16 32"),
    ("e2-highmem", 8, "2 4 8 16"),
    ("e2-highcpu", 1, "2 4 8 16 32"),
    ("c2-standard", 4, "4 8 16 30 60"),
    ("c2d-standard", 4, "2 4 8 16 32 56 112"),
    ("c2d-highmem", 8, "2 4 8 16 32 56 112"),
    ("c2d-highcpu", 2, "2 4 8 16 32 56 112"),
    ("c3-standard", 4, "4 8 22 44 88 176"),
    ("c3-highmem", 8, "4 8 22 44 88 176"),
    ("c3-highcpu", 2, "4 8 22 44 88 176"),
    ("c3d-standard", 4, "4 8 16 30 60 90 180 360"),
    ("c3d-highmem", 8, "4 8 16 30 60 90 180 360"),
    ("c3d-highcpu", 2, "4 8 16 30 60 90 180 360"),
    ("c4-standard", 3.75, "2 4 8 16 24 32 48 96 144 192 288"),
    ("c4-highmem", 7.75, "2 4 8 16 24 32 48 96 144 192 288"),
    ("c4-highcpu", 2, "2 4 8 16 24 32 48 96 144 192 288"),
    ("c4d-standard", 3.875, "2 4 8 16 32 48 64 96 192 384"),
    ("c4d-highmem", 7.875, "2 4 8 16 32 48 64 96 192 384"),
    ("c4d-highcpu", 1.875, "2 4 8 16 32 48 64 96 192 384"),
    ("c4a-standard", 4, "1 2 4 8 16 32 48 64 72"),
    ("c4a-highcpu", 2, "1 2 4 8 16 32 48 64 72"),
    ("c4a-highmem", 8, "1 2 4 8 16 32 48 64 72"),
    ("t2d-standard", 4, "1 2 4 8 16 32 48 60"),
    ("t2a-standard", 4, "1 2 4 8 16 32 48"),
)

_OTHERS: tuple[tuple[str, int, float, str, int], ...] = (
    ("e2-micro", 2, 1, "", 0),
    ("e2-small", 2, 2, "", 0),
    ("e2-medium", 2, 4, "", 0),
    ("f1-micro", 1, 0.6, "", 0),
    ("g1-small", 1, 1.7, "", 0),
    ("g2-standard-4", 4, 16, "nvidia-l4", 1),
    ("g2-standard-8", 8, 32, "nvidia-l4", 1),
    ("g2-standard-12", 12, 48, "nvidia-l4", 1),
    ("g2-standard-16", 16, 64, "nvidia-l4", 1),
    ("g2-standard-24", 24, 96, "nvidia-l4", 2),
    ("g2-standard-32", 32, 128, "nvidia-l4", 1),
    ("g2-standard-48", 48, 192, "nvidia-l4", 4),
    ("g2-standard-96", 96, 384, "nvidia-l4", 8),
    ("g4-standard-48", 48, 180, "nvidia-rtx-pro-6000", 1),
    ("g4-standard-96", 96, 360, "nvidia-rtx-pro-6000", 2),
    ("g4-standard-192", 192, 720, "nvidia-rtx-pro-6000", 4),
    ("g4-standard-384", 384, 1440, "nvidia-rtx-pro-6000", 8),
    ("a2-highgpu-1g", 12, 85, "nvidia-tesla-a100", 1),
    ("a2-highgpu-2g", 24, 170, "nvidia-tesla-a100", 2),
    ("a2-highgpu-4g", 48, 340, "nvidia-tesla-a100", 4),
    ("a2-highgpu-8g", 96, 680, "nvidia-tesla-a100", 8),
    ("a2-megagpu-16g", 96, 1360, "nvidia-tesla-a100", 16),
    ("a2-ultragpu-1g", 12, 170, "nvidia-a100-80gb", 1),
    ("a2-ultragpu-2g", 24, 340, "nvidia-a100-80gb", 2),
    ("a2-ultragpu-4g", 48, 680, "nvidia-a100-80gb", 4),
    ("a2-ultragpu-8g", 96, 1360, "nvidia-a100-80gb", 8),
    ("a3-highgpu-1g", 26, 234, "nvidia-h100-80gb", 1),
    ("a3-highgpu-2g", 52, 468, "nvidia-h100-80gb", 2),
    ("a3-highgpu-4g", 104, 936, "nvidia-h100-80gb", 4),
    ("a3-highgpu-8g", 208, 1872, "nvidia-h100-80gb", 8),
    ("a3-megagpu-8g", 208, 1872, "nvidia-h100-mega-80gb", 8),
    ("a3-ultragpu-8g", 224, 2952, "nvidia-h200-141gb", 8),
    ("a4-highgpu-8g", 224, 3968, "nvidia-b200", 8),
)


def _types() -> dict[str, MachineType]:
    found = {}
    for prefix, gb_per_cpu, sizes in _SHAPES:
        for cpus in map(int, sizes.split()):
            name = f"{prefix}-{cpus}"
            found[name] = MachineType(name, cpus, int(cpus * gb_per_cpu * 1024))
    for name, cpus, gb, accelerator, count in _OTHERS:
        found[name] = MachineType(name, cpus, int(gb * 1024), accelerator, count)
    return found


TYPES: dict[str, MachineType] = _types()

DISK_TYPES: dict[str, tuple[str, int, float]] = {
    "pd-standard": ("Standard Persistent Disk", 500, 0.04),
    "pd-balanced": ("Balanced Persistent Disk", 100, 0.10),
    "pd-ssd": ("SSD Persistent Disk", 100, 0.17),
    "pd-extreme": ("Extreme Persistent Disk", 1000, 0.125),
    "hyperdisk-balanced": ("Hyperdisk Balanced", 100, 0.08),
    "hyperdisk-extreme": ("Hyperdisk Extreme", 1000, 0.125),
    "hyperdisk-ml": ("Hyperdisk ML", 1000, 0.08),
    "hyperdisk-throughput": ("Hyperdisk Throughput", 2048, 0.05),
    "local-ssd": ("Local SSD", 375, 0.08),
}
"""Name -> title, default size in GB, USD per GB and month."""

IMAGE_USD_PER_GB_MONTH = 0.05

SHARED_CPUS: dict[str, float] = {"e2-micro": 0.25, "e2-small": 0.5, "e2-medium": 1.0}
"""Types that share their cores with others' machines: the part of them that is billed."""

HYPERDISK_ONLY = ("n4", "c4", "c4d", "c4a", "a4", "a4x", "g4")
"""Families that take no persistent disk of the older kinds."""

_CUSTOM = re.compile(r"(?:([a-z][a-z0-9]*)-)?custom-(\d{1,3})-(\d{3,7})(-ext)?\Z")


def find(name: str) -> MachineType | None:
    """By name, custom types included. None: Google has no such type."""
    known = TYPES.get(name)
    if known is not None:
        return known
    custom = _CUSTOM.match(name)
    if not custom:
        return None
    family, cpus, memory_mb = custom[1] or "n1", int(custom[2]), int(custom[3])
    if family not in ("n1", "n2", "n2d", "n4", "e2") or memory_mb % 256 or not cpus or (cpus > 1 and cpus % 2):
        return None
    return MachineType(name, cpus, memory_mb)


def in_zone(machine: MachineType, zone: str) -> bool:
    return not machine.accelerator or accelerator_in_zone(machine.accelerator, zone)


accelerator_in_zone = accelerators.in_zone


def usd_per_hour(machine: MachineType, attached: dict[str, int], spot: bool) -> float:
    """Without disks. `attached`: GPUs beside the ones that are part of the type."""
    family = FAMILIES.get(machine.family, FAMILIES["n1"])
    total = SHARED_CPUS.get(machine.name, machine.cpus) * family.cpu_usd + machine.memory_mb / 1024 * family.gb_usd
    total *= family.spot if spot else 1.0
    for name, count in {
        **attached,
        **({machine.accelerator: machine.accelerators} if machine.accelerator else {}),
    }.items():
        known = ACCELERATORS.get(name)
        if known is not None:
            total += count * (known.spot_usd if spot else known.usd)
    return total
