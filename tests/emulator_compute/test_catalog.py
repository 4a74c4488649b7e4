"""The emulator and outlast's own catalog were written apart: they know the same places, machines, GPUs and images."""

from __future__ import annotations

import pytest

from outlast.catalog import prices
from outlast.catalog.table import shipped
from outlast_emulator.compute import accelerators, images, machine_types, places

CATALOG = shipped()


def test_every_zone_and_machine_type_of_the_catalog_is_there() -> None:
    assert {zone for zones in CATALOG.regions.values() for zone in zones} <= set(places.ZONES)
    for known in CATALOG.machines():
        found = machine_types.find(known.name)
        assert found is not None, known.name
        assert (found.cpus, round(found.memory_mb / 1024, 1)) == (known.cpus, round(known.memory_gb, 1)), known.name
        gpu = CATALOG.gpus[known.gpu].cloud_name if known.gpu else ""
        assert (found.accelerator, found.accelerators) == (gpu, known.gpus), known.name


def test_every_gpu_is_where_the_catalog_says() -> None:
    for gpu in CATALOG.gpus.values():
        for offer in gpu.offers.values():
            for zone in offer.zones:
                assert accelerators.in_zone(gpu.cloud_name, zone), (gpu.name, zone)


def test_every_image_family_of_the_catalog_is_published() -> None:
    published = {(project, family) for project, family, *_ in images.PUBLIC}
    assert {(project, family) for family, project in CATALOG.images.items()} <= published


@pytest.mark.parametrize("spot", [False, True])
def test_prices_agree_within_a_sixth(spot: bool) -> None:
    for known in CATALOG.machines():
        price = prices.machine_usd(CATALOG, known, "us-central1", spot=spot)
        found = machine_types.find(known.name)
        if price is None or found is None or known.family.startswith("a4"):  # a4's price is its GPUs'
            continue
        alone = machine_types.MachineType(found.name, found.cpus, found.memory_mb)
        assert machine_types.usd_per_hour(alone, {}, spot) == pytest.approx(price, rel=1 / 6), known.name
