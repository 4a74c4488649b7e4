"""Vertex AI, Cloud Logging and the registry: an emulator with its time scaled a hundredfold, and the shortest bodies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast_emulator.testing import Running, running
from tests.alone import leave_the_network
from tests.emulator_clients import used
from tests.emulator_vertex.images import push, tar
from tests.waiting import until

leave_the_network()  # before any client is imported

TIME_SCALE = 0.01
REGION = "us-central1"
JOBS = f"/v1/projects/emulated/locations/{REGION}/customJobs"
OVER = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")
SCRIPT = b'#!/bin/sh\neval "$TODO"\n'
"""What the usual image runs: the variable TODO."""


class Vertex:
    """Custom jobs of one region; what is refused fails the test unless it is asked for."""

    def __init__(self, emulator: Running) -> None:
        self.emulator = emulator
        self.headers: dict[str, str] = {}
        self.image = push(
            emulator, layers=(tar({"opt/run.sh": SCRIPT}),), Entrypoint=["/opt/run.sh"], Env=["FROM=image"]
        )

    def pool(
        self, todo: str = "true", replicas: int = 1, machine: str = "n1-standard-4", **more: Any
    ) -> dict[str, Any]:
        container = {"imageUri": self.image, "env": [{"name": "TODO", "value": todo}], **more.pop("container", {})}
        return {
            "machineSpec": {"machineType": machine, **more},
            "replicaCount": str(replicas),
            "containerSpec": container,
        }

    def body(self, *pools: dict[str, Any], name: str = "job", **spec: Any) -> dict[str, Any]:
        labels = spec.pop("labels", {})
        return {"displayName": name, "labels": labels, "jobSpec": {"workerPoolSpecs": list(pools), **spec}}

    def create(self, *pools: dict[str, Any], name: str = "job", **spec: Any) -> str:
        """Its name, as Google gives it."""
        answer = self.emulator.call("POST", JOBS, self.body(*pools, name=name, **spec), self.headers)
        assert answer.status == 200, answer.body
        return str(answer.json()["name"])

    def get(self, job: str) -> dict[str, Any]:
        answer = self.emulator.call("GET", f"/v1/{job}", headers=self.headers)
        assert answer.status == 200, answer.body
        return dict(answer.json())

    def is_in(self, job: str, state: str) -> dict[str, Any]:
        """The job, as soon as it is in this state."""

        def look() -> dict[str, Any] | None:
            found = self.get(job)
            return found if found["state"] == f"JOB_STATE_{state}" else None

        return until(look, lambda: f"not {state}: {self.get(job)} {self.said(job)}")

    def over(self, job: str) -> dict[str, Any]:
        """The job, when it is over and its error is to be seen."""

        def look() -> dict[str, Any] | None:
            found = self.get(job)
            done = found["state"] in OVER and ("error" in found or found["state"] == OVER[0])
            return found if done else None

        return until(look, lambda: f"not over: {self.get(job)} {self.said(job)}")

    def said(self, job: str, task: str = "workerpool0-0") -> list[str]:
        """What a replica has written, in order."""
        number = job.rpartition("/")[2]
        wanted = f'resource.type="ml_job" resource.labels.job_id="{number}" resource.labels.task_name="{task}"'
        body = {"resourceNames": ["projects/emulated"], "filter": wanted, "pageSize": 1000}
        answer = self.emulator.call("POST", "/v2/entries:list", body)
        assert answer.status == 200, answer.body
        return [one["jsonPayload"].get("message", "") for one in answer.json().get("entries", [])]

    def says(self, job: str, line: str, times: int = 1, task: str = "workerpool0-0") -> None:
        until(lambda: self.said(job, task).count(line) >= times, lambda: f"{self.get(job)} {self.said(job, task)}")

    def refused(self, document: dict[str, Any], verb: str = "POST", path: str = JOBS) -> tuple[int, str, str]:
        """Status, Google's word for it, and the message."""
        answer = self.emulator.call(verb, path, document, self.headers)
        assert answer.status >= 400, answer.body
        error = answer.json()["error"]
        return answer.status, error.get("status", ""), error["message"]

    def control(self, path: str, document: dict[str, Any] | None = None) -> Any:
        answer = self.emulator.call("POST" if document is not None else "GET", f"/_emulator/{path}", document)
        assert answer.status == 200, answer.body
        return answer.json()

    def alive(self) -> list[str]:
        """Of the ledger."""
        found = self.control("ledger")["alive"]
        return [one["name"] for one in found if one["kind"] == "aiplatform.replica"]

    def token(self, email: str, *roles: str, kind: str = "users") -> str:
        self.emulator.call("POST", f"/_emulator/iam/{kind}", {"email": email, "roles": list(roles)})
        answer = self.emulator.call("POST", "/_emulator/iam/tokens", {"email": email})
        assert answer.status == 200, answer.body
        return str(answer.json()["access_token"])


@pytest.fixture
def emulator(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    with running(tmp_path / "emulator", time_scale=TIME_SCALE) as found:
        found.switch(log_reads_per_minute=0)
        yield found
        client: Any = getattr(request.module, "CLIENT", "")
        if client:
            used.compare(found, 0, client, request.node.name, getattr(request.module, "PINNED", True))


@pytest.fixture
def vertex(emulator: Running) -> Vertex:
    return Vertex(emulator)
