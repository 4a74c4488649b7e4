"""`outlast catalog --refresh`: Google's lists are read, kept, and used from then on."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from outlast.catalog.table import STALE_DAYS, shipped
from outlast.clock import SYSTEM
from outlast_emulator.compute import machine_types
from outlast_emulator.testing import Running
from tests.cli.user import Said, User

pytestmark = pytest.mark.usefixtures("emulator")


def refresh(user: User, *options: str) -> Said:
    said = user.outlast("catalog", "--refresh", "--json", *options)
    assert said.code == 0, said.err
    return said


STALE = shipped().age_days(SYSTEM.now()) > STALE_DAYS
"""Whether the table that ships is old by now."""

READ: dict[str, bytes] = {}
"""The table as a refresh has left it once: reading forty thousand rows again would show nothing new."""


@pytest.fixture
def refreshed(user: User, emulator: Running) -> None:
    path = user.outlast_dir / "catalog" / "emulated.json"
    if "table" not in READ:
        refresh(user)
        READ["table"] = path.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(READ["table"])


def row(said: Said, **wanted: Any) -> dict[str, Any]:
    (found,) = (one for one in said.json["rows"] if all(one[name] == value for name, value in wanted.items()))
    return dict(found)


def test_what_was_read_is_kept_for_this_user_alone_and_used_from_then_on(user: User) -> None:
    before = user.outlast("catalog", "machines", "--json", "--region", "europe-west4")
    assert not before.json["refreshed"] and before.json["stale"] is STALE
    assert row(before, name="n2-standard-8")["estimated"]
    refreshed = refresh(user, "machines", "--region", "europe-west4")
    after = user.outlast("catalog", "machines", "--json", "--region", "europe-west4")
    assert after.json == refreshed.json and after.json["refreshed"] and not after.json["stale"]
    assert ("days ago" in before.err) is STALE and "days ago" not in after.err
    machine = row(after, name="n2-standard-8")
    assert not machine["estimated"] and machine["usd"] == pytest.approx(0.388 * 1.101, abs=1e-4)
    assert machine["usd_spot"] == pytest.approx(0.223 * 1.101, abs=1e-4)
    path = user.outlast_dir / "catalog" / "emulated.json"
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(path.parent) == ["emulated.json"]


@pytest.mark.usefixtures("refreshed")
def test_prices_of_gpus_tpus_and_small_machines_are_googles(user: User) -> None:
    machines = user.outlast("catalog", "machines", "--json", "--region", "us-central1")
    assert row(machines, name="e2-small")["usd"] == pytest.approx(0.01675, abs=2e-4)
    assert row(machines, name="a4-highgpu-8g")["usd_spot"] == pytest.approx(8 * 4.954 + 12000 * 6.575e-05, abs=1e-3)
    assert row(machines, name="g2-standard-8")["usd_spot"] == pytest.approx(0.336 + 0.176, abs=1e-4)
    gpus = user.outlast("catalog", "gpus", "--json", "--region", "europe-west4")
    assert row(gpus, name="H100-MEGA")["usd_each"] == pytest.approx(10.2 * 1.101, abs=1e-3), "called Plus there"
    tpu = row(gpus, name="v5e")
    assert (tpu["usd_each_spot"], tpu["estimated"]) == (pytest.approx(0.2449 * 1.101, abs=1e-4), False)
    old = row(user.outlast("catalog", "gpus", "--json", "--region", "us-central1"), name="v2")
    assert old["usd"] == 4.5 and old["usd_each"] == 1.125, "four chips to a row"
    assert row(user.outlast("catalog", "--json", "--gpus", "v5e"), region="us-west4")["estimated"], "in no list"


@pytest.mark.usefixtures("refreshed")
def test_a_machine_is_where_google_lists_it_and_nowhere_else(user: User, emulator: Running) -> None:
    listed = emulator.call(
        "GET", "/compute/v1/projects/emulated/zones/us-central1-b/machineTypes?maxResults=500"
    ).json()
    theirs = {one["name"] for one in listed["items"]}
    ours = user.outlast("catalog", "machines", "--json", "--region", "us-central1").json["rows"]
    here = {one["name"] for one in ours if "us-central1-b" in one["zones"]}
    assert here == theirs - {"f1-micro", "g1-small"}, "these have a price that no core has"
    assert set(machine_types.TYPES) > {one.name for one in shipped().machines()} > set()


def test_a_job_is_planned_by_what_was_read(user: User) -> None:
    user.write("train.py", "")
    words = ("run", "--dry-run", "--on", "compute", "--bucket", "plans", "--region", "europe-west4")
    options = ("--machine-type", "n2-standard-8", "train.py")
    before = user.outlast(*words, *options)
    assert "is an estimate" in before.err and ("days ago" in before.err) is STALE, before.err
    refresh(user, "--region", "europe-west4")
    said = user.outlast(*words, *options)
    assert said.code == 0 and "estimate" not in said.err and "days ago" not in said.err, said.err
    after = user.outlast(*words, "--json", *options)
    (launch,) = after.json["launches"]
    assert launch["prices"]["machine"] == pytest.approx(0.223 * 1.101, abs=1e-4)
    assert launch["prices"]["disk"] == pytest.approx(50 * 0.1 * 1.101 / 730, abs=1e-5)


def test_it_tells_how_spot_machines_have_fared_zone_by_zone(user: User, emulator: Running) -> None:
    emulator.call("POST", "/_emulator/capacity", {"zone": "us-east4-a", "provisioning": "SPOT", "machines": 0})
    refresh(user, "--region", "us-east4", "--gpus", "L4")
    assert emulator.call("DELETE", "/_emulator/capacity").status == 200
    said = user.outlast("catalog", "regions", "--json", "--region", "us-east4")
    shares = {one["name"]: one["preempted_share"] for one in said.json["rows"]}
    assert shares["us-east4-a"] > 0.9 > shares["us-east4-c"] and shares["us-east4-b"] is None, "has no L4"
    rates = {
        zone: {"c3d-standard-8": [0.5, 0.1, "2026-11-16"], "g2-standard-4": [0.25, 0.4, "2026-11-16"]}
        for zone in shares
    }
    path = user.outlast_dir / "catalog" / "emulated.json"
    kept = path.read_bytes()
    path.write_text(json.dumps({**json.loads(kept), "history": rates}))
    told = user.outlast("catalog", "regions", "--json", "--region", "us-east4", "--gpus", "L4").json["rows"]
    assert [one["preempted_share"] for one in told] == [0.25, None, 0.25], "of the machine that is named, where it is"
    path.write_bytes(kept)
    refresh(user, "--region", "us-west1")
    again = user.outlast("catalog", "regions", "--json", "--region", "us-east4").json["rows"]
    assert {one["name"]: one["preempted_share"] for one in again} == shares, "another region's are kept"


@pytest.mark.usefixtures("refreshed")
def test_newest_images_are_named(user: User) -> None:
    images = {one["family"]: one["newest"] for one in user.outlast("catalog", "images", "--json").json["rows"]}
    assert images["debian-12"].startswith("debian-12-bookworm-v") and all(images.values())


@pytest.mark.usefixtures("refreshed")
@pytest.mark.parametrize(
    "method", ["compute.machineTypes.aggregatedList", "cloudbilling.services.skus.list"], ids=["machines", "prices"]
)
def test_a_list_that_cannot_be_read_changes_nothing(user: User, emulator: Running, method: str) -> None:
    path = user.outlast_dir / "catalog" / "emulated.json"
    before = path.read_bytes()
    emulator.fault(method, "error", status=403, times=10)
    said = user.outlast("catalog", "--refresh")
    emulator.clear_faults()
    assert said.code == 4 and "the catalog is as it was" in said.err, said.err
    assert path.read_bytes() == before


def test_history_that_cannot_be_read_is_said_and_the_rest_is_kept(user: User, emulator: Running) -> None:
    emulator.fault("compute.advice.capacityHistory", "error", status=403, times=100)
    said = refresh(user)
    emulator.clear_faults()
    assert "how Spot machines have fared is not known" in said.err
    assert user.outlast("catalog", "--json").json["refreshed"]


@pytest.mark.parametrize("damage", ["{", '{"format": 99}', "[]", '{"format": 1, "dated": "x"}'])
def test_a_table_that_is_damaged_or_another_versions_is_said_and_not_used(user: User, damage: str) -> None:
    path = user.outlast_dir / "catalog" / "emulated.json"
    path.parent.mkdir(parents=True)
    path.write_text(damage)
    said = user.outlast("catalog", "--json")
    assert said.code == 0 and not said.json["refreshed"] and "cannot be used" in said.err, said.err


@pytest.mark.usefixtures("refreshed")
def test_a_table_that_is_older_than_the_shipped_one_is_not_used(user: User) -> None:
    path = user.outlast_dir / "catalog" / "emulated.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "dated": "2020-01-01"}))
    assert user.outlast("catalog", "--json").json["dated"] == shipped().dated
