"""How many machines of a kind Vertex AI may train on at once, by its quotas in the region."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from outlast.engines.compute.room import gpu_names
from outlast.engines.engine import Room
from outlast.google.vertex_quotas import TRAINING
from outlast.spec.spec import Machine, Rented

SPOT = "preemptible_"
"""Spot, and what is queued for, have quotas of their own."""

GENERAL = ("e2", "n1")
"""Their CPUs are counted together."""

TPUS = {"ct5lp": "tpu_v5e", "ct6e": "tpu_v6e", "tpu7x": "tpu_v7x"}


def room(machine: Machine, limits: Mapping[str, float], machines_max: int) -> Room:
    """What runs already is not counted by whoever tells the limits: Vertex AI lets wait what is too much."""
    rented = machine.rented
    assert rented is not None
    rooms = [Room(machines_max, f"{machines_max:,} custom jobs are the most of one launch")]
    for names, needed in _needs(machine, rented):
        found = next((name for name in _spelled(names, rented) if name in limits), None)
        if found is not None and needed:
            fact = f"by the quota `{TRAINING}{found}` in `{rented.regions[0]}`: {limits[found]:g}"
            rooms.append(Room(int(limits[found] // needed), fact))
    return min(rooms, key=lambda one: one.workers)


def _needs(machine: Machine, rented: Rented) -> Iterator[tuple[tuple[str, ...], float]]:
    """By each of the names that a metric may have: how much one machine takes of it."""
    family = rented.machine_type.partition("-")[0]
    if rented.accelerator.startswith("tpu-"):
        yield (rented.accelerator.replace("-", "_"),), machine.gpus
    elif family in TPUS:
        yield (TPUS[family],), math.prod(int(side) for side in rented.topology.split("x") if side.isdigit())
    else:
        yield ("cpus" if family in GENERAL else f"{family}_cpus",), machine.cpus
        if rented.accelerator:
            names = tuple(f"{name.lower()}_gpus" for name in gpu_names(rented.accelerator))
            yield names, machine.gpus


def _spelled(names: tuple[str, ...], rented: Rented) -> Iterator[str]:
    if rented.spot or rented.flex_start:
        yield from (f"{SPOT}{name}" for name in names)
    yield from names
