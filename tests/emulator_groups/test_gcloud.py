"""`gcloud compute instance-groups managed` and `instance-templates` drive the emulator, by its variables and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast_emulator.testing import Running, running
from tests.emulator_groups.conftest import REGION, group_body, template_body
from tests.gcloud import need_gcloud
from tests.waiting import until

SECONDS_MAX = 300
MANAGED = ("instance-groups", "managed")
WHERE = ("--region", REGION)


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "emulator", time_scale=0.01) as found:
        found.switch(machines=False)
        yield found


@pytest.fixture
def gcloud(emulator: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    need_gcloud()
    for name in [name for name in os.environ if name.startswith(("CLOUDSDK_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    environment = {
        **os.environ,
        **emulator.variables,
        "HOME": str(tmp_path),
        "CLOUDSDK_CONFIG": str(tmp_path / "gcloud"),
    }

    def call(*words: str, ok: bool = True) -> str:
        ended = subprocess.run(
            ["gcloud", "compute", *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            stdin=subprocess.DEVNULL,
        )
        assert (ended.returncode == 0) is ok, f"{words}: {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout if ok else ended.stderr

    return call


def test_a_regional_group_from_its_template_to_its_end(gcloud: Any) -> None:
    gcloud(
        *("instance-templates", "create", "t", "--instance-template-region", REGION, "--machine-type", "n2-standard-8"),
        *("--image-family", "debian-12", "--image-project", "debian-cloud", "--provisioning-model", "SPOT"),
        *("--instance-termination-action", "DELETE", "--labels", "outlast=1"),
    )
    gcloud(
        *(*MANAGED, "create", "g", *WHERE, "--size", "2", "--base-instance-name", "g-#[0]"),
        *("--template", f"projects/emulated/regions/{REGION}/instanceTemplates/t"),
        *("--target-distribution-shape", "any", "--instance-redistribution-type", "none", "--force-update-on-repair"),
    )
    gcloud(*MANAGED, "wait-until", "g", *WHERE, "--stable", "--timeout", "120")
    listed = json.loads(gcloud(*MANAGED, "list-instances", "g", *WHERE, "--format", "json"))
    assert [one["instance"].rsplit("/", 1)[-1] for one in listed] == ["g-0", "g-1"]
    assert {one["instanceStatus"] for one in listed} == {"RUNNING"}
    gcloud(*MANAGED, "delete", "g", *WHERE, "--quiet")
    assert gcloud("instance-templates", "list", "--format", "value(name)").split() == ["t"]
    gcloud("instance-templates", "delete", "t", "--region", REGION, "--quiet")
    assert gcloud("instances", "list", "--format", "value(name)").split() == []


def test_a_group_is_described_and_its_members_recreated_and_deleted(gcloud: Any, emulator: Running) -> None:
    root = f"/compute/v1/projects/emulated/regions/{REGION}"
    assert emulator.call("POST", f"{root}/instanceTemplates", template_body()).status == 200
    assert emulator.call("POST", f"{root}/instanceGroupManagers", group_body("h", 2)).status == 200
    assert "h" in gcloud(*MANAGED, "list", "--format", "value(name)").split()
    described = json.loads(gcloud(*MANAGED, "describe", "h", *WHERE, "--format", "json"))
    assert described["targetSize"] == 2 and described["status"]["isStable"]
    before = until(lambda: _machine(emulator, "h-0"))
    gcloud(*MANAGED, "recreate-instances", "h", *WHERE, "--instances", before.url)
    until(lambda: (now := _machine(emulator, "h-0")) is not None and now.id != before.id)
    second = until(lambda: _machine(emulator, "h-1"))
    gcloud(*MANAGED, "delete-instances", "h", *WHERE, "--instances", second.url)
    gcloud(*MANAGED, "resize", "h", *WHERE, "--size", "0")
    assert gcloud(*MANAGED, "list-errors", "h", *WHERE).strip() == ""
    until(lambda: not _machine(emulator, "h-0") and not _machine(emulator, "h-1"))


def _machine(emulator: Running, name: str) -> Any:
    assert emulator.inside is not None
    found = emulator.inside.compute.instances.named(name)
    return found if found is not None and found.status == "RUNNING" else None
