"""Where there is no capacity a job waits, and says for what; with several regions it moves on, when somebody looks."""

from __future__ import annotations

from outlast_emulator.testing import Running
from tests.cli.user import User
from tests.compute.records import emulator, user

__all__ = ["emulator", "user"]


def submit(user: User, *options: str) -> None:
    said = user.outlast(
        "run", "--on", "compute", "--bucket", "moving", "--job-id", "mover", "--detach", *options, "train.py"
    )
    assert said.code == 0, said.err


def wait_for_refusal(user: User) -> None:
    while "for capacity" not in (user.outlast("show", "--json", "mover").json["why"] or ""):
        pass


def test_it_waits_and_says_for_what(emulator: Running, user: User) -> None:
    emulator.call("POST", "/_emulator/capacity", {"zone": "us-central1-*", "machines": 0})
    submit(user)
    wait_for_refusal(user)
    shown = user.outlast("show", "--json", "mover").json
    assert shown["state"] == "waiting" and "us-central1-" in shown["why"], shown["why"]
    assert "for capacity in `us-central1-" in user.outlast("show", "mover").out


def test_it_moves_to_the_next_region_and_keeps_its_deadline(emulator: Running, user: User) -> None:
    emulator.call("POST", "/_emulator/capacity", {"zone": "us-central1-*", "machines": 0})
    submit(user, "--region", "us-central1,us-east1")
    wait_for_refusal(user)
    before = user.outlast("show", "--json", "mover").json
    assert before["why"].endswith("after 3 min of that, whoever looks moves it to `us-east1`"), before["why"]
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 300})
    user.outlast("show", "mover")
    after = user.outlast("show", "mover").out
    assert "in `us-east1`" in after, after
    groups = emulator.call("GET", "/compute/v1/projects/emulated/aggregated/instanceGroupManagers").json()["items"]
    assert [scope for scope, found in groups.items() if found.get("instanceGroupManagers")] == ["regions/us-east1"]
    assert user.outlast("show", "--json", "mover").json["spec"] == before["spec"]


def test_without_another_region_it_stays(emulator: Running, user: User) -> None:
    emulator.call("POST", "/_emulator/capacity", {"zone": "us-central1-*", "machines": 0})
    submit(user)
    wait_for_refusal(user)
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 300})
    assert user.outlast("show", "--json", "mover").json["state"] == "waiting"


def test_a_stock_out_is_remembered_shown_and_avoided(emulator: Running, user: User) -> None:
    emulator.call("POST", "/_emulator/capacity", {"zone": "us-central1-*", "machines": 0})
    submit(user, "--region", "us-central1,us-east1")
    wait_for_refusal(user)
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 300})
    user.outlast("show", "mover")
    user.outlast("show", "mover")
    kept = emulator.call("GET", "/storage/v1/b/moving/o?prefix=zones/").json()["items"]
    assert [one["name"] for one in kept] == ["zones/us-central1.json"] and kept[0]["generation"]
    region = user.outlast("catalog", "regions", "--json").json["rows"]
    (row,) = (one for one in region if one["name"] == "us-central1")
    assert row["met"]["stockouts"] == 1 and row["met"]["usd_per_hour"] > 0, row
    assert "1 stock-out" in user.outlast("catalog", "regions", "--region", "us-central1").out
    machines = user.outlast("catalog", "machines", "--json", "--region", "us-central1").json["rows"]
    assert sum(one["met"] is not None for one in machines) == 1
    words = ("run", "--on", "compute", "--bucket", "moving", "--dry-run", "--region", "us-central1,us-east1")
    later = user.outlast(*words, "train.py")
    assert "`us-central1` had no" in later.err and "`us-east1` is tried first" in later.err, later.err
    assert "in `us-east1`" in later.out


def test_whoever_cannot_reach_the_memory_rents_all_the_same(emulator: Running, user: User) -> None:
    submit(user, "--region", "us-central1,us-east1")
    assert emulator.put("moving", "zones/us-central1.json", b"no record").status == 200
    words = ("run", "--on", "compute", "--bucket", "moving", "--dry-run", "--region", "us-central1,us-east1")
    assert user.outlast(*words, "train.py").code == 0
    assert user.outlast("catalog", "machines", "--region", "us-central1").code == 0
