"""What makes Vertex AI begin again, how often, and when it gives up: exits, preemption, stock-outs, quotas, maintenance."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator_vertex.conftest import Vertex
from tests.waiting import until

SLEEPING = "trap 'echo told; exit 9' TERM; echo up; while true; do sleep 0.05; done"
SPOT = {"strategy": "SPOT"}
NO_ROOM = "Resources are insufficient in region: us-central1."


def shown(vertex: Vertex, job: str) -> dict[str, object]:
    """What the emulator tells of a job that is not over."""
    for one in vertex.control("vertex/jobs")["jobs"]:
        if job.endswith(one["job"]):
            return dict(one)
    return {}


@pytest.mark.parametrize(("code", "times"), [(1, 1), (134, 4), (139, 4)])
def test_an_exit_code_is_final_unless_it_may_pass(vertex: Vertex, code: int, times: int) -> None:
    vertex.emulator.switch(vertex_start_seconds=1)
    job = vertex.create(vertex.pool(f"echo up; exit {code}"))
    found = vertex.over(job)
    assert found["state"] == "JOB_STATE_FAILED"
    words = f"The replica workerpool0-0 exited with a non-zero status of {code}."
    assert found["error"]["code"] == 3 and found["error"]["message"].startswith(words)
    assert vertex.said(job).count("up") == times


def test_with_the_switch_off_a_container_begins_again_five_times_and_then_the_job_three_times(vertex: Vertex) -> None:
    vertex.emulator.switch(vertex_start_seconds=1, vertex_exit_is_final=False)
    job = vertex.create(vertex.pool("echo up; exit 1"))
    assert vertex.over(job)["state"] == "JOB_STATE_FAILED"
    assert vertex.said(job).count("up") == (1 + 5) * (1 + 3)


def test_a_preempted_job_is_told_and_begins_again_until_it_was_six_times(vertex: Vertex) -> None:
    vertex.emulator.switch(vertex_start_seconds=1)
    job = vertex.create(vertex.pool(SLEEPING), name="spot", scheduling=SPOT)
    for time in range(7):
        vertex.says(job, "up", times=time + 1)
        until(lambda: vertex.get(job)["state"] == "JOB_STATE_RUNNING")
        assert vertex.control("vertex/preempt", {"job": "spot", "notice_seconds": 6000})["replica"] == "workerpool0-0"
        vertex.says(job, "told", times=time + 1)
    found = vertex.over(job)
    assert found["state"] == "JOB_STATE_FAILED"
    assert found["error"]["code"] == 8 and found["error"]["message"].startswith(NO_ROOM)
    assert vertex.said(job).count("up") == 7
    assert len(vertex.control("vertex/usage")["lines"]) == 7 and vertex.alive() == []


def test_a_machine_that_is_taken_at_once_says_nothing_any_more(vertex: Vertex) -> None:
    job = vertex.create(vertex.pool(SLEEPING), scheduling=SPOT)
    vertex.says(job, "up")
    until(lambda: vertex.get(job)["state"] == "JOB_STATE_RUNNING")
    vertex.control("vertex/preempt", {"job": job.rpartition("/")[2], "notice_seconds": 0})
    vertex.says(job, "up", times=2)
    assert "told" not in vertex.said(job)


def test_only_spot_machines_are_preempted_and_the_others_are_maintained(vertex: Vertex) -> None:
    job = vertex.create(vertex.pool(SLEEPING), vertex.pool(SLEEPING, 2), name="standard")
    vertex.says(job, "up", task="workerpool1-1")
    until(lambda: vertex.get(job)["state"] == "JOB_STATE_RUNNING")
    refused = vertex.emulator.call("POST", "/_emulator/vertex/preempt", {"job": "standard"})
    assert refused.status == 400 and b"not SPOT" in refused.body
    vertex.control("vertex/maintain", {"job": "standard", "replica": "workerpool1-1"})
    vertex.says(job, "up", times=2, task="workerpool1-1")
    assert vertex.said(job).count("up") == 1 and shown(vertex, job)["attempts"] == 1
    unknown = vertex.emulator.call(
        "POST", "/_emulator/vertex/maintain", {"job": "standard", "replica": "workerpool9-9"}
    )
    assert unknown.status == 400 and b"workerpool1-1" in unknown.body


def test_a_job_that_asked_for_it_begins_again_with_each_of_its_workers(vertex: Vertex) -> None:
    job = vertex.create(
        vertex.pool(SLEEPING), vertex.pool(SLEEPING), name="gang", scheduling={"restartJobOnWorkerRestart": True}
    )
    vertex.says(job, "up", task="workerpool1-0")
    vertex.says(job, "up")
    until(lambda: vertex.get(job)["state"] == "JOB_STATE_RUNNING")
    vertex.control("vertex/maintain", {"job": "gang", "replica": "workerpool1-0"})
    vertex.says(job, "up", times=2)
    vertex.says(job, "up", times=2, task="workerpool1-0")
    assert shown(vertex, job)["attempts"] == 2


def test_a_job_waits_for_machines_and_fails_when_there_are_none_for_long(vertex: Vertex) -> None:
    vertex.emulator.switch(vertex_start_seconds=1, vertex_retry_seconds=5)
    vertex.control("vertex/capacity", {"region": "us-*", "machine_type": "n1-*", "strategy": "STANDARD"})
    failed = vertex.over(vertex.create(vertex.pool()))
    assert failed["error"]["message"].startswith(NO_ROOM) and "startTime" not in failed
    assert vertex.over(vertex.create(vertex.pool(machine="e2-standard-4")))["state"] == "JOB_STATE_SUCCEEDED"
    vertex.control("vertex/capacity", {"machine_type": "NVIDIA_L4", "strategy": "FLEX_START"})
    gpu: dict[str, Any] = {"acceleratorType": "NVIDIA_L4", "acceleratorCount": 1, "machine": "g2-standard-8"}
    patient = vertex.create(vertex.pool(**gpu), scheduling={"strategy": "FLEX_START", "maxWaitDuration": "0s"})
    hasty = vertex.create(vertex.pool(**gpu), scheduling={"strategy": "FLEX_START", "maxWaitDuration": "20s"})
    assert vertex.over(hasty)["state"] == "JOB_STATE_FAILED"
    assert vertex.get(patient)["state"] == "JOB_STATE_PENDING"
    vertex.control("vertex/capacity", {"replicas": None})
    assert vertex.over(patient)["state"] == "JOB_STATE_SUCCEEDED"


def test_a_job_is_queued_until_others_give_their_quota_back(vertex: Vertex) -> None:
    metric = "custom_model_training_nvidia_t4_gpus"
    gpu: dict[str, Any] = {"acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}
    vertex.control("vertex/quotas", {"metric": metric, "limit": 1, "region": "us-central1"})
    large = vertex.body(vertex.pool(**gpu), vertex.pool(**gpu))
    status, word, message = vertex.refused(large)
    assert (status, word) == (429, "RESOURCE_EXHAUSTED") and f"aiplatform.googleapis.com/{metric}" in message
    first = vertex.create(vertex.pool(SLEEPING, **gpu), name="first")
    vertex.says(first, "up")
    second = vertex.create(vertex.pool("true", **gpu), name="second")
    vertex.is_in(second, "QUEUED")
    vertex.emulator.call("POST", f"/v1/{first}:cancel", {})
    assert vertex.over(second)["state"] == "JOB_STATE_SUCCEEDED"


def test_a_queued_job_can_be_cancelled(vertex: Vertex) -> None:
    vertex.control("vertex/quotas", {"metric": "custom_model_training_cpus", "limit": 4})
    first = vertex.create(vertex.pool(SLEEPING))
    vertex.says(first, "up")
    second = vertex.create(vertex.pool())
    vertex.is_in(second, "QUEUED")
    vertex.emulator.call("POST", f"/v1/{second}:cancel", {})
    assert vertex.over(second)["state"] == "JOB_STATE_CANCELLED"
    assert vertex.said(second) == []
