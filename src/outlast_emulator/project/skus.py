"""The price lists of Compute Engine and Cloud TPU as Cloud Billing tells them: a core, a gigabyte, a GPU and a chip each have a price.

The prices are of August 2026 in us-central1, elsewhere by a factor. Its traps are Google's: what a row is about stands in its
description; Spot rows of some GPUs, and of all TPUs, say `OnDemand`; disks are priced by the month; beside each plain row there are
others of the same words and more, for machines of one's own, for commitments, for what is reserved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from outlast_emulator.compute.accelerators import ACCELERATORS
from outlast_emulator.compute.places import REGIONS

SERVICE = "6F81-5844-456A"
TPU_SERVICE = "E000-3F24-B8AA"
SERVICES = {SERVICE: "Compute Engine", TPU_SERVICE: "Cloud TPU"}
RAM_BY_CORE = 0.134
"""What a gigabyte costs of a core's price: about the same in all families."""

PLACES = {
    "us-central1": ("Americas", 1.0),
    "us-east1": ("Americas", 1.0),
    "us-west1": ("Americas", 1.0),
    "us-east4": ("Northern Virginia", 1.126),
    "europe-west1": ("EMEA", 1.1),
    "europe-west4": ("Netherlands", 1.101),
    "asia-east1": ("APAC", 1.158),
    "asia-southeast1": ("Singapore", 1.233),
}
"""Region -> (as descriptions call it, the factor on every price)."""

CONTINENTS = {
    "africa": ("Johannesburg", 1.308),
    "asia": ("APAC", 1.2),
    "australia": ("Sydney", 1.42),
    "europe": ("EMEA", 1.15),
    "me": ("Middle East", 1.2),
    "northamerica": ("Montreal", 1.1),
    "southamerica": ("Sao Paulo", 1.587),
    "us": ("Dallas", 1.15),
}
"""The same for the regions that are not in that list."""

FAMILIES = {
    "N1 Predefined Instance": (8, 30.0, 0.380, 0.178),
    "N2 Instance": (8, 32.0, 0.388, 0.223),
    "N2D AMD Instance": (8, 32.0, 0.338, 0.118),
    "N4 Instance": (8, 32.0, 0.379, 0.140),
    "C2D AMD Instance": (8, 32.0, 0.3632, 0.113),
    "C3 Instance": (8, 32.0, 0.403, 0.126),
    "C3D Instance": (8, 32.0, 0.363, 0.077),
    "C4 Instance": (8, 30.0, 0.395, 0.237),
    "C4A Arm Instance": (8, 32.0, 0.359, 0.130),
    "C4D Instance": (8, 31.0, 0.370, 0.136),
    "Compute optimized": (8, 32.0, 0.4176, 0.129),
    "E2 Instance": (4, 16.0, 0.134, 0.080),
    "T2A Arm Instance": (8, 32.0, 0.308, 0.112),
    "T2D AMD Instance": (8, 32.0, 0.338, 0.0642),
    "G2 Instance": (8, 32.0, 0.294, 0.176),
    "A2 Instance": (12, 85.0, 0.739, 0.427),
    "A3 Instance": (208, 1872.0, 9.46, 5.68),
    "A3Ultra Instance": (224, 2952.0, 10.3, 5.9),
    "G4 Instance": (48, 180.0, 3.404, 1.167),
}
"""Family -> (cores, gigabytes, dollars an hour, the same for Spot) of one machine, split into cores and memory. A4 has no such row."""

GPUS = {
    "Nvidia Tesla T4 GPU": ("nvidia-tesla-t4", 0.350, 0.1905),
    "Nvidia Tesla V100 GPU": ("nvidia-tesla-v100", 2.48, 1.357),
    "Nvidia Tesla P100 GPU": ("nvidia-tesla-p100", 1.46, 0.589),
    "Nvidia Tesla P4 GPU": ("nvidia-tesla-p4", 0.6, 0.24),
    "Nvidia L4 GPU": ("nvidia-l4", 0.560, 0.336),
    "Nvidia Tesla A100 GPU": ("nvidia-tesla-a100", 2.934, 1.694),
    "Nvidia Tesla A100 80GB GPU": ("nvidia-a100-80gb", 3.928, 2.268),
    "Nvidia H100 80GB GPU": ("nvidia-h100-80gb", 9.797, 5.878),
    "Nvidia H100 80GB Mega GPU": ("nvidia-h100-mega-80gb", 10.2, 6.1),
    "Nvidia H200 141GB GPU": ("nvidia-h200-141gb", 9.311, 5.378),
    "A4 Nvidia B200 (1 gpu slice)": ("nvidia-b200", 11.278, 4.954),
    "RTX 6000 96GB": ("nvidia-rtx-pro-6000", 1.096, 0.482),
}
"""As descriptions call it -> (its type, dollars an hour, the same for Spot)."""

SAYS_ON_DEMAND = ("A4 Nvidia B200 (1 gpu slice)",)
"""Their Spot rows are told apart by their words alone."""

PLUS_REGIONS = ("europe-west1", "europe-west4")
"""Where the H100 Mega is called Plus."""

TPUS = {
    "TpuV5e": (SERVICE, 1.2, 0.2449),
    "TpuV5p": (SERVICE, 4.2, 0.8125),
    "TpuV6e": (SERVICE, 2.7, 0.5729),
    "Tpu-v2": (TPU_SERVICE, 4.5, 1.35),
    "Tpu-v3": (TPU_SERVICE, 8.0, 2.04),
    "Tpu-v4 Pod": (TPU_SERVICE, 12.88, 3.686),
}
"""As descriptions call it -> (whose list has it, dollars an hour, the same for Spot): of a chip from v5 on, of four chips before."""

TPU_REGIONS = {
    "TpuV5e": ("us-central1", "us-east1", "us-west1", "europe-west4", "asia-southeast1"),
    "TpuV5p": ("us-central1", "us-east5", "europe-west4"),
    "TpuV6e": ("us-central1", "us-east5", "europe-west4"),
    "Tpu-v2": ("us-central1", "europe-west4"),
    "Tpu-v3": ("us-central1", "europe-west4"),
    "Tpu-v4 Pod": ("us-central2",),
}

DISKS = {
    "Storage PD Capacity": 0.040,
    "Balanced PD Capacity": 0.100,
    "SSD backed PD Capacity": 0.170,
    "Hyperdisk Balanced Capacity": 0.080,
    "SSD backed Local Storage": 0.080,
    "Storage Image": 0.050,
}
"""Dollars a gigabyte and month."""

ADDRESSES = {
    "External IP Charge on a Standard VM": ("OnDemand", 0.005),
    "External IP Charge on a Spot Preemptible VM": ("Preemptible", 0.0025),
}

ALIKE = (
    ("{} Sole Tenancy Instance Core", 1.0),
    ("{} Custom Instance Core", 1.05),
    ("Reserved {} Instance Core", 1.0),
    ("{} Instance Core - DWS Defined Duration", 0.5),
    ("Sole Tenancy Premium for {} Instance Core", 0.1),
)
"""Rows that speak of the same cores and mean something else, and by how much of their price."""


def rows(service: str = SERVICE) -> Iterator[dict[str, Any]]:
    for region in REGIONS:
        place, factor = PLACES.get(region) or CONTINENTS[region.split("-")[0]]
        if service == SERVICE:
            yield from _machines(region, place, factor)
            yield from _gpus(region, place, factor)
            yield from _storage(region, place, factor)
    yield from _tpus(service)


def _machines(region: str, place: str, factor: float) -> Iterator[dict[str, Any]]:
    where = f"running in {place}"
    for family, (cores, gigabytes, price, spot) in FAMILIES.items():
        weight = cores + RAM_BY_CORE * gigabytes
        for usage, whole, first in (("OnDemand", price, ""), ("Preemptible", spot, "Spot Preemptible ")):
            core = whole / weight * factor
            yield _row(f"{first}{family} Core {where}", "CPU", usage, region, core)
            yield _row(f"{first}{family} Ram {where}", "RAM", usage, region, core * RAM_BY_CORE, "GiBy.h")
    core = FAMILIES["N2 Instance"][2] / (8 + RAM_BY_CORE * 32) * factor
    for words, share in ALIKE:
        yield _row(f"{words.format('N2')} {where}", "CPU", "OnDemand", region, core * share)
    yield _row(f"Commitment v1: N2 Cpu in {place} for 1 Year", "CPU", "Commit1Yr", region, core * 0.63)
    for words, (usage, price) in ADDRESSES.items():
        yield _row(words, "IpAddress", usage, region, price, tiers=(0.0, price))


def _gpus(region: str, place: str, factor: float) -> Iterator[dict[str, Any]]:
    where = f"running in {place}"
    for words, (name, price, spot) in GPUS.items():
        if not any(zone.startswith(f"{region}-") for zone in ACCELERATORS[name].zones):
            continue
        called = words.replace("Mega", "Plus") if region in PLUS_REGIONS else words
        yield _row(f"{called} {where}", "GPU", "OnDemand", region, price * factor)
        usage = "OnDemand" if words in SAYS_ON_DEMAND else "Preemptible"
        yield _row(f"{called} attached to Spot Preemptible VMs {where}", "GPU", usage, region, spot * factor)
        yield _row(f"Reserved {called} {where}", "GPU", "OnDemand", region, price * factor * 0.9)


def _storage(region: str, place: str, factor: float) -> Iterator[dict[str, Any]]:
    for disk, price in DISKS.items():
        group = "SSD" if "SSD" in disk else "PDStandard"
        yield _row(f"{disk} in {place}", group, "OnDemand", region, price * factor, "GiBy.mo")


def _tpus(service: str) -> Iterator[dict[str, Any]]:
    for words, (listed, price, spot) in TPUS.items():
        for region in TPU_REGIONS[words] if listed == service else ():
            _, factor = PLACES.get(region, ("", 1.0))
            where = f"running in {region}"
            yield _row(f"{words} {where}", "TPU", "OnDemand", region, price * factor, service=service)
            yield _row(f"{words} Preemptible {where}", "TPU", "OnDemand", region, spot * factor, service=service)


def _row(
    description: str,
    group: str,
    usage: str,
    region: str,
    price: float,
    unit: str = "h",
    *,
    service: str = SERVICE,
    tiers: tuple[float, ...] = (),
) -> dict[str, Any]:
    """`tiers`: what is paid at first, and then; the price alone if not said."""
    sku = f"{abs(_number(description + region + usage)):012X}"
    family = "Storage" if unit == "GiBy.mo" else "Network" if group == "IpAddress" else "Compute"
    rates = [{"startUsageAmount": at, "unitPrice": _money(one)} for at, one in enumerate(tiers or (price,))]
    return {
        "name": f"services/{service}/skus/{sku[:4]}-{sku[4:8]}-{sku[8:12]}",
        "skuId": f"{sku[:4]}-{sku[4:8]}-{sku[8:12]}",
        "description": description,
        "category": {
            "serviceDisplayName": SERVICES[service],
            "resourceFamily": family,
            "resourceGroup": group,
            "usageType": usage,
        },
        "serviceRegions": [region],
        "pricingInfo": [
            {
                "effectiveTime": "2026-08-21T00:00:00Z",
                "pricingExpression": {"usageUnit": unit, "displayQuantity": 1, "tieredRates": rates},
                "currencyConversionRate": 1,
            }
        ],
        "serviceProviderName": "Google",
    }


def _money(usd: float) -> dict[str, Any]:
    nanos = round(usd * 1_000_000_000)
    return {"currencyCode": "USD", "units": str(nanos // 1_000_000_000), "nanos": nanos % 1_000_000_000}


def _number(text: str) -> int:
    """The same in every process, unlike `hash`."""
    found = 0
    for letter in text.encode():
        found = (found * 131 + letter) % (1 << 48)
    return found
