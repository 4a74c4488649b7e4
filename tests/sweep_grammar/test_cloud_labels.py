"""What a script is given can be found again at the cloud: every resource of its launch is labelled with it."""

from __future__ import annotations

import pytest

from outlast.engines.compute import bodies, names
from outlast.engines.compute.variants import Variant
from outlast.engines.engine import Launch
from outlast.spec.spec import Machine, Rented
from tests.cli.user import User


def labels_said(user: User, *words: str) -> dict[str, str]:
    user.write("train.py", "")
    said = user.outlast("run", "--dry-run", "--json", "--on", "compute", "--bucket", "plans", *words)
    assert said.code == 0, said.err
    (launch,) = said.json["launches"]
    (line,) = [detail for one in launch["resources"] if one["kind"] == "template" for detail in one["details"]]
    pairs = [pair.partition("=") for pair in line.partition(": ")[2].split(", ")]
    return {key: value for key, _, value in pairs if key.partition("-")[0] != names.MARK}


@pytest.mark.usefixtures("emulator")
def test_arguments_are_labels_of_what_is_rented_and_a_label_by_hand_wins(user: User) -> None:
    found = labels_said(
        user, "--name", "night", "-l", "epochs=9", "--label", "team=vision", "train.py",
        "--", "--epochs", "2", "--lr", "0.1", "--sleep", "-1", "--Big", "--data=A/B",
    )  # fmt: skip
    assert found == {
        "job_name": "night", "gpu_enabled": "false", "epochs": "9", "team": "vision", "lr": "0_1", "sleep": "-1", "big": "", "data": "ab",
    }  # fmt: skip


def test_machines_disks_and_groups_have_them_all() -> None:
    rented = Rented("p", ("us-central1",), "n2-standard-8", image="projects/x/global/images/y")
    launch = Launch("gs://b", "night", 1, "0" * 16, 2, Machine(8, 0, rented), 1e9, labels={"lr": "0_1", "sleep": "-1"})
    wanted = {"lr": "0_1", "sleep": "-1", "outlast": "1", "outlast-job": "night"}
    template = bodies.template(launch, rented, Variant(notice=True, action="STOP", timed=True), 0, {})["properties"]
    group = bodies.group(launch, rented, "t", moves=False)["allInstancesConfig"]["properties"]
    for labels in (template["labels"], template["disks"][0]["initializeParams"]["labels"], group["labels"]):
        assert wanted.items() <= labels.items()


@pytest.mark.usefixtures("emulator")
def test_a_sweeps_machines_have_what_all_its_cells_are_given(user: User) -> None:
    user.write("grid.json", '{"lr": [0.1, 0.2]}')
    found = labels_said(
        user, "--sweep", "grid.json", "--parallel", "2", "--xgroup", "night", "-l", "team=a", "train.py", "--", "--epochs", "2"
    )  # fmt: skip
    assert found["team"] == "a" and found["epochs"] == "2" and "lr" not in found
