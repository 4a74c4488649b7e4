"""`outlast catalog`: what is printed, in which order, and what is said of a question that has no answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from outlast.catalog.answers import stale
from outlast.catalog.table import STALE_DAYS, shipped
from outlast.clock import SYSTEM
from tests.cli.user import User

KNOWN = shipped()


def rows(user: User, *words: str) -> list[dict[str, Any]]:
    said = user.outlast("catalog", *words, "--json")
    assert said.code == 0, said.err
    return list(said.json["rows"])


def sorted_by_price(found: list[dict[str, Any]]) -> bool:
    usd = [one["usd_spot"] if one["usd_spot"] is not None else one["usd"] for one in found]
    return usd == sorted(usd)


def test_gpus_and_tpus_are_there_each_where_it_is_cheapest(user: User) -> None:
    found = rows(user)
    names = {(one["kind"], one["name"]) for one in found}
    assert names == {("gpu", one.name) for one in KNOWN.gpus.values() if not one.gone} | {
        ("tpu", name) for name in KNOWN.tpus
    }
    assert len(found) == len(names) and sorted_by_price(found)
    by_name = {one["name"]: one for one in found}
    l4, v5p, h100 = by_name["L4"], by_name["v5p"], by_name["H100"]
    assert l4["region"] == "europe-west6" and l4["machine"] == "g2-standard-4" and l4["counts"] == [1, 2, 4, 8]
    assert l4["usd_spot"] > l4["usd_each_spot"] == 0.1982, "a machine is paid for too"
    assert v5p["machine"] == "v5p-8" and v5p["usd"] == 16.8 and v5p["estimated"]
    assert h100["usd"] is None and h100["usd_spot"], "one alone is rented as Spot only"


def test_one_type_is_told_region_by_region(user: User) -> None:
    for words, table in (("L4", KNOWN.gpus["L4"].offers), ("tpu-v6e", KNOWN.tpus["v6e"].offers)):
        found = rows(user, "--gpus", words)
        assert {one["region"] for one in found} == set(table) and sorted_by_price(found)
        assert all(set(one["zones"]) <= set(table[one["region"]].zones) and one["zones"] for one in found)


def test_so_many_as_are_asked_for_are_priced_together(user: User) -> None:
    one, four = (rows(user, "--gpus", words, "--region", "us-central1")[0] for words in ("V100", "4xV100"))
    assert four["count"] == 4 and four["usd_each_spot"] == one["usd_each_spot"]
    assert four["usd_spot"] == pytest.approx(one["usd_spot"] + 3 * one["usd_each_spot"])
    (slice_,) = rows(user, "--gpus", "16xv5e", "--region", "us-central1")
    assert slice_["machine"] == "v5litepod-16" and slice_["usd"] == pytest.approx(16 * slice_["usd_each"])


def test_machines_of_a_region_with_their_gpus_and_only_what_is_there(user: User) -> None:
    found = rows(user, "machines", "--region", "us-central1")
    assert sorted_by_price(found) and len(found) > 250
    by_name = {one["name"]: one for one in found}
    assert by_name["e2-micro"]["usd"] < 0.01 and by_name["t2a-standard-8"]["architecture"] == "arm64"
    assert by_name["a2-highgpu-8g"]["gpus"] == 8 and by_name["g2-standard-8"]["usd_spot"] == pytest.approx(0.512)
    there = {one["name"] for one in rows(user, "machines", "--region", "europe-north1")}
    assert "n2-standard-8" in there and "g2-standard-8" not in there


def test_machines_with_a_gpu_are_every_valid_combination(user: User) -> None:
    found = rows(user, "machines", "--gpus", "T4")
    assert sorted_by_price(found) and {one["gpus"] for one in found} == {1, 2, 4}
    assert {one["gpus"] for one in rows(user, "machines", "--gpus", "2xT4")} == {2}
    assert all(one["name"].startswith("n1-") and one["gpu"] == "T4" for one in found)
    built_in = rows(user, "machines", "--gpus", "a100-80gb", "--region", "us-east5")
    assert [one["name"] for one in built_in] == [f"a2-ultragpu-{count}g" for count in (1, 2, 4, 8)]


def test_regions_are_sorted_by_what_the_machine_costs_there(user: User) -> None:
    found = rows(user, "regions", "--gpus", "4xA100")
    assert sorted_by_price(found) and {one["machine"] for one in found} == {"a2-highgpu-4g"}
    assert {one["name"] for one in found} == set(KNOWN.gpus["A100"].offers)
    everywhere = rows(user, "regions")
    assert len(everywhere) == len(KNOWN.regions) and all(one["met"] is None for one in everywhere)
    zones = rows(user, "regions", "--region", "us-central1", "--gpus", "L4")
    assert [one["name"] for one in zones] == list(KNOWN.regions["us-central1"])
    assert [one["machine"] for one in zones] == ["g2-standard-4"] * 3 + [None], "zone f has no L4"


def test_the_usual_region_is_the_one_that_is_set(user: User) -> None:
    user.write("outlast.toml", 'region = ["europe-west4", "us-east1"]\n')
    assert {one["region"] for one in rows(user, "machines")} == {"europe-west4"}
    user.env["REGION"] = "us-west1"
    user.write("outlast.toml", "")
    assert {one["region"] for one in rows(user, "machines")} == {"us-west1"}


def test_images_say_what_they_are_booted_for(user: User) -> None:
    found = {one["family"]: one["boots"] for one in rows(user, "images")}
    assert found["debian-12"] == ["none"] and "L4" in found["common-cu129-ubuntu-2204-nvidia-580"]
    said = user.outlast("catalog", "images", "--gpus", "2xL4", "--region", "us-east4", "--json")
    assert [one["family"] for one in said.json["rows"]] == ["common-cu129-ubuntu-2204-nvidia-580"]
    assert "note: images are the same in every region" in said.err
    assert user.outlast("catalog", "images", "--gpus", "v5e").code == 2


def test_a_person_is_told_the_date_the_age_and_what_is_an_estimate(user: User) -> None:
    said = user.outlast("catalog", "machines", "--region", "europe-west4", "--gpus", "T4")
    assert said.out.startswith("MACHINE ") and "~0." in said.out
    assert f"prices of {KNOWN.dated}, as they ship with outlast; `~`: an estimate" in said.err
    old = KNOWN.age_days(SYSTEM.now()) > STALE_DAYS
    assert (f"prices are of {KNOWN.dated}, " in said.err) is old and ("`outlast catalog --refresh`" in said.err) is old
    exact = user.outlast("catalog", "machines", "--region", "us-central1", "--gpus", "L4")
    assert "~" not in exact.out and "estimate" not in exact.err
    assert "TPU v5e" in user.outlast("catalog").out


def test_prices_are_old_after_thirty_days() -> None:
    made_at = datetime.fromisoformat(f"{KNOWN.dated}T12:00:00+00:00").timestamp()
    assert stale(KNOWN, made_at - 86400) == stale(KNOWN, made_at) == stale(KNOWN, made_at + 30 * 86400) == ""
    assert stale(KNOWN, made_at + 31 * 86400).startswith(f"prices are of {KNOWN.dated}, 31 days ago: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--region", "us-centrl1"), "`--region us-central1`"),
        (("--gpus", "v9"), "there is no GPU `v9`"),
        (("--gpus", "tpu7x"), "nobody here knows what TPU7X costs"),
        (("--gpus", "K80"), "`--gpus T4`"),
        (("--gpus", "3"), "names no type"),
        (("machines", "--gpus", "3xL4"), "`--gpus 4xL4`"),
        (("--gpus", "3xL4"), "`--gpus 4xL4`"),
        (("--gpus", "7xV3"), "`--gpus 8xv3`"),
        (("--gpus", "L4", "--region", "us-south1"), "`us-south1` has no L4"),
        (("machines", "--gpus", "v5e"), "`outlast catalog gpus --gpus v5e`"),
        (("machines", "--gpus", "A100", "--region", "us-south1"), "`--region me-west1`"),
        (("trucks",), "gpus"),
    ],
)
def test_what_there_is_not_is_answered_with_what_there_is(user: User, words: tuple[str, ...], said: str) -> None:
    answer = user.outlast("catalog", *words)
    assert answer.code == 2 and not answer.out and said in answer.err and "--force" not in answer.err, answer.err


def test_a_tpu_is_no_gpu_of_a_machine(user: User) -> None:
    user.write("train.py", "")
    said = user.outlast("run", "--on", "compute", "--bucket", "plans", "--gpus", "v5e", "--dry-run", "train.py")
    assert said.code == 2 and "`--on vertex --tpu-spec 1xV5E`" in said.err, said.err


def test_a_home_that_cannot_be_read_is_said_and_hides_nothing(user: User) -> None:
    user.env |= {"OUTLAST_EMULATOR": "http://127.0.0.1:9", "OUTLAST_HOME": "gs://nowhere-at-all"}
    said = user.outlast("catalog", "machines", "--gpus", "L4", "--json")
    assert said.code == 0 and len(said.json["rows"]) == 8, said.err
    assert "home `gs://nowhere-at-all` could not be read" in said.err
    user.env["OUTLAST_HOME"] = "ftp://wrong"
    assert user.outlast("catalog", "machines").code == 0
    assert user.outlast("catalog", "machines", "--home", "ftp://wrong").code == 2, "it was asked for"
