"""Compute Engine's price list as Cloud Billing tells it: a core, a gigabyte and a GPU each have a price of their own.

The prices are of August 2026 in us-central1, elsewhere by a factor. Its traps are Google's: what a row is about stands in its
description; Spot rows of some GPUs say `OnDemand`; disks are priced by the month.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SERVICE = "6F81-5844-456A"
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

FAMILIES = {
    "N1 Predefined": (8, 30.0, 0.380, 0.178),
    "N2": (8, 32.0, 0.388, 0.223),
    "N2D AMD": (8, 32.0, 0.338, 0.118),
    "N4": (8, 32.0, 0.379, 0.140),
    "C3": (8, 32.0, 0.403, 0.126),
    "C3D": (8, 32.0, 0.363, 0.077),
    "C4": (8, 30.0, 0.395, 0.237),
    "C4D": (8, 31.0, 0.370, 0.136),
    "E2": (4, 16.0, 0.134, 0.080),
    "G2": (8, 32.0, 0.294, 0.176),
    "A2": (12, 85.0, 0.739, 0.427),
    "A3": (208, 1872.0, 9.46, 5.68),
    "G4": (48, 180.0, 3.404, 1.167),
}
"""Family -> (cores, gigabytes, dollars an hour, the same for Spot) of one machine, which is split into cores and memory."""

GPUS = {
    "Nvidia Tesla T4 GPU": (0.350, 0.1905),
    "Nvidia Tesla V100 GPU": (2.48, 1.357),
    "Nvidia Tesla P100 GPU": (1.46, 0.589),
    "Nvidia L4 GPU": (0.560, 0.336),
    "Nvidia Tesla A100 GPU": (2.934, 1.694),
    "Nvidia Tesla A100 80GB GPU": (3.928, 2.268),
    "Nvidia H100 80GB GPU": (9.797, 5.878),
    "Nvidia H200 141GB GPU": (9.311, 5.378),
    "A4 Nvidia B200 (1 gpu slice)": (11.278, 4.954),
    "RTX 6000 96GB": (1.096, 0.482),
}
SAYS_ON_DEMAND = ("A4 Nvidia B200 (1 gpu slice)",)
"""Their Spot rows are told apart by their words alone."""

DISKS = {
    "Storage PD Capacity": 0.040,
    "Balanced PD Capacity": 0.100,
    "SSD backed PD Capacity": 0.170,
    "Hyperdisk Balanced Capacity": 0.080,
    "Storage Image": 0.050,
}
"""Dollars a gigabyte and month."""


def rows() -> Iterator[dict[str, Any]]:
    for region, (place, factor) in PLACES.items():
        where = f"running in {place}"
        for family, (cores, gigabytes, price, spot) in FAMILIES.items():
            weight = cores + RAM_BY_CORE * gigabytes
            for usage, whole, first in (("OnDemand", price, ""), ("Preemptible", spot, "Spot Preemptible ")):
                core = whole / weight * factor
                yield _row(f"{first}{family} Instance Core {where}", "CPU", usage, region, core)
                yield _row(f"{first}{family} Instance Ram {where}", "RAM", usage, region, core * RAM_BY_CORE, "GiBy.h")
        for gpu, (price, spot) in GPUS.items():
            yield _row(f"{gpu} {where}", "GPU", "OnDemand", region, price * factor)
            usage = "OnDemand" if gpu in SAYS_ON_DEMAND else "Preemptible"
            yield _row(f"{gpu} attached to Spot Preemptible VMs {where}", "GPU", usage, region, spot * factor)
        for disk, price in DISKS.items():
            yield _row(
                f"{disk} in {place}", "SSD" if "SSD" in disk else "PDStandard", "OnDemand", region, price, "GiBy.mo"
            )


def _row(description: str, group: str, usage: str, region: str, price: float, unit: str = "h") -> dict[str, Any]:
    nanos = round(price * 1_000_000_000)
    sku = f"{abs(_number(description + region + usage)):012X}"
    family = "Storage" if unit == "GiBy.mo" else "Compute"
    return {
        "name": f"services/{SERVICE}/skus/{sku[:4]}-{sku[4:8]}-{sku[8:12]}",
        "skuId": f"{sku[:4]}-{sku[4:8]}-{sku[8:12]}",
        "description": description,
        "category": {
            "serviceDisplayName": "Compute Engine",
            "resourceFamily": family,
            "resourceGroup": group,
            "usageType": usage,
        },
        "serviceRegions": [region],
        "pricingInfo": [
            {
                "effectiveTime": "2026-08-21T00:00:00Z",
                "pricingExpression": {
                    "usageUnit": unit,
                    "displayQuantity": 1,
                    "tieredRates": [
                        {
                            "startUsageAmount": 0,
                            "unitPrice": {
                                "currencyCode": "USD",
                                "units": str(nanos // 1_000_000_000),
                                "nanos": nanos % 1_000_000_000,
                            },
                        }
                    ],
                },
                "currencyConversionRate": 1,
            }
        ],
        "serviceProviderName": "Google",
    }


def _number(text: str) -> int:
    """The same in every process, unlike `hash`."""
    found = 0
    for letter in text.encode():
        found = (found * 131 + letter) % (1 << 48)
    return found
