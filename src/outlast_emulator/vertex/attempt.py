"""The replicas of a job, from their start to their end: containers on a network that they share."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import monotonic
from outlast_emulator.containers.container import Container
from outlast_emulator.containers.host import Start
from outlast_emulator.containers.images import Image
from outlast_emulator.containers.network import Network
from outlast_emulator.containers.pull import NoImage, Unreachable
from outlast_emulator.iam.state import PROJECT
from outlast_emulator.logging_api.fields import SEVERITIES
from outlast_emulator.vertex.environment import Replica, environment, replicas
from outlast_emulator.vertex.jobs import Job

if TYPE_CHECKING:
    from outlast_emulator.vertex.model import Vertex

OnExit = Callable[[Replica, Container], None]


class Refused(Exception):
    """A replica's image cannot be had."""

    def __init__(self, replica: str, why: str, *, passing: bool) -> None:
        super().__init__(why)
        self.replica = replica
        self.passing = passing
        """It may be there in a moment."""


class Attempt:
    def __init__(self, vertex: Vertex, job: Job, on_exit: OnExit) -> None:
        self._vertex = vertex
        self._job = job
        self._on_exit = on_exit
        self._images: dict[str, Image] = {}
        self._network: Network | None = None
        self._started = 0
        self.replicas = replicas(job, plain=vertex.host().kind == "plain")
        self.containers: dict[str, Container] = {}

    def prepare(self) -> None:
        """All that is needed for a start. Raises `Refused`, or OSError where there can be no network."""
        for replica in self.replicas:
            address = str(replica.spec["containerSpec"]["imageUri"])
            if address not in self._images:
                try:
                    self._images[address] = self._vertex.image(address)
                except NoImage as error:
                    raise Refused(replica.name, str(error), passing=isinstance(error, Unreachable)) from error
        self._network = self._vertex.network(self._job)

    def start(self) -> None:
        for replica in self.replicas:
            self.start_one(replica)

    def start_one(self, replica: Replica) -> None:
        """Also a second time: a container is new each time, its host name is not."""
        assert self._network is not None
        asked = replica.spec["containerSpec"]
        own = {str(one["name"]): str(one.get("value", "")) for one in asked.get("env", ())}
        self._started += 1
        start = Start(
            name=replica.host,
            disk=f"{self._job.id}-{self._job.state.get('attempts', 0)}-{self._started}",
            image=self._images[str(asked["imageUri"])],
            network=self._network,
            command=tuple(asked.get("command", ())),
            arguments=tuple(asked.get("args", ())),
            environment={**self._vertex.surroundings(), **environment(self._job, replica, self.replicas), **own},
            hosts={one.host: one.address for one in self.replicas},
            shown=self._vertex.shown(),
        )
        container = self._vertex.host().start(
            start,
            lambda stream, line: self._vertex.log(_entry(self._job, replica.name, stream, line)),
            lambda ended: self._on_exit(replica, ended),
        )
        self.containers[replica.name] = container

    def end(self, grace_seconds: float) -> None:
        """SIGTERM to those that run, and SIGKILL when the time is over; returns when nothing is left of them."""
        alive = [one for one in self.containers.values() if one.alive()]
        if grace_seconds > 0:
            for one in alive:
                one.signal(signal.SIGTERM)
        ends_at = monotonic() + grace_seconds
        for one in alive:
            one.wait(max(0.0, ends_at - monotonic()))
        for one in alive:
            one.kill()
        if self._network is not None:
            self._network.close()


def _entry(job: Job, task: str, stream: str, line: str) -> dict[str, Any]:
    """A line that is a JSON object is an entry's payload, and may say its severity; another is a message."""
    severity = "INFO" if stream == "stdout" else "ERROR"
    payload: dict[str, Any] = {"message": line, "levelname": severity, "attrs": {"tag": task}}
    if line.startswith("{") and line.rstrip().endswith("}"):
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if isinstance(found, dict):
            said = str(found.get("severity", "")).upper()
            severity = said if said in SEVERITIES else severity
            payload = found
    return entry(job, task, severity, payload)


def entry(job: Job, task: str, severity: str, payload: dict[str, Any]) -> dict[str, Any]:
    labels = {"job_id": str(job.id), "project_id": PROJECT, "task_name": task}
    return {
        "logName": f"projects/{PROJECT}/logs/{task if task != 'service' else f'ml.googleapis.com%2F{job.id}'}",
        "resource": {"type": "ml_job", "labels": labels},
        "severity": severity,
        "jsonPayload": payload,
    }
