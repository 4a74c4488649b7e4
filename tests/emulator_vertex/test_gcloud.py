"""`gcloud ai custom-jobs` and `gcloud logging` drive the emulator, by the variables that the emulator prints and nothing else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running
from tests.emulator_clients import used
from tests.emulator_vertex.conftest import REGION, TIME_SCALE, Vertex
from tests.gcloud import need_gcloud

CLIENT = "gcloud ai"
PINNED = False
SECONDS_MAX = 300


@pytest.fixture
def emulator(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    need_gcloud()
    with running(tmp_path / "emulator", time_scale=TIME_SCALE) as found:
        found.switch(log_reads_per_minute=0)
        yield found
        used.compare(found, 0, CLIENT, request.node.name, PINNED)


def gcloud(emulator: Running, home: Path, *words: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLOUDSDK_", "GOOGLE_", "GCE_"))}
    environment = {**kept, **emulator.variables, "CLOUDSDK_CONFIG": str(home / "gcloud"), "HOME": str(home)}
    done = subprocess.run(
        ["gcloud", *words], env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_gcloud_makes_finds_reads_cancels_a_job(vertex: Vertex, tmp_path: Path) -> None:
    def jobs(*words: str) -> str:
        return gcloud(vertex.emulator, tmp_path, "ai", "custom-jobs", *words, "--region", REGION)

    spec = f"machine-type=n1-standard-4,replica-count=1,container-image-uri={vertex.image}"
    made = jobs(
        "create",
        "--display-name",
        "first",
        "--worker-pool-spec",
        spec,
        "--labels",
        "a=b",
        "--command",
        "echo,hello",
        "--format",
        "value(name)",
    )
    assert vertex.over(made)["state"] == "JOB_STATE_SUCCEEDED", vertex.said(made)
    with ThreadPoolExecutor() as beside:  # it looks every ten seconds whether the job is over
        streamed = beside.submit(jobs, "stream-logs", made, "--polling-interval", "1")
        listed = jobs("list", "--filter", "labels.a=b", "--format", "value(displayName,state)")
        assert listed.split() == ["first", "JOB_STATE_SUCCEEDED"]
        repositories = (
            "artifacts",
            "repositories",
            "create",
            "outlast",
            "--repository-format",
            "docker",
            "--location",
            REGION,
        )
        gcloud(vertex.emulator, tmp_path, *repositories)
        sleeping = vertex.create(vertex.pool("echo up; sleep 1000"))
        vertex.says(sleeping, "up")
        jobs("cancel", sleeping)
        assert vertex.over(sleeping)["state"] == "JOB_STATE_CANCELLED"
        wanted = f'resource.labels.job_id="{made.rpartition("/")[2]}" AND resource.labels.task_name="workerpool0-0"'
        log = ("logging", "read", wanted, "--format", "value(jsonPayload.message)")
        assert gcloud(vertex.emulator, tmp_path, *log) == "hello"
        assert "hello" in streamed.result()
