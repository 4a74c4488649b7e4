"""What a script is given can be found again at the cloud: every resource of its launch is labelled with it."""

from __future__ import annotations

from typing import Any

import pytest

from outlast.engines.compute import bodies, names
from outlast.engines.compute.variants import Variant
from outlast.engines.engine import Launch
from outlast.folder.cells import Cells
from outlast.folder.sweep_records import Grid, Source, as_text
from outlast.spec.spec import Machine, Rented, Sweep
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
        "job_name": "night", "gpu_enabled": "false", "tpu_enabled": "false",
        "epochs": "9", "team": "vision", "lr": "0_1", "sleep": "-1", "big": "", "data": "ab",
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
def test_a_sweeps_machines_have_what_all_its_cells_are_given_and_the_keys_that_differ(user: User) -> None:
    user.write("grid.json", '{"lr": [0.1, 0.2], "data": "Digits", "shift": -1, "aug": true, "drop": false}')
    found = labels_said(
        user, "--sweep", "grid.json", "--parallel", "2", "--xgroup", "night", "-l", "team=a", "train.py", "--", "--epochs", "2"
    )  # fmt: skip
    assert found == {
        "job_name": "night", "gpu_enabled": "false", "tpu_enabled": "false", "team": "a", "epochs": "2",
        "lr": "", "data": "digits", "shift": "-1", "aug": "",
    }  # fmt: skip


@pytest.mark.usefixtures("emulator")
def test_a_label_that_google_does_not_allow_is_put_there_as_it_does_and_kept_here_as_it_was_typed(user: User) -> None:
    words = ("-l", "Team=Vision 2", "--label", "ü=1", "train.py")
    assert labels_said(user, *words)["team"] == "vision2"
    said = user.outlast("run", "--dry-run", "--json", "--on", "compute", "--bucket", "plans", *words)
    assert said.json["spec"]["labels"] == {"Team": "Vision 2", "ü": "1"}
    plain = user.outlast("run", "--dry-run", "--on", "compute", "--bucket", "plans", *words)
    assert "by Google's rules of labels, `Team=Vision 2` is `team=vision2`, `ü=1` cannot be" in plain.err


@pytest.mark.parametrize(
    ("document", "search", "words"),
    [
        ({"lr": [1, 2], "data": "x", "v": True, "f": False, "n": -1, "b": [True, False], "one": [3]}, "",
         ["--lr", "--data=x", "--v", "--n=-1", "--b", "--one=3"]),
        ([{"a": 1, "b": 2}, {"a": 1, "c": 3}, {"gone": []}], "", ["--a=1", "--b", "--c"]),
        ({"[a,b]": [[1, 2], [1, 3]]}, "", ["--a=1", "--b"]),
        ({"lr": {"log": [1e-5, 1]}, "c": ["a", "b", "a"], "k": 3, "i": {"int": [4, 4]}}, "random", ["--lr", "--c", "--k=3", "--i=4"]),
    ],
)  # fmt: skip
def test_what_is_alike_in_all_cells_has_its_value(document: Any, search: str, words: list[str]) -> None:
    assert Cells([Grid(1, 1, 4, as_text(document))], Sweep(search=search)).words() == words


def test_commits_are_told_apart_too() -> None:
    one, two = Source("v1", "1" * 40, "a" * 64), Source("v2", "2" * 40, "b" * 64)
    assert Cells([Grid(1, 1, 2, "{}", sources=(one, two))], Sweep()).words() == ["--ref"]
    assert Cells([Grid(1, 1, 1, "{}", sources=(one,))], Sweep()).words() == ["--ref=v1"]
