"""`gcloud compute` drives the emulator, by the variables that the emulator prints and nothing else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running
from tests.emulator_compute.conftest import note_calls
from tests.gcloud import need_gcloud

CLIENT = "gcloud compute"
PINNED = False
"""It comes from wherever a machine has it from."""
ZONE = ("--zone", "us-central1-a")
SECONDS_MAX = 300


@pytest.fixture
def emulator(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    need_gcloud()
    with running(tmp_path / "emulator", time_scale=0.01) as found:
        yield found
        note_calls(found, request)


def gcloud(emulator: Running, home: Path, *words: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLOUDSDK_", "GOOGLE_", "GCE_"))}
    environment = {**kept, **emulator.variables, "CLOUDSDK_CONFIG": str(home / "gcloud"), "HOME": str(home)}
    done = subprocess.run(
        ["gcloud", "compute", *words], env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_gcloud_makes_finds_changes_saves_and_deletes_a_machine(emulator: Running, tmp_path: Path) -> None:
    def run(*words: str) -> str:
        return gcloud(emulator, tmp_path, *words)

    made = run(
        *("instances", "create", "vm", *ZONE, "--machine-type", "e2-standard-2", "--image-family", "debian-12"),
        *("--image-project", "debian-cloud", "--labels", "a=b", "--metadata", "k=v", "--no-address"),
        *("--provisioning-model", "SPOT", "--instance-termination-action", "STOP"),
    )
    assert "RUNNING" in made
    assert run("instances", "list", "--filter", "labels.a=b", "--format", "value(name,status)").split() == [
        "vm",
        "RUNNING",
    ]
    assert run("instances", "describe", "vm", *ZONE, "--format", "value(labels.a)") == "b"
    assert "startup scripts" in run("instances", "get-serial-port-output", "vm", *ZONE)
    ssh = run("ssh", "vm", *ZONE, "--dry-run", "--tunnel-through-iap", "--command", "true")
    assert "start-iap-tunnel" in ssh and "compute." in ssh
    run("instances", "add-metadata", "vm", *ZONE, "--metadata", "x=y")
    run("instances", "stop", "vm", *ZONE)
    run("images", "create", "saved", "--source-disk", "vm", "--source-disk-zone", ZONE[1], "--family", "fam")
    assert run("images", "describe-from-family", "fam", "--format", "value(name)") == "saved"
    assert "saved" in run("images", "list", "--no-standard-images", "--format", "value(name)")
    run("images", "delete", "saved", "--quiet")
    run("instances", "delete", "vm", *ZONE, "--quiet")
    assert run("instances", "list", "--format", "value(name)") == ""


def test_gcloud_reads_places_types_quotas_and_networks(emulator: Running, tmp_path: Path) -> None:
    def run(*words: str) -> str:
        return gcloud(emulator, tmp_path, *words)

    zones = run("zones", "list", "--filter", "region:us-central1", "--format", "value(name)").split()
    assert zones == ["us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f"]
    assert (
        "us-central1-a"
        in run("accelerator-types", "list", "--filter", "name=nvidia-l4", "--format", "value(zone)").split()
    )
    assert "PREEMPTIBLE_NVIDIA_L4_GPUS" in run(
        "regions", "describe", "us-central1", "--format", "value(quotas[].metric)"
    )
    assert "debian-12-bookworm" in run("images", "list", "--filter", "family:debian-12", "--format", "value(name)")
    run("firewall-rules", "create", "iap", "--allow", "tcp:22", "--source-ranges", "35.235.240.0/20")
    assert "iap" in run("firewall-rules", "list", "--format", "value(name)").split()
