"""What is said of a machine that is not offered: the reason, and what there is instead, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from outlast.catalog.model import Gpu, MachineType
from outlast.catalog.prices import gpus_usd, machine_usd
from outlast.catalog.table import STALE_DAYS, Catalog
from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown

SHOWN_MAX = 8
FORCE = "`--force` asks for it all the same"
REFRESH = "`outlast catalog --refresh` reads Google's own"
_BACKWARDS = pattern(r"(?P<type>.+)[xX](?P<count>[0-9]{1,2})")


def by_price(
    catalog: Catalog, machines: Iterable[MachineType], region: str, *, spot: bool
) -> list[tuple[float, MachineType]]:
    """With the price of the GPUs that they bring along; those that the region does not have are left out."""
    priced = []
    for machine in machines:
        if catalog.families[machine.family].architecture != "x86_64":
            continue
        gpu = catalog.gpus.get(machine.gpu)
        usd = machine_usd(catalog, machine, region, spot=spot)
        more = gpus_usd(gpu, machine.gpus, region, spot=spot)
        if usd is not None and more is not None:
            priced.append((usd + more, machine))
    return sorted(priced, key=lambda one: (round(one[0], 6), one[1].cpus, one[1].name))


def no_region(catalog: Catalog, region: str) -> UsageError:
    alike = get_close_matches(region, catalog.regions, n=3, cutoff=0.6)
    hint = f"`--region {alike[0]}`" if alike else "`--region us-central1`"
    return UsageError(
        f"there is no region {shown(region)} with machines",
        state=f"the regions are {listed(catalog.regions)}",
        hint=f"{hint}; {FORCE}",
    )


def no_zone(catalog: Catalog, zone: str) -> UsageError:
    region = zone.rpartition("-")[0]
    zones = catalog.regions.get(region, ())
    if not zones:
        return no_region(catalog, region)
    return UsageError(
        f"there is no zone {shown(zone)}: `{region}` has {listed(zones)}", hint=f"`--zone {zones[0]}`; {FORCE}"
    )


def no_gpu(catalog: Catalog, name: str) -> UsageError:
    current = sorted((gpu for gpu in catalog.gpus.values() if not gpu.gone), key=_lowest_usd)
    known = ", ".join(f"{gpu.name} ({gpu.memory_gb} GB, from ${_lowest_usd(gpu):,.2f})" for gpu in current)
    tpu = catalog.tpu(name)
    if tpu is not None:
        return UsageError(
            f"{tpu.name} is a TPU, and Compute Engine's machines have GPUs",
            state=f"there are {known}",
            hint=f"`--on vertex --tpu-spec {tpu.counts[0] * tpu.cores}x{tpu.name.upper()}`",
        )
    alike = get_close_matches(name.upper(), [gpu.name for gpu in current], n=1, cutoff=0.4)
    typed = _BACKWARDS.fullmatch(name)
    meant = catalog.gpu(typed["type"]) if typed else None
    instead = alike[0] if alike else "L4"
    if typed and meant:
        instead = f"{typed['count']}x{meant.name}"
    return UsageError(
        f"there is no GPU {shown(name)} to rent",
        state=f"there are {known} an hour where it is cheapest",
        hint=f"`--gpus {instead}`; {FORCE}",
    )


def _lowest_usd(gpu: Gpu) -> float:
    """Of one of them alone, wherever that is."""
    return min((offer.usd if offer.usd_spot is None else offer.usd_spot for offer in gpu.offers.values()), default=0.0)


def gone(gpu: Gpu, count: int) -> UsageError:
    instead = gpu.successor if count == 1 else f"{count}x{gpu.successor}"
    return UsageError(
        f"the {gpu.name} cannot be rented any more: {gpu.gone}",
        state=f"its successor is the {gpu.successor}",
        hint=f"`--gpus {instead}`; {FORCE}",
    )


def no_count(catalog: Catalog, gpu: Gpu, count: int, region: str, *, spot: bool) -> UsageError:
    counts = catalog.counts(gpu)
    nearest = next((one for one in counts if one >= count), counts[-1] if counts else 1)
    return UsageError(
        f"no machine has {count} {gpu.name}",
        state=_combinations(catalog, gpu, counts, region, spot=spot),
        hint=f"`--gpus {nearest}x{gpu.name}`",
    )


def not_carried(catalog: Catalog, machine: MachineType, gpu: Gpu, count: int, region: str, *, spot: bool) -> UsageError:
    counts = catalog.counts(gpu)
    has = f"has {machine.gpus} {machine.gpu}" if machine.gpu else "has no place for that"
    carriers = by_price_of(catalog, gpu, count, region, spot=spot)
    hint = f"`--machine-type {carriers[0][1].name}`, or leave `--machine-type` out" if carriers else ""
    return UsageError(
        f"{count} {gpu.name} on `{machine.name}`: it {has}",
        state=_combinations(catalog, gpu, [count] if count in counts else counts, region, spot=spot),
        hint=f"{hint}; {FORCE}" if hint else FORCE,
    )


def by_price_of(catalog: Catalog, gpu: Gpu, count: int, region: str, *, spot: bool) -> list[tuple[float, MachineType]]:
    """Machines that can have so many of it, with the price of both."""
    priced = []
    for machine in catalog.carriers(gpu, count):
        usd = machine_usd(catalog, machine, region, spot=spot)
        more = gpus_usd(gpu, count, region, spot=spot)
        if usd is not None and more is not None:
            priced.append((usd + more, machine))
    return sorted(priced, key=lambda one: (round(one[0], 6), one[1].cpus, one[1].name))


def no_machine(catalog: Catalog, name: str, cpus: int, region: str, *, spot: bool) -> UsageError:
    alike = get_close_matches(name, [machine.name for machine in catalog.machines()], n=3, cutoff=0.7)
    others = by_price(
        catalog, [one for one in catalog.machines() if one.cpus == cpus and not one.gpu], region, spot=spot
    )
    custom = (
        "custom types are `FAMILY-custom-CPUS-MB`, such as `n2-custom-8-32768`, vCPUs in pairs and memory in steps of "
        "256 MB; "
        if "custom" in name
        else ""
    )
    return UsageError(
        f"the catalog of {catalog.dated} has no machine type {shown(name)}",
        state=f"{custom}{priced_words(others, region, spot=spot)}",
        hint=f"`--machine-type {alike[0] if alike else others[0][1].name if others else 'n2-standard-8'}`; {FORCE}",
    )


def no_size(
    catalog: Catalog, cpus: int, region: str, *, spot: bool, gpu: Gpu | None = None, count: int = 0
) -> UsageError:
    if gpu is None:
        others = by_price(catalog, [one for one in catalog.machines() if not one.gpu], region, spot=spot)
        return UsageError(
            f"no machine with {cpus} vCPUs is known in `{region}`",
            state=priced_words(
                [one for one in others if one[1].cpus >= cpus] or others[-SHOWN_MAX:], region, spot=spot
            ),
            hint="another `--region`, or `--machine-type TYPE --force`",
        )
    return UsageError(
        f"no machine has {count} {gpu.name} and {cpus} vCPUs",
        state=priced_words(by_price_of(catalog, gpu, count, region, spot=spot), region, spot=spot),
        hint="fewer `--cpus`",
    )


def not_there(
    catalog: Catalog, machine: MachineType, gpu: Gpu | None, count: int, region: str, *, spot: bool
) -> UsageError:
    """Other regions that have all of it, the cheapest first."""
    family = catalog.families.get(machine.family)
    priced = []
    for other in family.offers if family else ():
        if machine.zones is not None and not machine.zones.get(other):
            continue
        usd = machine_usd(catalog, machine, other, spot=spot)
        more = gpus_usd(gpu, count, other, spot=spot)
        if usd is not None and more is not None:
            priced.append((usd + more, other))
    priced.sort()
    where = ", ".join(f"`{other}` ${usd:,.2f}" for usd, other in priced[:SHOWN_MAX])
    more_of_them = f" and {len(priced) - SHOWN_MAX} more" if len(priced) > SHOWN_MAX else ""
    how = " as Spot" if spot else ""
    return UsageError(
        f"{what(machine, gpu, count)} is not offered{how} in `{region}`",
        state=f"it is in {where}{more_of_them} (per hour)" if where else f"it is offered{how} nowhere",
        hint=f"`--region {priced[0][1]}`; {FORCE}" if priced else "`--on-demand`" if spot else FORCE,
    )


def not_in_zone(machine: MachineType, gpu: Gpu | None, zone: str, offered: Sequence[str]) -> UsageError:
    return UsageError(
        f"{what(machine, gpu)} is not offered in zone `{zone}`",
        state=f"in that region it is in {listed(offered)}",
        hint=f"`--zone {offered[0]}`; {FORCE}",
    )


def wrong_disk(machine: MachineType, disk_type: str, disks: Sequence[str]) -> UsageError:
    return UsageError(
        f"`{machine.name}` does not boot from `{disk_type}`: it takes {listed(disks)}",
        hint=f"`--disk-type {disks[0]}`; {FORCE}",
    )


def wrong_architecture(machine: MachineType, architecture: str) -> UsageError:
    return UsageError(
        f"`{machine.name}` is {architecture}, and packages are resolved for x86_64",
        hint=f"another `--machine-type`; {FORCE}",
    )


def spot_only(catalog: Catalog, machine: MachineType) -> UsageError:
    others = [one for one in catalog.machines() if one.gpu == machine.gpu and not one.spot_only]
    more = min(others, key=lambda one: one.gpus, default=None)
    instead = f"`--gpus {more.gpus}x{more.gpu}`" if more is not None else "another machine"
    return UsageError(f"`{machine.name}` is rented as Spot only", hint=f"`--spot`, or {instead}; {FORCE}")


def what(machine: MachineType, gpu: Gpu | None, count: int = 1) -> str:
    if gpu is None:
        return f"`{machine.name}`"
    return f"`{machine.name}` with {gpu.name if count == 1 else f'{count} {gpu.name}'}"


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _combinations(catalog: Catalog, gpu: Gpu, counts: Iterable[int], region: str, *, spot: bool) -> str:
    lines: list[tuple[float, str]] = []
    for count in counts:
        priced = by_price_of(catalog, gpu, count, region, spot=spot)
        if not priced:
            lines += [(float("inf"), f"{count} on `{one.name}`") for one in catalog.carriers(gpu, count)[:1]]
        elif gpu.attached_to:
            usd, cpus = priced[0][0], gpu.limits[count][0]
            lines.append((usd, f"{count} on `{gpu.attached_to}` machines of up to {cpus} vCPUs, from ${usd:,.2f}"))
        else:
            lines += [(usd, f"{count} on `{machine.name}` ${usd:,.2f}") for usd, machine in priced[:5]]
    how = "Spot, " if spot else ""
    return f"{gpu.name} ({how}per hour in `{region}`): {', '.join(words for _, words in sorted(lines))}"


def priced_words(priced: Sequence[tuple[float, MachineType]], region: str, *, spot: bool) -> str:
    shown_ones = ", ".join(f"`{machine.name}` ${usd:,.3f}" for usd, machine in priced[:SHOWN_MAX])
    return f"in `{region}`, {'Spot, ' if spot else ''}per hour: {shown_ones}" if shown_ones else ""


def stale(catalog: Catalog, now: float) -> str:
    """What there is to say about the age of the prices; empty: nothing."""
    if catalog.problem:
        return f"{catalog.problem}; prices of {catalog.dated} are used: {REFRESH}"
    days = catalog.age_days(now)
    return f"prices are of {catalog.dated}, {days} days ago: {REFRESH}" if days > STALE_DAYS else ""
