"""The table that ships with the tool is whole, and says nothing that contradicts itself."""

from __future__ import annotations

import datetime
import json

from outlast.catalog.prices import Billed, price
from outlast.catalog.table import PATH, shipped

KNOWN = shipped()


def test_it_is_dated_and_compact() -> None:
    assert datetime.date.fromisoformat(KNOWN.dated)
    assert PATH.stat().st_size < 64_000
    assert json.loads(PATH.read_text())["dated"] == KNOWN.dated


def test_every_offer_is_in_a_zone_that_there_is_and_spot_is_not_dearer() -> None:
    tables = {
        f"{name} {kind}": one.offers
        for kind, table in (("family", KNOWN.families), ("gpu", KNOWN.gpus))
        for name, one in table.items()
    }
    for name, offers in tables.items():
        for region, offer in offers.items():
            assert offer.zones and set(offer.zones) <= set(KNOWN.regions[region]), (name, region)
            assert offer.usd_spot is None or 0 <= offer.usd_spot <= offer.usd, (name, region)


def test_every_gpu_that_can_be_rented_has_machines_an_image_and_a_place_where_both_are() -> None:
    for gpu in KNOWN.gpus.values():
        if gpu.gone:
            assert not gpu.offers and KNOWN.gpus[gpu.successor].offers
            continue
        project, _, family = gpu.image.partition("/")
        assert KNOWN.images[family] == project
        assert KNOWN.counts(gpu)
        for count in KNOWN.counts(gpu):
            carriers = KNOWN.carriers(gpu, count)
            assert carriers, (gpu.name, count)
            for region, offer in gpu.offers.items():
                there = [KNOWN.families[one.family].offers.get(region) for one in carriers]
                met = [set(one.zones) & set(offer.zones) for one in there if one is not None]
                if count == min(KNOWN.counts(gpu)):
                    assert any(met), (gpu.name, region)


def test_every_machine_has_a_price_wherever_it_is_offered() -> None:
    for machine in KNOWN.machines():
        family = KNOWN.families[machine.family]
        assert machine.cpus > 0 and machine.memory_gb > 0
        gpu = KNOWN.gpus.get(machine.gpu)
        for region in family.offers:
            billed = Billed(machine, gpu, machine.gpus, family.disks[0], 50, external_ip=True)
            if gpu is not None and region not in gpu.offers:
                continue
            spot, on_demand = (price(KNOWN, billed, region, spot=one) for one in (True, False))
            assert spot is not None and on_demand is not None and 0 < spot.total < on_demand.total, machine.name


def test_list_prices_of_known_machines_are_what_the_list_says() -> None:
    """us-central1, on demand and as Spot."""
    for name, usd, usd_spot in (
        ("n1-standard-8", 0.380, 0.178),
        ("n2d-standard-8", 0.338, 0.118),
        ("c3-standard-8", 0.403, 0.126),
    ):
        machine = KNOWN.machine(name)
        assert machine is not None
        billed = Billed(machine, None, 0, "pd-balanced", 0, external_ip=False)
        for spot, listed in ((False, usd), (True, usd_spot)):
            found = price(KNOWN, billed, "us-central1", spot=spot)
            assert found is not None and abs(found.total - listed) < 0.001, (name, found)


def test_custom_types_are_read_from_their_names_and_priced_between_their_neighbours() -> None:
    custom = KNOWN.machine("n2-custom-8-32768")
    assert custom is not None and (custom.cpus, custom.memory_gb) == (8, 32.0)
    old = KNOWN.machine("custom-4-16384")
    assert old is not None and old.family == "n1"
    assert KNOWN.machine("n2-custom-8-131072-ext") is not None
    for wrong in (
        "n2-custom-7-32768",
        "n2-custom-8-32769",
        "n2-custom-8-131072",
        "n2-custom-0-1024",
        "a2-custom-8-32768",
        "n2-custom-8",
    ):
        assert KNOWN.machine(wrong) is None, wrong
    usd = {
        name: price(KNOWN, Billed(machine, None, 0, "pd-balanced", 0, external_ip=False), "us-central1", spot=True)
        for name in ("n2-highcpu-8", "n2-custom-8-24576", "n2-standard-8")
        if (machine := KNOWN.machine(name)) is not None
    }
    low, middle, high = (one.total for one in usd.values() if one is not None)
    assert low < middle < high


def test_a_disk_an_address_and_what_is_inside_are_paid_for_too() -> None:
    machine = KNOWN.machine("a2-ultragpu-1g")
    assert machine is not None and machine.ssd_gb == 375
    gpu = KNOWN.gpus["A100-80GB"]
    whole = price(KNOWN, Billed(machine, gpu, 1, "pd-ssd", 100, external_ip=True), "us-central1", spot=False)
    assert whole is not None
    assert set(whole.parts()) == {"machine", "gpus", "disk", "address"}
    assert abs(whole.disk - 100 * 0.17 / 730) < 1e-4
    assert whole.machine > 1.0996 + 0.04  # the local disks
    assert price(KNOWN, Billed(machine, gpu, 1, "floppy", 100, external_ip=True), "us-central1", spot=False) is None
    assert price(KNOWN, Billed(machine, gpu, 1, "pd-ssd", 100, external_ip=True), "europe-north1", spot=False) is None


def test_small_machines_that_share_their_cores_cost_a_part_of_them() -> None:
    """us-central1, on demand, as Google lists them."""
    for name, usd in (("e2-micro", 0.00838), ("e2-small", 0.01675), ("e2-medium", 0.0335)):
        machine = KNOWN.machine(name)
        assert machine is not None and machine.cpus == 2
        billed = Billed(machine, None, 0, "pd-balanced", 0, external_ip=False)
        found = price(KNOWN, billed, "us-central1", spot=False)
        assert found is not None and abs(found.total - usd) < 0.0002, (name, found)


def test_a_price_says_which_of_its_parts_are_estimates() -> None:
    machine, gpu = KNOWN.machine("g2-standard-8"), KNOWN.gpus["L4"]
    plain = KNOWN.machine("n2-standard-8")
    assert machine is not None and plain is not None
    for what, region, estimated in (
        (Billed(plain, None, 0, "pd-balanced", 50, external_ip=True), "us-central1", ()),
        (Billed(plain, None, 0, "pd-balanced", 50, external_ip=True), "us-east1", ("machine", "disk")),
        (Billed(machine, gpu, 1, "pd-balanced", 50, external_ip=True), "europe-west4", ("disk",)),
    ):
        found = price(KNOWN, what, region, spot=True)
        assert found is not None and found.estimated == estimated, region


def test_tpus_are_known_by_every_name_and_priced_by_the_chip() -> None:
    for name in ("v5e", "V5E", "tpu-v5e", "v5litepod", "tpu_v5e"):
        tpu = KNOWN.tpu(name)
        assert tpu is not None and tpu.name == "v5e" and tpu.accelerator(8) == "v5litepod-8"
    pod = KNOWN.tpus["v5p"]
    assert pod.accelerator(4) == "v5p-8" and pod.offers["us-central1"].usd * 4 == 16.8
    assert KNOWN.tpu("L4") is None and KNOWN.gpu("v5e") is None
    for tpu in KNOWN.tpus.values():
        for region, offer in tpu.offers.items():
            assert offer.zones and (offer.usd_spot is None or 0 < offer.usd_spot < offer.usd), (tpu.name, region)
