"""A TPU as a machine that a service runs: where it is offered, and what its chips cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.catalog.answers import FORCE
from outlast.catalog.choose import REGION_DEFAULT
from outlast.catalog.table import Catalog
from outlast.catalog.vertex_tpus import TPUS, Slice
from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.spec.spec import Machine, Rented

if TYPE_CHECKING:
    from outlast.jobs.asked import Asked

SHOWN_MAX = 8
CPUS = 96
"""Of the machine that a slice's chips hang on; nobody is asked for fewer."""


@dataclass(frozen=True)
class Chosen:
    """The machines, by the catalog; who pays for them, and as whom they run, comes after."""

    machine: Machine
    rented: Rented
    notes: tuple[str, ...] = ()


def rent_tpu(known: Catalog, asked: Asked, tpu: Slice, regions: tuple[str, ...]) -> Chosen:
    regions = regions or (REGION_DEFAULT,)
    spot = asked.spot
    if not asked.force:
        for region in regions:
            _check_offered(known, tpu, region, spot=spot)
    if spot and tpu.hosts > 1 and not asked.force:
        raise UsageError(
            f"{tpu.count} {TPUS[tpu.kind].unit} of TPU {tpu.kind} are {tpu.hosts} hosts, and those are not rented as Spot",
            hint=f"`--on-demand`, or a slice of one host; {FORCE}",
        )
    if asked.managed.flex_start:
        raise UsageError("`--flex-start` queues for GPUs, not for TPUs", hint="leave `--flex-start` out")
    rented = Rented(
        project="",
        regions=regions,
        machine_type=tpu.machine_type,
        accelerator=tpu.accelerator,
        accelerator_built_in=not tpu.accelerator,
        disk_type="pd-ssd",
        topology=tpu.topology,
    )
    note = TPUS[tpu.kind].note
    gpus = tpu.count if tpu.accelerator else 0
    return Chosen(Machine(CPUS, gpus), rented, (f"TPU {tpu.kind}: {note}",) if note else ())


def _check_offered(known: Catalog, tpu: Slice, region: str, *, spot: bool) -> None:
    kind = known.tpu(tpu.kind)
    if kind is None:
        return  # newer than the table
    offer = kind.offers.get(region)
    if offer is not None and offer.price(spot) is not None:
        return
    priced = sorted(
        (price * chips_of(tpu), other) for other, one in kind.offers.items() if (price := one.price(spot)) is not None
    )
    where = ", ".join(f"`{other}` ${usd:,.2f}" for usd, other in priced[:SHOWN_MAX])
    raise UsageError(
        f"TPU {tpu.kind} is not offered{' as Spot' if spot else ''} in `{region}`",
        state=f"{tpu.count}x{tpu.kind} is in {where} (per hour)" if where else "it is offered nowhere so",
        hint=f"`--region {priced[0][1]}`; {FORCE}" if priced else f"`--on-demand`; {FORCE}",
    )


def chips_of(tpu: Slice) -> int:
    """The older types are counted in cores, two to a chip."""
    return tpu.count // 2 if TPUS[tpu.kind].unit == "cores" else tpu.count


def slice_of(machine: Machine) -> Slice | None:
    """Which one a machine is; None: it is no TPU."""
    rented = machine.rented
    if rented is None:
        return None
    for kind in TPUS.values():
        for one in kind.slices:
            attached = bool(one.accelerator) and (one.accelerator, one.count) == (rented.accelerator, machine.gpus)
            built_in = not one.accelerator and (one.machine_type, one.topology) == (
                rented.machine_type,
                rented.topology,
            )
            if attached or built_in:
                return one
    return None
