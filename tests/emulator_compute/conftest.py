"""Compute Engine's API by plain requests: an emulator with its time scaled a hundredfold, and the shortest bodies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast_emulator.testing import Running, running
from tests.emulator_clients import used

PROJECT = "emulated"
REGION = "us-central1"
ZONE = "us-central1-a"
IMAGE = "projects/debian-cloud/global/images/family/debian-12"
TIME_SCALE = 0.01


def body(name: str = "vm", *, script: str = "", **more: Any) -> dict[str, Any]:
    """The shortest that Google takes."""
    items = [{"key": "startup-script", "value": script}] if script else []
    return {
        "name": name,
        "machineType": f"zones/{ZONE}/machineTypes/e2-standard-2",
        "disks": [{"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": IMAGE}}],
        "networkInterfaces": [{"network": "global/networks/default"}],
        **({"metadata": {"items": items}} if items else {}),
        **more,
    }


class Api:
    """Paths below the project; what is refused fails the test unless it is asked for."""

    def __init__(self, emulator: Running) -> None:
        self.emulator = emulator
        self.headers: dict[str, str] = {}

    def call(self, verb: str, path: str, document: dict[str, Any] | None = None, project: str = PROJECT) -> Any:
        answer = self.emulator.call(verb, f"/compute/v1/projects/{project}/{path}", document, self.headers)
        assert answer.status < 300, answer.body
        return answer.json()

    def get(self, path: str, project: str = PROJECT) -> Any:
        return self.call("GET", path, project=project)

    def post(self, path: str, document: dict[str, Any] | None = None) -> Any:
        """The operation, as it is when it begins."""
        return self.call("POST", path, document or {})

    def delete(self, path: str) -> Any:
        return self.call("DELETE", path)

    def done(self, operation: dict[str, Any]) -> dict[str, Any]:
        """The operation, when it is over."""
        path = operation["selfLink"].split(f"/projects/{PROJECT}/", 1)[1]
        found = self.post(f"{path}/wait")
        while found["status"] != "DONE":
            found = self.post(f"{path}/wait")
        return dict(found)

    def refused(self, verb: str, path: str, document: dict[str, Any] | None = None) -> tuple[int, str, str]:
        """Status, reason and words."""
        answer = self.emulator.call(verb, f"/compute/v1/projects/{PROJECT}/{path}", document, self.headers)
        assert answer.status >= 400, answer.body
        error = answer.json()["error"]
        assert error["code"] == answer.status and error["message"] == error["errors"][0]["message"]
        return answer.status, error["errors"][0]["reason"], error["message"]

    def make(self, name: str = "vm", zone: str = ZONE, **more: Any) -> dict[str, Any]:
        """A running instance."""
        ended = self.done(self.post(f"zones/{zone}/instances", body(name, **more)))
        assert "error" not in ended, ended
        return self.instance(name, zone)

    def instance(self, name: str = "vm", zone: str = ZONE) -> dict[str, Any]:
        return dict(self.get(f"zones/{zone}/instances/{name}"))

    def control(self, verb: str, path: str, document: dict[str, Any] | None = None) -> Any:
        answer = self.emulator.call(verb, f"/_emulator/{path}", document)
        assert answer.status == 200, answer.body
        return answer.json()


def note_calls(emulator: Running, request: pytest.FixtureRequest) -> None:
    """What a foreign client has called is compared with what is written in emulator_clients/used.json."""
    client = getattr(request.module, "CLIENT", "")
    if client:
        used.compare(emulator, 0, client, request.node.name, getattr(request.module, "PINNED", True))


@pytest.fixture
def emulator(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    """Instances are records only."""
    with running(tmp_path / "emulator", time_scale=TIME_SCALE) as found:
        found.switch(machines=False)
        yield found
        note_calls(found, request)


@pytest.fixture
def api(emulator: Running) -> Api:
    return Api(emulator)


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Api]:
    """Instances really run."""
    with running(tmp_path / "emulator", time_scale=TIME_SCALE) as found:
        yield Api(found)
