"""`outlast doctor --on compute`: what is wrong is found, with the command that mends it, and `--fix` types it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from outlast_emulator.testing import Running
from tests.cli.user import User
from tests.cloud.admin import Admin


@pytest.fixture
def ready(admin: Admin, emulator: Running, user: User) -> User:
    admin.bucket = "a-home"
    admin.init()
    (admin.directory / "outlast.toml").unlink()
    user.env.update(emulator.variables)
    user.env["OUTLAST_BUCKET"] = "a-home"
    return user


def findings(user: User, *words: str, code: int = 1) -> list[dict[str, Any]]:
    said = user.outlast("doctor", "--on", "compute", "--json", *words)
    assert said.code == code, said.out + said.err
    found: list[dict[str, Any]] = said.json
    assert all(one["mend"] for one in found if one["health"] != "good"), "each with what mends it"
    return found


def of(found: list[dict[str, Any]], check: str, health: str) -> str:
    return " ".join(f"{one['fact']} {one['mend']}" for one in found if (one["check"], one["health"]) == (check, health))


def test_a_project_that_is_ready_is_well(ready: User) -> None:
    found = findings(ready, code=0)
    assert {one["health"] for one in found} == {"good"}
    checks = {one["check"] for one in found}
    assert checks >= {
        "login",
        "project",
        "apis",
        "role",
        "account",
        "binding",
        "rights",
        "quotas",
        "bucket",
        "network",
        "clock",
    }
    assert "billing" in checks


def test_a_new_project_lacks_everything_and_fix_makes_it(emulator: Running, user: User) -> None:
    user.env.update(emulator.variables)
    found = findings(user, "--bucket", "a-home")
    assert "gcloud services enable" in of(found, "apis", "bad")
    fixed = user.outlast("doctor", "--on", "compute", "--bucket", "a-home", "--fix")
    assert fixed.code == 0 and "mended: service account" in fixed.err, fixed.out + fixed.err
    assert "mended" not in user.outlast("doctor", "--on", "compute", "--bucket", "a-home", "--fix").err


def test_an_account_that_somebody_deleted_is_found_and_made_again(ready: User, emulator: Running) -> None:
    emulator.call("DELETE", "/v1/projects/emulated/serviceAccounts/outlast-runner@emulated.iam.gserviceaccount.com")
    found = findings(ready)
    assert "gcloud iam service-accounts create outlast-runner" in of(found, "account", "bad")
    assert "roles/storage.objectUser" in of(found, "binding", "bad")
    assert ready.outlast("doctor", "--on", "compute", "--fix").code == 0
    findings(ready, code=0)


def test_a_right_that_somebody_took_from_machines_is_named(ready: User, emulator: Running) -> None:
    path = "/v1/projects/emulated/roles/outlastRunner?updateMask=includedPermissions"
    emulator.call("PATCH", path, {"includedPermissions": ["compute.instances.get"]})
    assert "compute.instanceGroupManagers.delete" in of(findings(ready), "role", "bad")


def test_no_login_is_said_first_and_alone(ready: User, emulator: Running) -> None:
    key = ready.root / "key.json"
    login = emulator.call("POST", "/_emulator/iam/users", {"email": "ann@example.com"}).json()
    key.write_text(json.dumps(login))
    emulator.call("POST", "/_emulator/iam/revoke", {"email": "ann@example.com"})
    found = findings(ready, "--cloud-key", str(key))
    assert [one["check"] for one in found] == ["login"]


def test_billing_that_is_off_is_found(ready: User, emulator: Running) -> None:
    emulator.switch(billing=False)
    assert "gcloud billing projects link emulated" in of(findings(ready), "billing", "bad")


def test_a_quota_that_is_used_up_is_named_with_its_region_and_limit(ready: User, emulator: Running) -> None:
    for metric, region in (("CPUS", "us-central1"), ("GPUS_ALL_REGIONS", "")):
        body = {"metric": metric, "limit": 0, "region": region}
        assert emulator.call("POST", "/_emulator/quotas", body).status == 200
    found = findings(ready)
    assert "`CPUS` in `us-central1`: 0 of 0 used" in of(found, "quotas", "bad")
    assert "no GPU may be rented in any region" in of(found, "quotas", "warning")
    assert "metric=GPUS_ALL_REGIONS" in of(found, "quotas", "warning")


def test_where_spot_has_a_quota_that_one_counts(ready: User, emulator: Running) -> None:
    body = {"metric": "PREEMPTIBLE_CPUS", "limit": 4, "region": "us-central1"}
    assert emulator.call("POST", "/_emulator/quotas", body).status == 200
    assert "`PREEMPTIBLE_CPUS` in `us-central1`: 0 of 4 used" in of(findings(ready, code=0), "quotas", "warning")


def test_a_network_that_is_not_there_is_named(ready: User) -> None:
    found = findings(ready, "--network", "nowhere")
    assert "gcloud compute networks create nowhere" in of(found, "network", "bad")


def test_machines_without_an_address_need_two_ways_out(ready: User) -> None:
    ready.env["OUTLAST_EXTERNAL_IP"] = "false"
    found = findings(ready)
    assert "--enable-private-ip-google-access" in of(found, "private access", "bad")
    assert "gcloud compute routers nats create" in of(found, "nat", "warning")
    assert ready.outlast("doctor", "--on", "compute", "--fix").code == 0
    assert of(findings(ready, code=0), "private access", "good")


def test_a_clock_that_is_wrong_is_said(ready: User, emulator: Running) -> None:
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 300})
    assert "differs from Google's by " in of(findings(ready, code=0), "clock", "warning")


def test_a_bucket_elsewhere_and_one_that_keeps_what_is_deleted_are_said(ready: User, emulator: Running) -> None:
    emulator.make_bucket("far", location="EUROPE-WEST4", softDeletePolicy={"retentionDurationSeconds": "604800"})
    assert ready.outlast("doctor", "--on", "compute", "--bucket", "far", "--fix").code == 0
    said = of(findings(ready, "--bucket", "far", code=0), "bucket", "warning")
    assert "is in `europe-west4`, the machines are in `us-central1`" in said and "--clear-soft-delete" in said


def test_a_region_that_does_not_exist_is_said(ready: User) -> None:
    found = findings(ready, "--region", "us-nowhere1")
    assert "there is no region `us-nowhere1`" in of(found, "quotas", "bad")


def test_without_an_engine_that_rents_its_options_are_refused(ready: User) -> None:
    said = ready.outlast("doctor", "--fix")
    assert said.code == 2 and "--on compute" in said.err
