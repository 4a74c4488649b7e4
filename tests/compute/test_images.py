"""Images: built on machines that really run, booted by jobs, scrubbed, pruned; and whoever is killed leaves nothing for long."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running
from tests.cli.user import User, end_processes
from tests.compute.renting import ANN, images, listed, ready, rented, show_wheel
from tests.waiting import until

TIME_SCALE = 0.02
PROJECT = "/compute/v1/projects/emulated"
SETUP = """#!/bin/bash
echo "accounts: [$(curl -s -H 'Metadata-Flavor: Google' http://169.254.169.254/computeMetadata/v1/instance/service-accounts/)]"
echo "python: $(command -v python)"
echo set up >/opt/set-up.txt
"""
USES = """import pathlib, sys
import greetings
print("says", greetings.WORD, "in", sys.prefix, pathlib.Path("/opt/set-up.txt").read_text())
print("canary", pathlib.Path("/opt/canary").exists())
"""
PLANTS = """import os, pathlib, time
canary = "can" + "ary" * 3
for place in (".ssh/id_ed25519", ".bash_history", ".config/gcloud/access_tokens.db", ".netrc", ".cache/huggingface/token"):
    path = pathlib.Path("/root", place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(canary)
pathlib.Path("/tmp/left").write_text(canary)
pathlib.Path("/opt/kept.txt").write_text("kept")
os.sync()
print("planted", flush=True)
time.sleep(600)
"""
LOOKS = """import pathlib, subprocess
canary = "can" + "ary" * 3
found = subprocess.run(["grep", "-rlI", canary, "/root", "/tmp", "/opt", "/var/lib/outlast", "/var/log"], capture_output=True, text=True)
print("found", repr(found.stdout), pathlib.Path("/opt/kept.txt").read_text())
"""


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "google", time_scale=TIME_SCALE, process=True) as found:
        yield found


@pytest.fixture
def user(emulator: Running, tmp_path: Path) -> Iterator[User]:
    one = ready(emulator, tmp_path / "ada")
    yield one
    end_processes(one)


def publish(emulator: Running, name: str, family: str, **labels: str) -> None:
    """As somebody has built it, without a builder."""
    source = "projects/debian-cloud/global/images/family/debian-12"
    body = {"name": name, "family": family, "sourceImage": source, "labels": labels}
    assert emulator.call("POST", f"{PROJECT}/global/images", body).status == 200
    path = f"{PROJECT}/global/images/{name}"
    until(lambda: emulator.call("GET", path).json().get("status") == "READY", name)


def read_until(process: subprocess.Popen[bytes], words: str) -> list[str]:
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line.decode())
        if words in seen[-1]:
            return seen
    raise AssertionError(f"`{words}` was never said: {''.join(seen)}")


def test_a_job_runs_in_the_environment_that_was_built_into_its_image(
    emulator: Running, user: User, tmp_path: Path
) -> None:
    show_wheel(emulator, tmp_path / "wheels")
    user.write("requirements.txt", "greetings==1.0  # $(touch /opt/canary) `touch /opt/canary`\n")
    user.write("setup.sh", SETUP)
    user.write("uses.py", USES)
    built = user.outlast(
        "image", "build", "morning", "--requirements", "requirements.txt", "--setup", "setup.sh", "--json"
    )
    assert built.code == 0, built.err
    assert "accounts: []" in built.err, "the builder has a service account"
    assert "python: /opt/outlast/environment/bin/python" in built.err
    assert not rented(emulator)
    asked = emulator.call("GET", "/_emulator/iam/asked").json()[ANN]
    assert {"compute.images.create", "compute.instances.getGuestAttributes"} <= set(asked), (
        "nobody looked at her rights"
    )
    name = built.json["image"]
    assert images(emulator) == [name] and name.startswith("morning-20")

    ran = user.outlast("run", "--on", "compute", "--image", "morning", "--job-id", "uses", "uses.py")
    assert ran.code == 0, ran.out + ran.err
    assert "says good morning in /opt/outlast/environment set up" in ran.out
    assert "canary False" in ran.out
    assert "the image's environment" in ran.err and "Environment `" not in ran.err, "packages were frozen"
    shown = user.outlast("show", "uses", "--json").json
    assert shown["job"] == "uses"
    until(lambda: not rented(emulator), "the job's machine is gone")


def test_a_machine_is_saved_without_keys_histories_tokens_and_agent_and_the_job_goes_on(
    emulator: Running, user: User
) -> None:
    user.write("plants.py", PLANTS)
    user.write("looks.py", LOOKS)
    started = user.outlast("run", "--on", "compute", "--job-id", "plants", "--detach", "plants.py")
    assert started.code == 0, started.err
    until(lambda: "planted" in user.outlast("logs", "plants").out, "the job plants")
    saved = user.outlast("image", "save", "plants", "garden", "--json")
    assert saved.code == 0, saved.err
    assert {"ssh keys", "histories", "tokens", "temporary files", "the agent's state"} <= set(saved.json["scrubbed"])
    assert "scrubbed of" in saved.err and "tokens" in saved.err
    assert user.outlast("show", "plants", "--json").json["state"] == "running"
    assert [one["name"] for one in listed(emulator, "instances")] == [
        one["name"] for one in listed(emulator, "disks")
    ], "the copy, or its builder, is still there"

    needed = user.outlast("run", "--on", "compute", "--image", "garden", "--job-id", "looks", "looks.py")
    assert needed.code == 0, needed.err
    assert "found '' kept" in needed.out
    assert user.outlast("stop", "plants").code == 0


def test_a_set_up_that_fails_publishes_nothing_and_shows_its_log(emulator: Running, user: User) -> None:
    """In the first zone there is no room for the builder."""
    full = emulator.call("POST", "/_emulator/capacity", {"zone": "us-central1-a", "machines": 0})
    assert full.status == 200, full.body
    user.write("setup.sh", "echo it begins\nmissing-program --now\nexit 3\n")
    built = user.outlast("image", "build", "broken", "--setup", "setup.sh")
    assert built.code == 1
    assert "no room in `us-central1-a`" in built.err
    assert "it begins" in built.err and "missing-program: command not found" in built.err
    assert "the set-up script ended with 3" in built.err
    assert "no image was made, and its builder is deleted" in built.err
    assert not images(emulator) and not rented(emulator)
    user.write("off.sh", "poweroff\nsleep 600\n")
    off = user.outlast("image", "build", "broken", "--setup", "off.sh")
    assert off.code == 1 and "has not said that it is done" in off.err, off.err
    assert not images(emulator) and not rented(emulator)


def test_ctrl_c_deletes_the_builder(emulator: Running, user: User) -> None:
    user.write("setup.sh", "echo it waits\nsleep 600\n")
    building = user.start("image", "build", "waiting", "--setup", "setup.sh")
    read_until(building, "it waits")
    building.send_signal(signal.SIGINT)
    building.communicate(timeout=120)
    assert building.returncode == 130
    assert not images(emulator) and not rented(emulator)


def test_whoever_is_killed_while_building_leaves_nothing_for_longer_than_the_builders_own_limit(tmp_path: Path) -> None:
    """Two hours are half a minute here. A builder is never stopped, for then its limit would not hold."""
    with running(tmp_path / "google", time_scale=30 / 7200, process=True) as emulator:
        user = ready(emulator, tmp_path / "ada")
        user.write("setup.sh", "sleep 0.5\n")
        for moment in ("base `", "builder `", "running the set-up", "saving its disk"):
            building = user.start("image", "build", "early", "--setup", "setup.sh")
            read_until(building, moment)
            building.kill()
            building.communicate()
            assert not {one["status"] for one in listed(emulator, "instances")} & {"STOPPING", "TERMINATED"}
        audited = user.outlast("audit")
        assert audited.code == 0, "a builder at work is no leak: " + audited.out + audited.err
        until(lambda: not rented(emulator), "the builders are gone")


def test_old_images_go_and_what_a_job_needs_stays(emulator: Running, user: User) -> None:
    user.write("waits.py", "import time\ntime.sleep(600)\n")
    for number in (1, 2, 3, 4):
        publish(emulator, f"tools-{number}", "tools", outlast="1")
        if number == 1:
            run = ("run", "--on", "compute", "--image", "tools", "--job-id", "waits", "--detach", "waits.py")
            assert user.outlast(*run).code == 0
    publish(emulator, "theirs", "tools")
    rows = user.outlast("image", "list", "--json").json
    assert [row["image"] for row in rows] == ["tools-4", "tools-3", "tools-2", "tools-1"]
    assert [row["jobs"] for row in rows] == [[], [], [], ["waits"]]
    assert all(row["usd_per_month"] > 0 for row in rows)
    assert "waits" in user.outlast("image", "list").out

    refused = user.outlast("image", "delete", "tools-1", "--yes")
    assert refused.code == 2 and "needed by job `waits`" in refused.err
    assert user.outlast("image", "delete", "theirs", "--yes").code == 3
    assert user.outlast("image", "delete", "tools-2").code == 2, "nobody is asked, and nobody said yes"
    rehearsed = user.outlast("image", "prune", "--keep", "1", "--dry-run")
    assert "tools-2" in rehearsed.out and "tools-4" not in rehearsed.out
    assert images(emulator) == ["theirs", "tools-1", "tools-2", "tools-3", "tools-4"]
    pruned = user.outlast("image", "prune", "tools", "--keep", "1", "--yes", "--json")
    assert pruned.code == 0, pruned.err
    assert images(emulator) == ["theirs", "tools-1", "tools-4"]
    assert user.outlast("image", "delete", "tools-4", "--yes").code == 0
    assert images(emulator) == ["theirs", "tools-1"]
    assert user.outlast("stop", "waits").code == 0


@pytest.mark.parametrize("family", ["Tools", "a b", "-x", "x" * 48, "$(touch canary)", "x;ls", ""])
def test_a_family_that_google_would_refuse_is_refused_before_anything_is_asked(family: str, tmp_path: Path) -> None:
    user = User(tmp_path)
    user.work.mkdir()
    said = user.outlast("image", "build", "--", family)
    assert said.code == 2 and "no name for a family" in said.err


def test_requirements_that_name_other_files_are_refused(tmp_path: Path) -> None:
    user = User(tmp_path)
    user.write("requirements.txt", "numpy\n-r more.txt\n")
    said = user.outlast("image", "build", "tools", "--requirements", "requirements.txt")
    assert said.code == 2 and "line 2 names another file" in said.err and "uv pip compile" in said.err
    missing = user.outlast("image", "build", "tools", "--setup", "no.sh")
    assert missing.code == 3 and "no.sh" in missing.err


def test_a_builder_that_outlives_its_limit_is_a_leak_and_is_removed(emulator: Running, user: User) -> None:
    """Google's own limit has failed: nobody waits for it any more."""
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": -3 * 3600})
    builder = {
        "name": "outlast-image-0123456789abcdef",
        "machineType": "zones/us-central1-a/machineTypes/e2-standard-4",
        "labels": {"outlast": "1", "outlast-kind": "image-builder", "outlast-family": "tools"},
        "disks": [
            {
                "boot": True,
                "autoDelete": True,
                "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12"},
            }
        ],
        "networkInterfaces": [{"network": "global/networks/default"}],
    }
    assert emulator.call("POST", f"{PROJECT}/zones/us-central1-a/instances", builder).status == 200
    until(lambda: [one["status"] for one in listed(emulator, "instances")] == ["RUNNING"], "it runs")
    early = user.outlast("audit")
    assert early.code == 0, "this laptop's clock is three hours ahead"
    told = r"an image is made on it; its provider deletes it in (2 h|1 h 5\d min) at the latest"
    assert re.search(told, early.out), early.out
    machine = next(one for one in user.outlast("audit", "--json").json["items"] if one["kind"] == "machine")
    assert machine["until_at"] == machine["made_at"] + 7200
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 0})
    found = user.outlast("audit")
    assert found.code == 9 and "an image was made on it" in found.out, found.out + found.err
    assert user.outlast("audit", "--fix").code == 0
    assert not rented(emulator)
