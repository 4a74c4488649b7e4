"""Cloud Billing's rows: each of their traps, and the prices that are left."""

from __future__ import annotations

from typing import Any

import pytest

from outlast.catalog.skus import read_prices
from outlast_emulator.project import skus as emulated

REGION = "us-central1"


def row(
    words: str, group: str = "CPU", usage: str = "OnDemand", unit: str = "h", *usd: float, region: str = REGION
) -> dict[str, Any]:
    rates = [
        {"startUsageAmount": at, "unitPrice": {"units": str(int(one)), "nanos": round(one % 1 * 1e9)}}
        for at, one in enumerate(usd or (0.5,))
    ]
    return {
        "description": words,
        "category": {"resourceGroup": group, "usageType": usage},
        "serviceRegions": [region],
        "pricingInfo": [{"pricingExpression": {"usageUnit": unit, "tieredRates": rates}}],
    }


def test_a_core_and_a_gigabyte_are_known_by_the_words_before_them() -> None:
    prices = read_prices(
        [
            row("N1 Predefined Instance Core running in Americas", "CPU", "OnDemand", "h", 0.031611),
            row("N1 Predefined Instance Ram running in Americas", "RAM", "OnDemand", "GiBy.h", 0.004237),
            row("Compute optimized Core running in Americas", "CPU", "OnDemand", "h", 0.03398),
        ]
    )
    assert prices.cores["N1 Predefined Instance", REGION, False] == pytest.approx(0.031611)
    assert prices.memory["N1 Predefined Instance", REGION, False] == pytest.approx(0.004237)
    assert prices.cores["Compute optimized", REGION, False] == pytest.approx(0.03398)


@pytest.mark.parametrize(
    "words",
    [
        "N2 Custom Instance Core running in Americas",
        "N2 Instance Core Premium running in Americas",
        "Reserved N2 Instance Core running in Americas",
        "N2 Sole Tenancy Instance Core running in Americas",
        "N2 Instance Core - DWS Defined Duration running in Americas",
        "Commitment v1: N2 Cpu in Americas for 1 Year",
    ],
)
def test_rows_of_machines_that_are_rented_otherwise_are_passed_over(words: str) -> None:
    prices = read_prices([row(words, "CPU", "OnDemand", "h", 9.0), row("N2 Instance Core running in Americas")])
    assert prices.cores == {("N2 Instance", REGION, False): 0.5}


def test_a_commitment_is_no_price_by_the_hour() -> None:
    assert read_prices([row("N2 Instance Core running in Americas", usage="Commit1Yr")]).cores == {}


def test_spot_is_told_by_the_words_where_the_usage_says_on_demand() -> None:
    prices = read_prices(
        [
            row("A4 Nvidia B200 (1 gpu slice) running in Americas", "GPU", "OnDemand", "h", 11.278),
            row("A4 Nvidia B200 (1 gpu slice) Spot Preemptible running in Americas", "GPU", "OnDemand", "h", 4.954),
            row("Nvidia L4 GPU attached to Spot Preemptible VMs running in Americas", "GPU", "Preemptible", "h", 0.336),
            row("TpuV5e running in us-central1", "TPU", "OnDemand", "h", 1.2),
            row("TpuV5e Preemptible running in us-central1", "TPU", "OnDemand", "h", 0.2449),
        ]
    )
    assert prices.gpus["A4 Nvidia B200 (1 gpu slice)", REGION, False] == 11.278
    assert prices.gpus["A4 Nvidia B200 (1 gpu slice)", REGION, True] == 4.954
    assert prices.gpus["Nvidia L4 GPU", REGION, True] == 0.336
    assert (prices.tpus["TpuV5e", REGION, False], prices.tpus["TpuV5e", REGION, True]) == (1.2, 0.2449)


def test_one_gpu_is_not_taken_for_another_whose_name_begins_alike() -> None:
    prices = read_prices(
        [
            row("Nvidia Tesla A100 80GB GPU running in Americas", "GPU", "OnDemand", "h", 3.928),
            row("Nvidia Tesla A100 GPU running in Americas", "GPU", "OnDemand", "h", 2.934),
        ]
    )
    assert prices.gpus["Nvidia Tesla A100 GPU", REGION, False] == 2.934


def test_what_is_free_at_first_has_the_price_that_follows() -> None:
    prices = read_prices(
        [
            row("External IP Charge on a Standard VM", "IpAddress", "OnDemand", "h", 0.0, 0.005),
            row("External IP Charge on a Spot Preemptible VM", "IpAddress", "Preemptible", "h", 0.0, 0.0025),
        ]
    )
    assert prices.addresses == {False: 0.005, True: 0.0025}


def test_disks_are_priced_by_the_month_and_pods_of_older_tpus_are_not_chips() -> None:
    prices = read_prices(
        [
            row("Balanced PD Capacity in Netherlands", "SSD", "OnDemand", "GiBy.mo", 0.11, region="europe-west4"),
            row("Tpu-v2 Pod running in Americas", "TPU", "OnDemand", "h", 24.0),
            row("Tpu-v2 running in Americas", "TPU", "OnDemand", "h", 4.5),
            row("Tpu-v4 Pod running in us-central2", "TPU", "OnDemand", "h", 12.88, region="us-central2"),
        ]
    )
    assert prices.disks["pd-balanced", "europe-west4"] == pytest.approx(0.11 / 730)
    assert prices.tpus == {("Tpu-v2", REGION, False): 4.5, ("Tpu-v4", "us-central2", False): 12.88}


def test_a_row_that_makes_no_sense_is_passed_over() -> None:
    broken: list[dict[str, Any]] = [{}, {"description": "N2 Instance Core running in Americas"}]
    nothing: list[list[Any]] = [[], [{}], [None]]
    broken += [{**row("N2 Instance Core running in Americas"), "pricingInfo": one} for one in nothing]
    assert read_prices([*broken, row("N2 Instance Core running in Americas")]).cores == {
        ("N2 Instance", REGION, False): 0.5
    }


def test_the_emulators_list_has_the_traps_and_they_are_passed() -> None:
    rows = list(emulated.rows())
    prices = read_prices(rows)
    words = " ".join(one["description"] for one in rows)
    for trap in ("Custom", "Reserved", "Sole Tenancy", "Premium", "DWS Defined Duration", "Commitment"):
        assert trap in words
    cores = {key for key in prices.cores if key[1:] == (REGION, False)}
    assert {one.replace(" Core", "") for one, *_ in cores} == set(emulated.FAMILIES)
    whole = 8 * prices.cores["N2 Instance", REGION, True] + 32 * prices.memory["N2 Instance", REGION, True]
    assert whole == pytest.approx(0.223, abs=1e-6)
