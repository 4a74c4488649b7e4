"""A new table out of the one that ships and what Google's lists say: places, sizes and prices are Google's, all else stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from outlast.catalog.compose_accelerators import Composed, by_region, gpus, stand_in, tpus
from outlast.catalog.prices import LISTED_IN
from outlast.catalog.sku_words import ALL_IN_GPUS, FAMILY_WORDS
from outlast.catalog.skus import Prices
from outlast.dataclass import dataclass

Document = dict[str, Any]

LOCAL_DISK_GB = 375
TPU_TYPES = ("ct", "tpu")
NEW_FAMILY_DISKS = ["hyperdisk-balanced"]
"""What every family that is younger than this tool boots from."""


@dataclass
class _Listed:
    """One machine type, as all zones list it."""

    cpus: int
    gb: float
    accelerator: str
    gpus: int
    disks: int
    arm: bool
    zones: set[str] = field(default_factory=set)


def compose(
    shipped: Mapping[str, Any],
    machine_types: Iterable[Mapping[str, Any]],
    accelerator_types: Iterable[Mapping[str, Any]],
    prices: Prices,
    dated: str,
) -> Composed:
    listed = _listed(machine_types)
    made = Composed({**shipped, "format": 1, "dated": dated, "refreshed": True})
    document = made.document
    document["zones"] = by_region({zone for one in listed.values() for zone in one.zones}) or shipped["zones"]
    document["families"] = _families(made, shipped["families"], shipped["gpus"], listed, prices)
    document["gpus"] = gpus(made, shipped["gpus"], accelerator_types, prices)
    document["tpus"] = tpus(made, shipped["tpus"], prices)
    _small_parts(document, prices)
    return made


def _listed(machine_types: Iterable[Mapping[str, Any]]) -> dict[str, _Listed]:
    found: dict[str, _Listed] = {}
    for one in machine_types:
        name = str(one["name"])
        if one.get("deprecated", {}).get("state") in ("OBSOLETE", "DELETED") or name.endswith("-metal"):
            continue
        if name not in found:
            accelerators = one.get("accelerators") or [{}]
            found[name] = _Listed(
                int(one["guestCpus"]),
                int(one["memoryMb"]) / 1024,
                str(accelerators[0].get("guestAcceleratorType", "")),
                int(accelerators[0].get("guestAcceleratorCount", 0)),
                int((one.get("bundledLocalSsds") or {}).get("defaultCount", 0)),
                one.get("architecture") == "ARM64",
            )
        found[name].zones.add(str(one["zone"]).rpartition("/")[2])
    return found


def _families(
    made: Composed,
    shipped: Mapping[str, Any],
    known_gpus: Mapping[str, Any],
    listed: Mapping[str, _Listed],
    prices: Prices,
) -> Document:
    by_type = {one["cloud_name"]: name for name, one in known_gpus.items()}
    members: dict[str, dict[str, _Listed]] = {}
    for name, one in listed.items():
        if one.accelerator and one.accelerator not in by_type:
            if not one.accelerator.startswith(TPU_TYPES):  # these come with machines of their own, in another list
                made.unknown.add(one.accelerator)
            continue
        members.setdefault(_family_of(name, one, shipped), {})[name] = one
    families = {}
    for family, machines in members.items():
        before = shipped.get(family, {})
        first = next(iter(machines.values()))
        made_of = {
            "disks": NEW_FAMILY_DISKS,
            "unit": [first.cpus, first.gb],
            **before,
            "machines": {name: _sizes(name, one, before) for name, one in machines.items()},
        }
        made_of.pop("shapes", None)
        if first.arm:
            made_of["architecture"] = "arm64"
        if first.accelerator:
            made_of["gpu"] = by_type[first.accelerator]
        made_of["offers"] = _family_offers(made, family, made_of, machines, before.get("offers", {}), prices)
        made_of["machine_zones"] = _exceptions(machines, made_of["offers"])
        if made_of["offers"]:
            families[family] = made_of
    return families


def _family_of(name: str, one: _Listed, shipped: Mapping[str, Any]) -> str:
    """The longest that the table knows; of a new one the first word, or the first two where GPUs are part of it."""
    known = max((family for family in shipped if name.startswith(f"{family}-")), key=len, default="")
    parts = name.split("-")
    return known or ("-".join(parts[:2]) if one.accelerator else parts[0])


def _sizes(name: str, one: _Listed, before: Mapping[str, Any]) -> list[float]:
    """An API that says nothing of its disks leaves those that the table knows of."""
    known = before.get("machines", {}).get(name, [])
    disks_gb = one.disks * LOCAL_DISK_GB or (known[3] if len(known) > 3 else 0)
    return [one.cpus, one.gb, one.gpus, disks_gb]


def _family_offers(
    made: Composed,
    family: str,
    about: Mapping[str, Any],
    machines: Mapping[str, _Listed],
    before: Mapping[str, str],
    prices: Prices,
) -> dict[str, str]:
    cpus, gb = about["unit"]
    offers = {}
    zones = by_region({zone for one in machines.values() for zone in one.zones})
    for region, letters in zones.items():
        if family in ALL_IN_GPUS:
            offers[region] = f"{letters} 0 0"
            continue
        usd, shares = [], []
        for spot in (False, True):
            core, memory = (_first(table, family, region, spot) for table in (prices.cores, prices.memory))
            whole = None if core is None or memory is None else cpus * core + gb * memory
            usd.append(whole)
            shares.append(gb * (memory or 0.0) / whole if whole else 0.0)
        if usd[0] is None:
            stand_in(made, offers, family, region, letters, before)
        else:
            told = "-" if usd[1] is None else f"{usd[1]:.6g}"
            offers[region] = f"{letters} {usd[0]:.6g} {told} {shares[0]:.6g} {shares[1]:.6g}"
    return offers


def _first(table: Mapping[tuple[str, str, bool], float], family: str, region: str, spot: bool) -> float | None:
    upper = family.upper()
    words = FAMILY_WORDS.get(family) or (f"{upper} Instance", f"{upper} AMD Instance", f"{upper} Arm Instance")
    return next((table[one, region, spot] for one in words if (one, region, spot) in table), None)


def _exceptions(machines: Mapping[str, _Listed], offers: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Of machines that are in fewer zones than their family."""
    whole = {region: line.split()[0] for region, line in offers.items()}
    found = {}
    for name, one in machines.items():
        zones = {region: letters for region, letters in by_region(one.zones).items() if region in whole}
        if zones != whole:
            found[name] = zones
    return found


def _small_parts(document: Document, prices: Prices) -> None:
    """Disks and addresses: of the region where it was read, and of us-central1 for all others."""
    of_regions: dict[str, dict[str, float]] = {}
    for (disk_type, region), usd in prices.disks.items():
        of_regions.setdefault(region, {})[disk_type] = round(usd, 9)
    document["disks_of_regions"] = of_regions
    document["disks"] = {**document["disks"], **of_regions.get(LISTED_IN, {})}
    for name, spot in (("spot", True), ("on demand", False)):
        if spot in prices.addresses:
            document["address"] = {**document["address"], name: prices.addresses[spot]}
        if (LISTED_IN, spot) in prices.local_disks:
            document["ssd"] = {**document["ssd"], name: round(prices.local_disks[LISTED_IN, spot], 9)}
