"""A new table out of Google's lists: what this version does not know, what has no price, and what is only somewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from outlast.catalog.compose import compose
from outlast.catalog.compose_accelerators import Composed
from outlast.catalog.prices import machine_usd
from outlast.catalog.skus import Prices
from outlast.catalog.table import PATH, Catalog

SHIPPED: dict[str, Any] = json.loads(PATH.read_text())
REGION = "us-central1"


def machine(name: str, zone: str, cpus: int = 8, gb: int = 32, **more: Any) -> dict[str, Any]:
    return {"name": name, "zone": f"https://compute/zones/{zone}", "guestCpus": cpus, "memoryMb": gb * 1024, **more}


def gpu(name: str, count: int) -> dict[str, Any]:
    return {"accelerators": [{"guestAcceleratorType": name, "guestAcceleratorCount": count}]}


def prices() -> Prices:
    """Of N2 in two regions, in one of them not as Spot, and of what no version of today knows."""
    found = Prices()
    for words in ("N2 Instance", "X9 Instance"):
        for region, spot in ((REGION, False), (REGION, True), ("us-east1", False)):
            found.cores[words, region, spot] = 0.01 if spot else 0.03
            found.memory[words, region, spot] = 0.002 if spot else 0.004
    return found


def composed(*machines: dict[str, Any], gpus: tuple[dict[str, Any], ...] = ()) -> tuple[Composed, Catalog]:
    made = compose(SHIPPED, machines, gpus, prices(), "2027-01-01")
    return made, Catalog(json.loads(json.dumps(made.document)))


def test_places_sizes_and_prices_are_googles_and_the_rest_stays() -> None:
    _, known = composed(
        machine("n2-standard-8", "us-central1-a"),
        machine("n2-standard-8", "us-central1-ai1b"),
        machine("n2-standard-8", "us-east1-b"),
        machine("n2-highmem-8", "us-central1-a", gb=64),
    )
    assert known.dated == "2027-01-01" and known.refreshed and known.gpus["L4"].image
    assert known.regions == {REGION: ("us-central1-a", "us-central1-ai1b"), "us-east1": ("us-east1-b",)}
    family = known.families["n2"]
    assert family.disks[0] == "pd-balanced" and family.custom_gb == (0.5, 8) and family.current
    assert set(family.machines) == {"n2-standard-8", "n2-highmem-8"}
    large = family.machines["n2-highmem-8"]
    assert machine_usd(known, large, REGION, spot=False) == pytest.approx(8 * 0.03 + 64 * 0.004)
    assert machine_usd(known, large, REGION, spot=True) == pytest.approx(8 * 0.01 + 64 * 0.002)
    assert machine_usd(known, family.machines["n2-standard-8"], "us-east1", spot=True) is None, "not as Spot there"
    assert large.zones == {REGION: ("us-central1-a",)} and family.machines["n2-standard-8"].zones is None


def test_a_family_that_is_younger_than_the_tool_can_be_rented() -> None:
    _, known = composed(machine("x9-standard-8", "us-central1-a", architecture="ARM64"))
    family = known.families["x9"]
    assert (family.disks, family.architecture) == (("hyperdisk-balanced",), "arm64")
    assert machine_usd(known, family.machines["x9-standard-8"], REGION, spot=False) == pytest.approx(0.368)


def test_gpus_that_are_not_known_are_named_and_tpus_are_no_gpus() -> None:
    made, known = composed(
        machine("n2-standard-8", "us-central1-a"),
        machine("z1-highgpu-8g", "us-central1-a", **gpu("nvidia-z100", 8)),
        machine("ct5lp-hightpu-4t", "us-central1-a", **gpu("ct5lp", 4)),
    )
    assert made.unknown == {"nvidia-z100"} and known.machine("z1-highgpu-8g") is None


def test_without_a_price_the_shipped_one_is_an_estimate_and_what_has_none_is_left_out() -> None:
    made, known = composed(
        machine("n1-standard-8", "us-central1-a", gb=30),
        machine("h3-standard-88", "us-central1-a"),
        machine("g2-standard-8", "us-central1-a", **gpu("nvidia-l4", 1)),
        gpus=(
            {"name": "nvidia-l4", "zone": "zones/us-central1-a"},
            {"name": "nvidia-l4", "zone": "zones/africa-south1-a"},
        ),
    )
    assert made.unpriced == {"h3", "L4"} and "h3" not in known.families
    old = known.families["n1"].offers[REGION]
    assert old.estimated and old.usd == 0.38 and old.zones == ("us-central1-a",)
    assert known.gpus["L4"].offers[REGION].estimated and "africa-south1" not in known.gpus["L4"].offers
    assert made.estimated >= 3


def test_what_is_obsolete_or_bare_metal_is_not_offered() -> None:
    _, known = composed(
        machine("n2-standard-8", "us-central1-a"),
        machine("n2-standard-16", "us-central1-a", deprecated={"state": "OBSOLETE"}),
        machine("n2-standard-96-metal", "us-central1-a"),
    )
    assert set(known.families["n2"].machines) == {"n2-standard-8"}


def test_disks_that_come_with_a_machine_are_googles_or_the_tables() -> None:
    _, known = composed(
        machine("n2-standard-8-lssd", "us-central1-a", bundledLocalSsds={"defaultCount": 2}),
        machine("a2-ultragpu-1g", "us-central1-a", cpus=12, gb=170, **gpu("nvidia-a100-80gb", 1)),
    )
    with_disks, table = known.machine("n2-standard-8-lssd"), known.machine("a2-ultragpu-1g")
    assert with_disks is not None and with_disks.ssd_gb == 750
    assert table is not None and (table.ssd_gb, table.gpu, table.gpus) == (375, "A100-80GB", 1)
