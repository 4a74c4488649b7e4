"""GPUs and TPUs of a new table, and what every part of composing one needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from outlast.catalog.sku_words import CHIPS_A_ROW, GPU_WORDS, TPU_WORDS
from outlast.catalog.skus import Prices
from outlast.dataclass import dataclass

Document = dict[str, Any]


@dataclass
class Composed:
    document: Document
    estimated: int = 0
    """Offers whose price is in no list: the shipped one stands for it."""

    unpriced: set[str] = field(default_factory=set)
    """Families and GPUs that some region has, at a price that nobody knows: they are left out there."""

    unknown: set[str] = field(default_factory=set)
    """GPUs that this version does not know."""


def gpus(
    made: Composed, shipped: Mapping[str, Any], accelerator_types: Iterable[Mapping[str, Any]], prices: Prices
) -> Document:
    zones: dict[str, set[str]] = {}
    for one in accelerator_types:
        zones.setdefault(str(one["name"]), set()).add(str(one["zone"]).rpartition("/")[2])
    found = {}
    for name, one in shipped.items():
        found[name] = one
        if one.get("gone"):
            continue
        offers: dict[str, str] = {}
        for region, letters in by_region(zones.get(one["cloud_name"], set())).items():
            usd, usd_spot = (_priced(prices, GPU_WORDS.get(name, ()), region, spot) for spot in (False, True))
            if usd is None:
                stand_in(made, offers, name, region, letters, one.get("offers", {}))
            else:
                offers[region] = f"{letters} {usd:.6g} {'-' if usd_spot is None else f'{usd_spot:.6g}'}"
        found[name] = {**one, "offers": offers}
    return found


def _priced(prices: Prices, words: Iterable[str], region: str, spot: bool) -> float | None:
    return next((prices.gpus[one, region, spot] for one in words if (one, region, spot) in prices.gpus), None)


def tpus(made: Composed, shipped: Mapping[str, Any], prices: Prices) -> Document:
    """Where they are is as the table has it: no list of Compute Engine's says so."""
    found = {}
    for name, one in shipped.items():
        offers: dict[str, str] = {}
        for region, line in one["offers"].items():
            letters, chips = line.split()[0], CHIPS_A_ROW.get(name, 1)
            usd, usd_spot = (prices.tpus.get((TPU_WORDS.get(name, ""), region, spot)) for spot in (False, True))
            if usd is None:
                stand_in(made, offers, name, region, letters, one["offers"])
            else:
                offers[region] = f"{letters} {usd / chips:.6g} {'-' if usd_spot is None else f'{usd_spot / chips:.6g}'}"
        found[name] = {**one, "offers": offers}
    return found


def stand_in(
    made: Composed, offers: dict[str, str], what: str, region: str, letters: str, before: Mapping[str, str]
) -> None:
    """The shipped price, as an estimate, of what Google has and tells no price of."""
    if region not in before:
        made.unpriced.add(what)
        return
    _, usd, usd_spot, *_ = before[region].split()
    offers[region] = f"{letters} {usd} {usd_spot} ~"
    made.estimated += 1


def by_region(zones: Iterable[str]) -> dict[str, str]:
    """`us-central1`: `abf`; `a,ai1b` where one has a longer name."""
    found: dict[str, list[str]] = {}
    for zone in sorted(zones):
        region, _, name = zone.rpartition("-")
        found.setdefault(region, []).append(name)
    return {
        region: "".join(names) if all(len(name) == 1 for name in names) else ",".join([*names, ""])
        for region, names in sorted(found.items())
    }
