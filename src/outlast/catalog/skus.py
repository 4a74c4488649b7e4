"""Cloud Billing's rows turned into prices: of a core, a gigabyte of memory, a GPU, a chip, a disk, in each region.

What a row is about stands nowhere but in its description, and most rows are about something else. The traps, each with a test:
machines that are reserved, custom, sole tenants' or time-boxed have rows with the same words and more; Spot rows of some GPUs and of
all TPUs call themselves `OnDemand`; a first tier may be free; the place in a description is no region.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from outlast.dataclass import dataclass
from outlast.pattern import pattern

COMPUTE_SERVICE = "6F81-5844-456A"
TPU_SERVICE = "E000-3F24-B8AA"
HOURS_A_MONTH = 730.0

SKIPPED = ("custom", "premium", "reserved", "sole tenancy", "defined duration", "commitment", "calendar mode")
"""Rows of machines that are rented in another way."""

USAGES = ("OnDemand", "Preemptible")

_SPOT = pattern(r"\s*(?:attached to )?(?:spot )?preemptible(?: vms?)?", re.IGNORECASE)
_PLACE = pattern(r"\s+(?:running )?in .+$")
_TPU = pattern(r"(TpuV[0-9]+[a-z]?|Tpu-v[0-9]+[a-z]?)( Pod)?\b")

DISKS = {
    "Storage PD Capacity": "pd-standard",
    "Balanced PD Capacity": "pd-balanced",
    "SSD backed PD Capacity": "pd-ssd",
    "Extreme PD Capacity": "pd-extreme",
    "Hyperdisk Balanced Capacity": "hyperdisk-balanced",
}
LOCAL_DISK = "SSD backed Local Storage"
ADDRESS = pattern(r"External IP Charge on a(?: Standard)?(?: VM)?", re.IGNORECASE)

Key = tuple[str, str, bool]
"""(what, region, whether as Spot)."""


@dataclass
class Prices:
    """US dollars an hour; whatever is asked for in a description's own words, without Spot and place."""

    cores: dict[Key, float] = field(default_factory=dict)
    memory: dict[Key, float] = field(default_factory=dict)
    """Of a gigabyte."""

    gpus: dict[Key, float] = field(default_factory=dict)
    tpus: dict[Key, float] = field(default_factory=dict)
    """By the first word: of one chip from v5 on, of four chips before."""

    disks: dict[tuple[str, str], float] = field(default_factory=dict)
    """(type, region) -> of a gigabyte."""

    local_disks: dict[tuple[str, bool], float] = field(default_factory=dict)
    addresses: dict[bool, float] = field(default_factory=dict)


def read_prices(rows: Iterable[Mapping[str, Any]]) -> Prices:
    """Of two rows for the same the first counts."""
    prices = Prices()
    for row in rows:
        category, words = row.get("category", {}), str(row.get("description", ""))
        if category.get("usageType") not in USAGES or any(word in words.lower() for word in SKIPPED):
            continue
        unit, usd = _rate(row)
        if usd is None:
            continue
        spot = category["usageType"] == "Preemptible" or "preemptible" in words.lower()
        plain = _PLACE.sub("", _SPOT.sub("", words)).strip()
        for region in row.get("serviceRegions", ()):
            _take(prices, str(category.get("resourceGroup", "")), plain, str(region), spot, unit, usd)
    return prices


def _take(prices: Prices, group: str, words: str, region: str, spot: bool, unit: str, usd: float) -> None:
    tpu = _TPU.match(words)
    if tpu is not None:
        if unit == "h" and (
            not tpu[2] or tpu[1] == "Tpu-v4"
        ):  # v4 is sold in pods alone, and pods of older ones by contract
            prices.tpus.setdefault((tpu[1], region, spot), usd)
    elif group == "GPU" and unit == "h":
        prices.gpus.setdefault((words, region, spot), usd)
    elif words.endswith(" Core") and unit == "h":
        prices.cores.setdefault((words.removesuffix(" Core"), region, spot), usd)
    elif words.endswith(" Ram") and unit == "GiBy.h":
        prices.memory.setdefault((words.removesuffix(" Ram"), region, spot), usd)
    elif words in DISKS and unit == "GiBy.mo" and not spot:
        prices.disks.setdefault((DISKS[words], region), usd / HOURS_A_MONTH)
    elif words == LOCAL_DISK and unit == "GiBy.mo":
        prices.local_disks.setdefault((region, spot), usd / HOURS_A_MONTH)
    elif ADDRESS.fullmatch(words) and unit == "h":
        prices.addresses.setdefault(spot, usd)


def _rate(row: Mapping[str, Any]) -> tuple[str, float | None]:
    """Its unit, and the price of one beyond what is free."""
    try:
        expression = row["pricingInfo"][-1]["pricingExpression"]
        last = max(expression["tieredRates"], key=lambda rate: float(rate.get("startUsageAmount", 0)))["unitPrice"]
        usd = int(last.get("units") or 0) + float(last.get("nanos") or 0) / 1e9
        return str(expression.get("usageUnit", "")), usd
    except (KeyError, IndexError, TypeError, ValueError):
        return "", None
