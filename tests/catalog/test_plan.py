"""From the command line to the machine that would be rented: what is printed, and what the record says."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from outlast.catalog.pythons import python_of
from outlast_emulator.testing import Running
from tests.cli.user import Said, User

pytestmark = pytest.mark.usefixtures("emulator")


def planned(user: User, *options: str, config: str = "") -> dict[str, Any]:
    user.write("train.py", "")
    user.write("outlast.toml", config)
    said = user.outlast("run", "--dry-run", "--json", "--on", "compute", "--bucket", "plans", *options, "train.py")
    assert said.code == 0, said.err
    (launch,) = said.json["launches"]
    return {**launch, "spec": said.json["spec"]}


def refused(user: User, *options: str) -> Said:
    user.write("train.py", "")
    said = user.outlast("run", "--dry-run", "--on", "compute", "--bucket", "plans", *options, "train.py")
    assert said.code == 2 and not said.out, said.err
    return said


def test_nothing_asked_is_eight_cpus_of_spot_with_debian(user: User) -> None:
    launch = planned(user)
    rented = launch["rented"]
    assert (launch["cpus"], launch["gpus"], rented["spot"]) == (8, 0, True)
    assert rented["regions"] == ["us-central1"] and set(rented["zones"]) <= {f"us-central1-{one}" for one in "abcf"}
    assert re.fullmatch(r"projects/debian-cloud/global/images/debian-12-bookworm-v[0-9]+", rented["image"])
    assert rented["service_account"] == "outlast-runner@emulated.iam.gserviceaccount.com"
    assert (rented["disk_gb"], rented["disk_type"], rented["external_ip"]) == (50, "pd-balanced", True)
    assert (
        launch["usd_per_hour"]
        == rented["usd_per_hour"]
        == pytest.approx(sum(usd for part, usd in launch["prices"].items() if part != "as_of"), abs=1e-4)
    )
    assert 0 < rented["usd_per_hour"] < rented["usd_per_hour_on_demand"]


def test_every_option_reaches_the_record(user: User, emulator: Running) -> None:
    made = emulator.call("POST", "/compute/v1/projects/emulated/global/networks", {"name": "mine"})
    assert made.status in (200, 409), made.body
    launch = planned(
        user, "--gpus", "2xL4", "--region", "us-east4,us-central1", "--region", "europe-west4", "--exclude-zone",
        "us-east4-c", "--on-demand", "--disk-gb", "200GB", "--disk-type", "pd-ssd", "--image",
        "deeplearning-platform-release/pytorch-2-9-cu129-ubuntu-2204-nvidia-580", "--service-account", "me@p.iam.gserviceaccount.com",
        "--network", "projects/emulated/global/networks/mine",
        "--no-external-ip", "--linger", "30m", "--max-cost", "$12.50", "--project", "other", "--max-run", "2h",
    )  # fmt: skip
    rented, spec = launch["rented"], launch["spec"]
    assert rented["machine_type"] == "g2-standard-24" and (launch["cpus"], launch["gpus"]) == (24, 2)
    assert (rented["accelerator"], rented["accelerator_built_in"]) == ("nvidia-l4", True)
    assert rented["regions"] == ["us-east4"] and rented["zones"] == ["us-east4-a"]
    assert spec["machine"]["rented"]["regions"] == ["us-east4", "us-central1", "europe-west4"]
    assert (rented["spot"], rented["disk_gb"], rented["disk_type"]) == (False, 200, "pd-ssd")
    assert "pytorch-2-9" in rented["image"] and rented["service_account"] == "me@p.iam.gserviceaccount.com"
    assert rented["network"] == "projects/emulated/global/networks/mine"
    assert (rented["external_ip"], rented["linger_seconds"]) == (False, 1800.0)
    assert (rented["project"], spec["max_cost_usd"], launch["max_run_seconds"]) == ("other", 12.5, 7200.0)
    assert "address" not in launch["prices"]


def test_files_and_variables_say_the_same_and_flags_win(user: User) -> None:
    config = 'gpus = "T4"\nregion = ["europe-west4"]\nspot = false\nmax-cost = 3\nzone = "europe-west4-a"\n'
    launch = planned(user, config=config)
    assert launch["rented"]["accelerator"] == "nvidia-tesla-t4" and not launch["rented"]["accelerator_built_in"]
    assert launch["rented"]["zones"] == ["europe-west4-a"] and not launch["rented"]["spot"]
    assert planned(user, "--spot", "--gpus", "0", config=config)["rented"]["spot"]
    user.env["OUTLAST_MACHINE_TYPE"] = "n2-custom-8-32768"
    assert planned(user)["rented"]["machine_type"] == "n2-custom-8-32768"
    del user.env["OUTLAST_MACHINE_TYPE"]
    user.env["REGION"] = "us-west1"
    assert planned(user)["rented"]["regions"] == ["us-west1"]


def test_the_plan_has_prices_the_most_it_can_cost_and_links_to_the_console(user: User) -> None:
    user.write("train.py", "")
    said = user.outlast("run", "--dry-run", "--on", "compute", "--bucket", "plans", "--gpus", "L4", "train.py")
    assert said.code == 0, said.err
    assert "`g2-standard-12` with 1 L4, 12 CPUs, Spot, in `us-central1`" in said.out
    assert re.search(r"\$0\.[0-9]+ per hour \([0-9]+% under on demand\)", said.out)
    assert re.search(r"gpus: 0\.[0-9]+ USD an hour, by the list of 20[0-9-]+", said.out)
    assert re.search(r"ends after 7 d at the latest, for \$[0-9.,]+ at most", said.out)
    group = re.search(r"make group (outlast-[0-9a-f]+) in us-central1", said.out)
    assert group is not None
    url = f"https://console.cloud.google.com/compute/instanceGroups/details/us-central1/{group[1]}?project=emulated"
    assert url in said.out
    assert "https://console.cloud.google.com/storage/browser/plans/jobs/train-" in said.out
    assert "nothing was made" in said.err


def test_nothing_is_made_by_a_plan(user: User, emulator: Running) -> None:
    planned(user)
    regional = "/compute/v1/projects/emulated/regions/us-central1"
    for kind in ("instanceTemplates", "instanceGroupManagers"):
        assert not emulator.call("GET", f"{regional}/{kind}").json().get("items")
    assert emulator.call("GET", "/storage/v1/b/plans").status == 404


def test_wrong_combinations_are_refused_before_anything_else_and_force_passes_them_on(user: User) -> None:
    assert "no machine has 3 A100" in refused(user, "--gpus", "3xA100").err
    assert "--gpus T4" in refused(user, "--gpus", "K80").err
    assert "g2-standard-4" in refused(user, "--gpus", "L4", "--machine-type", "n2-standard-8").err
    assert "less than the 10 GB of its image" not in refused(user, "--disk-gb", "9").err
    small = refused(user, "--gpus", "L4", "--disk-gb", "20")
    assert "`--disk-gb 20` is less than the 50 GB of its image" in small.err
    arm = refused(user, "--image", "debian-cloud/debian-12-arm64")
    assert "is arm64" in arm.err
    forced = planned(user, "--machine-type", "z9-standard-16", "--force")
    assert (forced["rented"]["machine_type"], forced["cpus"], forced["usd_per_hour"]) == ("z9-standard-16", 16, 0.0)
    too_little = refused(user, "--max-cost", "0.001")
    assert "too little to boot" in too_little.err and "--max-cost 0.09" in too_little.err
    too_short = refused(user, "--max-run", "5")
    assert "ends before a rented machine has booted" in too_short.err and "--max-run 2h" in too_short.err
    unpriced = refused(user, "--machine-type", "z9-standard-16", "--force", "--max-cost", "5")
    assert "`--max-cost` could not be kept" in unpriced.err


def test_a_machine_that_is_not_rented_refuses_what_is_only_about_rented_ones(user: User) -> None:
    user.write("train.py", "")
    for options in (
        ["--zone", "us-central1-a"], ["--on-demand"], ["--machine-type", "n2-standard-8"], ["--no-external-ip"],
        ["--image", "debian-12"], ["--linger", "5m"], ["--force"], ["--disk-gb", "50"],
    ):  # fmt: skip
        said = user.outlast("run", "--dry-run", *options, "train.py")
        assert said.code == 2 and f"`{options[0]}` is about machines that are rented" in said.err, said.err
    user.write("outlast.toml", 'zone = "us-central1-a"\nspot = false\n')
    assert user.outlast("run", "--dry-run", "--max-cost", "5", "--region", "us-east1", "train.py").code == 0


def test_machines_need_their_service_account_and_a_plan_says_so_before(user: User, emulator: Running) -> None:
    account = "nobody@emulated.iam.gserviceaccount.com"
    options = ("--on", "compute", "--bucket", "plans", "--service-account", account)
    user.write("train.py", "")
    dry = user.outlast("run", "--dry-run", *options, "train.py")
    assert dry.code == 0 and f"no service account `{account}`" in dry.err
    said = user.outlast("run", *options, "train.py")
    assert said.code == 2 and f"no service account `{account}`" in said.err and "`outlast init`" in said.err
    assert emulator.call("GET", "/storage/v1/b/plans").status == 404, "nothing was made"


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("nowhere", "there is no network `nowhere` in project `emulated`"),
        ("global/networks/nowhere", "there is no network `nowhere`"),
        ("regions/us-east1/subnetworks/default", "is in `us-east1`, and machines are rented in `us-central1`"),
        ("regions/us-central1/subnetworks/nowhere", "there is no subnetwork `nowhere` in `us-central1`"),
    ],
)
def test_a_wrong_network_is_found_before_anything_is_made(user: User, network: str, words: str) -> None:
    said = refused(user, "--network", network)
    assert words in said.err and "nothing is being spent" in said.err and "--force" in said.err, said.err
    assert planned(user, "--network", network, "--force")["rented"]["network"] == network


def test_a_network_without_a_part_in_the_region_is_refused_and_one_that_fits_is_not(
    user: User, emulator: Running
) -> None:
    body = {"name": "small", "autoCreateSubnetworks": False}
    assert emulator.call("POST", "/compute/v1/projects/emulated/global/networks", body).status in (200, 409)
    assert "network `small` has nothing in `us-central1`" in refused(user, "--network", "small").err
    for network in ("default", "projects/emulated/global/networks/default", "regions/us-central1/subnetworks/default"):
        assert planned(user, "--network", network)["rented"]["network"] == network


def test_a_plan_says_which_prices_are_estimates(user: User) -> None:
    assert planned(user)["estimated"] == []
    assert planned(user, "--region", "us-east1")["estimated"] == ["machine", "disk"]
    assert planned(user, "--region", "us-east1", "--gpus", "L4")["estimated"] == ["disk"]
    user.write("train.py", "")
    words = ("run", "--dry-run", "--on", "compute", "--bucket", "plans", "--region", "us-east1")
    said = user.outlast(*words, "train.py")
    assert re.search(r"machine: 0\.[0-9]+ USD an hour, by the list of [0-9-]+, an estimate", said.out), said.out
    assert "in `us-east1` the price of the machine is an estimate" in said.err


def test_a_machine_that_must_fetch_its_python_is_said_before_it_is_paid_for(user: User) -> None:
    user.write("train.py", "")
    run = ("run", "--dry-run", "--on", "compute", "--bucket", "plans", "--python", f"3.{sys.version_info[1]}")
    here = {11: "debian-12", 13: "debian-13", 12: "ubuntu-2404-lts-amd64"}.get(sys.version_info[1], "")
    other = "debian-13" if here != "debian-13" else "debian-12"
    fetching = user.outlast(*run, "--image", other, "--no-external-ip", "train.py")
    assert fetching.code == 0, fetching.err
    assert f"fetches 3.{sys.version_info[1]} from the package index" in fetching.err and "Cloud NAT" in fetching.err
    if here:
        assert "fetches" not in user.outlast(*run, "--image", here, "train.py").err


@pytest.mark.parametrize(
    ("image", "python"),
    [
        ("projects/debian-cloud/global/images/debian-12-bookworm-v20261013", "3.11"),
        ("deeplearning-platform-release/common-cu129-ubuntu-2204-nvidia-580", "3.10"),
        ("ubuntu-accelerator-2404-amd64-with-nvidia-580", "3.12"),
        ("projects/mine/global/images/census-20261116", ""),
    ],
)
def test_the_name_of_a_public_image_tells_its_python(image: str, python: str) -> None:
    assert python_of(image) == python
