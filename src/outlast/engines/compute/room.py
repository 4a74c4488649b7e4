"""How many machines of a kind the project may have at once, by the quotas of its region and its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from outlast.engines.engine import Room
from outlast.spec.spec import Machine, Rented

SPOT = "PREEMPTIBLE_"
CPUS_EVERYWHERE, GPUS_EVERYWHERE = "CPUS_ALL_REGIONS", "GPUS_ALL_REGIONS"
SSD = frozenset({"pd-ssd", "pd-balanced", "pd-extreme"})
ROOM_UNKNOWN = 4
"""Where nobody may look at the quotas."""

Quota = Mapping[str, Any]


def room(machine: Machine, regional: Iterable[Quota], everywhere: Iterable[Quota], machines_max: int) -> Room:
    """What is used already, by whomever, is not there."""
    rented = machine.rented
    assert rented is not None
    here = {str(one.get("metric")): one for one in regional}
    project = {str(one.get("metric")): one for one in everywhere}
    rooms = [Room(machines_max, f"{machines_max:,} machines are the most that a group can have")]
    for metric, needed in _regional(machine, rented, here):
        rooms.append(_by(here[metric], needed, f"in `{rented.regions[0]}`"))
    for metric, needed in ((CPUS_EVERYWHERE, machine.cpus), (GPUS_EVERYWHERE, machine.gpus)):
        if needed and metric in project:
            rooms.append(_by(project[metric], needed, "of the project"))
    return min(rooms, key=lambda one: one.workers)


def _regional(machine: Machine, rented: Rented, here: Mapping[str, Quota]) -> Iterator[tuple[str, float]]:
    """Metric -> how much one machine takes of it. One that the region does not list limits nothing."""
    family = rented.machine_type.partition("-")[0].upper()
    wanted: list[tuple[tuple[str, ...], float]] = [
        ((f"{family}_CPUS", "CPUS"), machine.cpus),
        (("INSTANCES",), 1),
        (("SSD_TOTAL_GB" if rented.disk_type in SSD else "DISKS_TOTAL_GB",), rented.disk_gb),
    ]
    if rented.accelerator:
        wanted.append((tuple(f"{name}_GPUS" for name in gpu_names(rented.accelerator)), machine.gpus))
    if rented.external_ip:
        wanted.append((("IN_USE_ADDRESSES",), 1))
    for metrics, needed in wanted:
        names = (*_spot(metrics, here), *metrics) if rented.spot else metrics
        found = next((name for name in names if name in here), None)
        if found is not None:
            yield found, needed


def _spot(metrics: tuple[str, ...], here: Mapping[str, Quota]) -> Iterator[str]:
    """Where a region has a quota for Spot, Spot may use only that one; where it has none, or none above 0, the others."""
    for metric in metrics:
        if here.get(f"{SPOT}{metric}", {}).get("limit"):
            yield f"{SPOT}{metric}"


def gpu_names(accelerator: str) -> Iterator[str]:
    """`nvidia-tesla-t4` is `NVIDIA_T4` there, and of some the memory is part of the name."""
    name = accelerator.replace("-tesla-", "-").upper().replace("-", "_")
    yield name
    yield name.rpartition("_")[0]


def _by(quota: Quota, needed: float, where: str) -> Room:
    limit, used = float(quota.get("limit", 0)), float(quota.get("usage", 0))
    machines = int(max(0.0, limit - used) // needed)
    return Room(machines, f"by the quota `{quota.get('metric')}` {where}: {used:g} of {limit:g} used")
