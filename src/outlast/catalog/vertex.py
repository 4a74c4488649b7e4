"""What of the catalog Vertex AI runs: its machines, its names for accelerators, and what it adds to their prices."""

from __future__ import annotations

import copy
from dataclasses import replace

from outlast.catalog.answers import FORCE, by_price, listed, priced_words
from outlast.catalog.table import Catalog, MachineType
from outlast.errors import UsageError

SERVICE = "vertex"
FAMILIES = ("a4", "a3", "a2", "g2", "g4", "e2", "n1", "n2", "n4", "c2", "m1")
"""By the first word of a machine's name. The newer general ones, such as c3 and c4, are not among them."""

GENERAL = ("e2", "n1", "n2")
CPUS_MIN = {"standard": 4, "highmem": 2, "highcpu": 16}
"""Of the general ones it leaves out the smallest, and those that are made to measure."""

DISKS = ("pd-ssd", "pd-standard", "hyperdisk-balanced")
DISK_GB_DEFAULT = 100
DISK_GB_MIN = 100
MANAGEMENT_SHARE = 0.15
"""What Vertex AI asks for beside the price of the machine, as a share of what the machine costs on demand: who rents it as Spot pays
as much. No list that is read here has it."""

FLEX_START_GPUS = frozenset({"L4", "A100", "A100-80GB", "H100", "H100-MEGA", "H200", "B200"})
FLEX_START_SECONDS_MAX = 7 * 24 * 3600.0
REPLICAS_MAX = 100


def vertex_catalog(known: Catalog) -> Catalog:
    """The same, less what it does not run; machines are chosen among the families that are left."""
    ours = copy.copy(known)
    ours.families = {
        name: replace(
            family,
            current=family.current or name in (*GENERAL, "c2"),
            machines={one.name: one for one in family.machines.values() if runs(one)},
        )
        for name, family in known.families.items()
        if name.partition("-")[0] in FAMILIES
    }
    return ours


def runs(machine: MachineType) -> bool:
    family, _, rest = machine.name.partition("-")
    if family in GENERAL:
        return machine.cpus >= CPUS_MIN.get(rest.partition("-")[0], machine.cpus + 1)
    return family in FAMILIES


def not_run(known: Catalog, machine: MachineType, region: str, *, spot: bool) -> UsageError:
    """For a machine that Compute Engine has and Vertex AI has not: those that have as much, the cheapest first."""
    enough = [
        one
        for one in vertex_catalog(known).machines()
        if one.cpus >= machine.cpus and one.memory_gb >= machine.memory_gb and not one.gpu
    ]
    near = by_price(known, enough, region, spot=spot)
    return UsageError(
        f"Vertex AI does not run `{machine.name}`",
        state=priced_words(near, region, spot=spot) or f"it runs {listed(FAMILIES)} machines",
        hint=f"`--machine-type {near[0][1].name if near else 'n1-standard-8'}`; {FORCE}",
    )
