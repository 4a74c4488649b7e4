"""Quotas of regions and of the project: their limits, what counts against which, and who is over."""

from __future__ import annotations

from typing import Any

from outlast_emulator.compute import accelerators, links, machine_types

GPUS_ALL_REGIONS = "GPUS_ALL_REGIONS"
_FAMILY_METRICS = {
    "n2": "N2_CPUS",
    "n2d": "N2D_CPUS",
    "c2": "C2_CPUS",
    "c2d": "C2D_CPUS",
    "c3": "C3_CPUS",
    "a2": "A2_CPUS",
}
_SSD = ("pd-ssd", "pd-balanced", "pd-extreme")
_GPU_METRICS = tuple(f"NVIDIA_{name}_GPUS" for name in ("A100", "A100_80GB", "L4", "P100", "P4", "T4", "V100"))
"""Younger GPUs have no metric in a region's list, but for H100 as Spot."""

REGIONAL: dict[str, float] = {
    "CPUS": 2400.0,
    **dict.fromkeys(sorted(_FAMILY_METRICS.values()), 2400.0),
    "PREEMPTIBLE_CPUS": 0.0,
    "INSTANCES": 6000.0,
    "IN_USE_ADDRESSES": 2300.0,
    "STATIC_ADDRESSES": 700.0,
    "DISKS_TOTAL_GB": 102400.0,
    "SSD_TOTAL_GB": 81920.0,
    "LOCAL_SSD_TOTAL_GB": 60000.0,
    "INSTANCE_GROUP_MANAGERS": 100.0,
    "REGIONAL_INSTANCE_GROUP_MANAGERS": 100.0,
    **dict.fromkeys(_GPU_METRICS, 64.0),
    **{f"PREEMPTIBLE_{metric}": 64.0 for metric in (*_GPU_METRICS, "NVIDIA_H100_GPUS")},
}
"""Metric -> limit in each region, until the control surface sets another. A new project has less; tests ask for that."""

GLOBAL: dict[str, float] = {
    GPUS_ALL_REGIONS: 128.0,
    "CPUS_ALL_REGIONS": 6000.0,
    "IMAGES": 2000.0,
    "INSTANCE_TEMPLATES": 1000.0,
    "NETWORKS": 15.0,
}


def uses(document: dict[str, Any], spot: bool, limits: dict[str, float]) -> dict[str, float]:
    """Metric -> what an instance counts. Spot has quotas of its own where the region has any, else it uses the others'."""
    found: dict[str, float] = {"INSTANCES": 1.0}

    def count(metric: str, amount: float) -> None:
        if spot and limits.get(f"PREEMPTIBLE_{metric}", 0.0) > 0:
            metric = f"PREEMPTIBLE_{metric}"
        found[metric] = found.get(metric, 0.0) + amount

    machine = machine_types.find(links.last(document["machineType"]))
    if machine is None:
        return found
    if spot and limits.get("PREEMPTIBLE_CPUS", 0.0) > 0:
        found["PREEMPTIBLE_CPUS"] = float(machine.cpus)
    else:
        found[_FAMILY_METRICS.get(machine.family, "CPUS")] = float(machine.cpus)
    found["CPUS_ALL_REGIONS"] = float(machine.cpus)
    for name, cards in gpus(document, machine).items():
        known = accelerators.ACCELERATORS.get(name)
        if known is not None:
            count(f"{known.metric}_GPUS", float(cards))
            found[GPUS_ALL_REGIONS] = found.get(GPUS_ALL_REGIONS, 0.0) + cards
    if any(one.get("accessConfigs") for one in document.get("networkInterfaces", ())):
        found["IN_USE_ADDRESSES"] = 1.0
    return found


def gpus(document: dict[str, Any], machine: machine_types.MachineType) -> dict[str, int]:
    """Accelerator -> how many, those that are part of the machine type included."""
    found = {machine.accelerator: machine.accelerators} if machine.accelerator else {}
    for one in document.get("guestAccelerators", ()):
        name = links.last(one.get("acceleratorType", ""))
        found[name] = max(found.get(name, 0), int(one.get("acceleratorCount", 0)))
    return found


def disk_metric(disk_type: str) -> str:
    return "SSD_TOTAL_GB" if disk_type in _SSD else "DISKS_TOTAL_GB"
