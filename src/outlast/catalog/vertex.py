"""What of the catalog Vertex AI runs: its machines, its names for accelerators, and what it adds to their prices."""

from __future__ import annotations

import copy
from dataclasses import replace

from outlast.catalog.answers import FORCE, listed
from outlast.catalog.table import Catalog, MachineType
from outlast.errors import UsageError

SERVICE = "vertex"
FAMILIES = ("a4", "a3", "a2", "g2", "g4", "e2", "n1", "n2", "n4", "c2", "m1")
"""By the first word of a machine's name. The newer general ones, such as c3 and c4, are not among them."""

DISKS = ("pd-ssd", "pd-standard", "hyperdisk-balanced")
DISK_GB_DEFAULT = 100
DISK_GB_MIN = 100
MANAGEMENT_SHARE = 0.15
"""What Vertex AI asks for beside the price of the machine, as a share of it."""

FLEX_START_GPUS = frozenset({"L4", "A100", "A100-80GB", "H100", "H100-MEGA", "H200", "B200"})
FLEX_START_SECONDS_MAX = 7 * 24 * 3600.0
REPLICAS_MAX = 100


def vertex_catalog(known: Catalog) -> Catalog:
    """The same, less what it does not run; machines are chosen among the families that are left."""
    ours = copy.copy(known)
    ours.families = {
        name: replace(family, current=True) if name in ("n1", "n2", "e2", "c2") else family
        for name, family in known.families.items()
        if name.partition("-")[0] in FAMILIES
    }
    return ours


def runs(machine: MachineType) -> bool:
    return machine.name.partition("-")[0] in FAMILIES


def not_run(known: Catalog, machine: MachineType) -> UsageError:
    """For a machine that Compute Engine has and Vertex AI has not."""
    near = sorted(
        (one for one in vertex_catalog(known).machines() if one.cpus >= machine.cpus and not one.gpu),
        key=lambda one: (one.cpus, abs(one.memory_gb - machine.memory_gb), one.name),
    )
    return UsageError(
        f"Vertex AI does not run `{machine.name}`",
        state=f"it runs {listed(FAMILIES)} machines",
        hint=f"`--machine-type {near[0].name if near else 'n1-standard-8'}`; {FORCE}",
    )
