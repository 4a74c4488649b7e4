"""google-cloud-aiplatform and google-cloud-logging drive the emulator: what Google's own clients can read is what Google says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outlast_emulator.testing import Running
from tests.emulator_vertex.conftest import REGION, Vertex
from tests.waiting import until

CLIENT = "google-cloud-aiplatform, google-cloud-logging"


@pytest.fixture
def aiplatform(emulator: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library, pointed here."""
    monkeypatch.setenv("HOME", str(tmp_path))
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import aiplatform as found

    found.init(
        project="emulated",
        location=REGION,
        api_endpoint=emulator.url,
        api_transport="rest",
        credentials=AnonymousCredentials(),
        staging_bucket="gs://staging",
    )
    return found


@pytest.fixture
def log(emulator: Running) -> Any:
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import logging

    options = {"api_endpoint": emulator.url}
    return logging.Client(
        project="emulated", credentials=AnonymousCredentials(), _use_grpc=False, client_options=options
    )


def pool(image: str, todo: str, replicas: int = 1, **machine: Any) -> dict[str, Any]:
    return {
        "machine_spec": {"machine_type": "n1-standard-4", **machine},
        "replica_count": replicas,
        "container_spec": {"image_uri": image, "env": [{"name": "TODO", "value": todo}]},
    }


def test_a_job_lives_and_dies(aiplatform: Any, log: Any, vertex: Vertex) -> None:
    from google.cloud.aiplatform_v1.types import JobState, Scheduling

    specs = [
        pool(vertex.image, "echo done", accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1),
        pool(vertex.image, "sleep 1000", 2),
    ]
    job = aiplatform.CustomJob(display_name="first", worker_pool_specs=specs, labels={"a": "b"})
    job.submit(timeout=1000, scheduling_strategy=Scheduling.Strategy.SPOT, restart_job_on_worker_restart=True)
    until(lambda: job.state == JobState.JOB_STATE_SUCCEEDED)
    made = job.gca_resource
    assert (
        made.job_spec.scheduling.strategy == Scheduling.Strategy.SPOT
        and made.job_spec.worker_pool_specs[1].replica_count == 2
    )
    assert made.start_time <= made.end_time and not job.error.message
    assert [
        one.display_name for one in aiplatform.CustomJob.list(filter='labels.a=b AND state="JOB_STATE_SUCCEEDED"')
    ] == ["first"]
    wanted = (
        f'resource.type="ml_job" AND resource.labels.job_id="{job.name}" AND resource.labels.task_name="workerpool0-0"'
    )
    (entry,) = log.list_entries(filter_=wanted)
    assert entry.payload["message"] == "done" and entry.severity == "INFO" and entry.timestamp
    job.delete()
    assert aiplatform.CustomJob.list() == []


def test_googles_errors_are_the_clients_exceptions(aiplatform: Any, vertex: Vertex) -> None:
    from google.api_core.exceptions import BadRequest, NotFound, TooManyRequests
    from google.cloud.aiplatform_v1.types import JobState

    with pytest.raises(NotFound, match="does not exist"):
        aiplatform.CustomJob.get("123")
    wrong = aiplatform.CustomJob(display_name="x", worker_pool_specs=[pool(vertex.image, "", machine_type="z9")])
    with pytest.raises(BadRequest, match="z9"):
        wrong.submit()
    vertex.control("vertex/quotas", {"metric": "custom_model_training_cpus", "limit": 1})
    large = aiplatform.CustomJob(display_name="x", worker_pool_specs=[pool(vertex.image, "")])
    with pytest.raises(TooManyRequests, match="custom_model_training_cpus"):
        large.submit()
    vertex.control("vertex/quotas", {"metric": "custom_model_training_cpus", "limit": None})
    job = aiplatform.CustomJob(display_name="x", worker_pool_specs=[pool(vertex.image, "sleep 1000")])
    job.submit()
    until(lambda: job.state == JobState.JOB_STATE_RUNNING)
    job.cancel()
    until(lambda: job.state == JobState.JOB_STATE_CANCELLED and job.error.code == 1)


def test_entries_are_written_and_read(log: Any) -> None:
    from google.cloud.logging import DESCENDING

    logger = log.logger("mine")
    logger.log_text("hello", severity="ERROR", labels={"a": "b"})
    logger.log_struct({"message": "structured", "n": 1}, severity="INFO")
    with logger.batch() as batch:
        for number in range(5):
            batch.log_text(str(number), severity="DEBUG")
    found = list(log.list_entries(filter_="severity>=INFO", order_by=DESCENDING))
    assert [one.payload for one in found] == [{"message": "structured", "n": 1}, "hello"]
    assert found[1].labels == {"a": "b"} and found[1].log_name == "projects/emulated/logs/mine"
    assert [one.payload for one in log.list_entries(filter_="severity=DEBUG", page_size=2)] == list("01234")
    logger.delete()
    assert list(log.list_entries()) == []
