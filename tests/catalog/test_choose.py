"""A machine is chosen for whoever says little, and a wrong one is answered with those that there are."""

from __future__ import annotations

import re
from typing import Any

import pytest

from outlast.catalog.choose import Choice, Wish, choose
from outlast.catalog.table import shipped
from outlast.errors import UsageError

KNOWN = shipped()
US = tuple(f"us-central1-{letter}" for letter in "abc")


def chosen(**wish: Any) -> Choice:
    return choose(KNOWN, Wish(**wish))


def refused(**wish: object) -> UsageError:
    with pytest.raises(UsageError) as raised:
        chosen(**wish)
    return raised.value


def test_who_asks_for_nothing_gets_eight_cpus_of_a_current_family_in_us_central1() -> None:
    choice = chosen()
    assert (choice.machine.cpus, choice.gpu, choice.regions) == (8, None, ("us-central1",))
    assert KNOWN.families[choice.machine.family].current
    assert choice.image == "debian-cloud/debian-12" and not choice.notes
    assert chosen(cpus=20).machine.cpus >= 20


@pytest.mark.parametrize(
    ("count", "gpu", "machine"),
    [
        (1, "L4", "g2-standard-12"),
        (2, "l4", "g2-standard-24"),
        (1, "T4", "n1-highmem-8"),
        (1, "A100", "a2-highgpu-1g"),
        (4, "nvidia-tesla-a100", "a2-highgpu-4g"),
        (1, "A100-80GB", "a2-ultragpu-1g"),
        (16, "A100", "a2-megagpu-16g"),
        (1, "H100", "a3-highgpu-1g"),
        (8, "h100", "a3-highgpu-8g"),
        (8, "H200", "a3-ultragpu-8g"),
        (8, "B200", "a4-highgpu-8g"),
        (1, "RTX-PRO-6000", "g4-standard-48"),
    ],
)
def test_a_gpu_gets_the_smallest_machine_with_twice_its_memory_and_an_image_with_a_driver(
    count: int, gpu: str, machine: str
) -> None:
    choice = chosen(gpus=count, gpu=gpu)
    assert choice.machine.name == machine and choice.gpus == count and choice.gpu is not None
    assert "nvidia" in choice.image
    most = max(one.memory_gb for one in KNOWN.carriers(choice.gpu, count))
    assert choice.machine.memory_gb >= min(2 * choice.gpu.memory_gb * count, most)


def test_a_number_of_gpus_alone_is_the_cheapest_current_type_and_it_says_so() -> None:
    choice = chosen(gpus=2)
    assert choice.gpu is not None and choice.gpu.name == "L4" and "L4" in choice.notes[0]


def test_a_machine_that_brings_gpus_along_needs_no_other_word() -> None:
    choice = chosen(machine_type="a2-highgpu-4g")
    assert choice.gpu is not None and (choice.gpu.name, choice.gpus) == ("A100", 4)
    assert chosen(machine_type="a2-highgpu-4g", gpus=4).gpus == 4


def test_older_gpus_are_rented_with_a_word_about_their_driver_and_those_that_are_gone_are_not() -> None:
    assert "580" in chosen(gpus=1, gpu="V100").notes[0]
    for gone, successor in (("K80", "T4"), ("P100", "L4")):
        error = refused(gpus=2, gpu=gone)
        assert "any more" in error.message and "driver" in error.message
        assert successor in error.state and f"`--gpus 2x{successor}`" in error.hint
    assert chosen(gpus=1, gpu="K80", force=True).gpu is not None


def test_a_count_that_no_machine_has_is_answered_with_those_that_there_are_the_cheapest_first() -> None:
    error = refused(gpus=3, gpu="A100")
    prices = [float(one) for one in re.findall(r"\$([0-9.]+)", error.state)]
    assert [int(one) for one in re.findall(r"([0-9]+) on `", error.state)] == [1, 2, 4, 8, 16]
    assert prices == sorted(prices) and "`--gpus 4xA100`" in error.hint


def test_a_gpu_on_a_machine_without_a_place_for_it_is_answered_with_machines_that_have_one() -> None:
    error = refused(machine_type="n2-standard-8", gpus=1, gpu="L4")
    machines = re.findall(r"`(g2-standard-[0-9]+)`", error.state)
    assert machines[0] == "g2-standard-4" and "`--machine-type g2-standard-4`" in error.hint
    assert "has 4 A100" in refused(machine_type="a2-highgpu-4g", gpus=2).message
    assert chosen(machine_type="n1-standard-8", gpus=1, gpu="T4").machine.name == "n1-standard-8"
    assert "n1" in refused(machine_type="n1-standard-96", gpus=1, gpu="V100").state


def test_a_region_without_it_is_answered_with_those_that_have_it_the_cheapest_first() -> None:
    error = refused(gpus=1, gpu="L4", regions=("europe-north1",))
    prices = [float(one) for one in re.findall(r"\$([0-9.]+)", error.state)]
    assert prices == sorted(prices) and len(prices) == 8
    assert re.match(r"`--region [a-z]+-[a-z]+[0-9]`", error.hint)
    assert "us-central1" in refused(regions=("us-cental1",)).hint
    assert "us-central1-f" not in chosen(gpus=1, gpu="L4").zones


def test_elsewhere_all_of_its_gpus_are_priced() -> None:
    error = refused(machine_type="n1-highmem-32", gpus=4, gpu="V100", regions=("us-east4",))
    usd = 4 * KNOWN.gpus["V100"].offers["us-central1"].price(True)  # type: ignore[operator]
    (shown,) = re.findall(r"`us-central1` \$([0-9.]+)", error.state)
    assert float(shown) > usd and "4 V100" in error.message


def test_unknown_gpus_are_answered_with_those_that_there_are_the_cheapest_first() -> None:
    prices = [float(one) for one in re.findall(r"from \$([0-9.]+)", refused(gpus=1, gpu="X1").state)]
    assert prices == sorted(prices) and len(prices) > 8
    assert "`--gpus 4xV100`" in refused(gpus=1, gpu="V100x4").hint


def test_what_is_rented_as_spot_only_is_had_by_whoever_waits_for_it() -> None:
    assert "`--gpus 8xH100`" in refused(gpus=1, gpu="H100", spot=False).hint
    assert chosen(gpus=1, gpu="H100", spot=False, waits=True).machine.name == "a3-highgpu-1g"


def test_several_regions_stay_in_their_order_with_the_zones_of_all() -> None:
    choice = chosen(gpus=1, gpu="L4", regions=("us-east4", "us-central1"))
    assert choice.regions == ("us-east4", "us-central1")
    assert choice.zones == ("us-east4-a", "us-east4-c", *US)


def test_zones_are_kept_to_and_excluded_ones_left_out() -> None:
    assert chosen(zones=("europe-west4-b",)).regions == ("europe-west4",)
    assert chosen(gpus=1, gpu="L4", exclude_zones=("us-central1-b",)).zones == ("us-central1-a", "us-central1-c")
    assert "`--zone us-central1-a`" in refused(gpus=1, gpu="L4", zones=("us-central1-f",)).hint
    assert "us-central1-f" in refused(zones=("us-central1-x",)).message
    assert "none of the regions" in refused(regions=("us-east1",), zones=("us-central1-a",)).message
    assert "has none of the zones" in refused(regions=("us-east1", "us-central1"), zones=("us-central1-a",)).message
    assert "nothing is left" in refused(gpus=1, gpu="L4", exclude_zones=US).message


def test_what_does_not_go_together_is_said_before_anything_is_made() -> None:
    assert "hyperdisk-balanced" in refused(machine_type="c4-standard-8", disk_type="pd-ssd").message
    assert "arm64" in refused(machine_type="c4a-standard-8").message
    assert "Spot only" in refused(gpus=1, gpu="H100", spot=False).message
    assert "Spot only" in refused(machine_type="a3-highgpu-1g", spot=False).message
    assert "8 vCPUs" in refused(machine_type="n2-standard-8", cpus=16).message
    assert "vCPUs" in refused(gpus=1, gpu="L4", cpus=64).message
    near = refused(machine_type="n2-standrad-8")
    assert "`--machine-type n2-standard-8`" in near.hint and "$" in near.state


def test_force_passes_on_what_the_table_does_not_know() -> None:
    choice = chosen(machine_type="z9-standard-16", regions=("mars-north1",), zones=("mars-north1-a",), force=True)
    assert (choice.machine.name, choice.machine.cpus) == ("z9-standard-16", 16)
    assert choice.zones == ("mars-north1-a",)
    assert chosen(machine_type="n2-standard-8", gpus=1, gpu="L4", force=True).machine.name == "n2-standard-8"
    unknown = chosen(machine_type="n1-standard-8", gpus=2, gpu="X1", force=True)
    assert unknown.gpu is not None and unknown.gpu.cloud_name == "x1"
