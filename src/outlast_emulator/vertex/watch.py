"""Watches the replicas of one attempt until it is over, and says how it ended."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from outlast_emulator.containers.container import Container
from outlast_emulator.vertex import outcomes
from outlast_emulator.vertex.attempt import Attempt
from outlast_emulator.vertex.environment import Replica
from outlast_emulator.vertex.jobs import Job
from outlast_emulator.vertex.outcomes import TRANSIENT_CODES, Outcome
from outlast_emulator.vertex.rules import seconds_of

if TYPE_CHECKING:
    from outlast_emulator.vertex.model import Vertex

WORKER_RESTARTS_MAX = 5
PRIMARY = "workerpool0-0"
LOOK_SECONDS_MAX = 0.5
"""A test may set the clock forward."""


@dataclass(frozen=True)
class Told:
    """`exit`, `preempt`, `maintain`, `cancel`, `close`."""

    kind: str
    replica: str = ""
    container: Container | None = None
    notice_seconds: float = 0.0


@dataclass
class Doom:
    """A machine that goes away: until when its replica may run, and whether it comes back elsewhere."""

    ends_at: float
    is_moved: bool


class Watch:
    def __init__(self, vertex: Vertex, job: Job, attempt: Attempt, told: Callable[[float], Told | None]) -> None:
        self._vertex = vertex
        self._job = job
        self._attempt = attempt
        self._told = told
        self._doomed: dict[str, Doom] = {}
        self._replicas = {one.name: one for one in attempt.replicas}

    def until_over(self) -> Outcome:
        timeout = seconds_of(str(self._job.spec.get("scheduling", {}).get("timeout", "604800s")))
        ends_at = self._job.state["started_at"] + self._vertex.clock.scaled(timeout)
        while True:
            now = self._vertex.clock.now()
            if now >= ends_at:
                return outcomes.timed_out(timeout)
            for name, doom in list(self._doomed.items()):
                if now >= doom.ends_at:
                    self._attempt.containers[name].kill()
            soonest = min([ends_at, *(doom.ends_at for doom in self._doomed.values())])
            told = self._told(min(max(soonest - now, 0.0), LOOK_SECONDS_MAX))
            outcome = self._heard(told) if told is not None else None
            if outcome is not None:
                return outcome

    def _heard(self, told: Told) -> Outcome | None:
        """None: it goes on."""
        if told.replica not in self._replicas:
            return None
        current = self._attempt.containers[told.replica]
        if told.kind == "exit":
            return self._exited(self._replicas[told.replica], current) if told.container is current else None
        if told.replica not in self._doomed and current.alive():
            seconds = self._vertex.clock.scaled(told.notice_seconds)
            self._doomed[told.replica] = Doom(self._vertex.clock.now() + seconds, told.kind == "maintain")
            if seconds > 0:
                current.signal(signal.SIGTERM)
        return None

    def _exited(self, replica: Replica, container: Container) -> Outcome | None:
        doom = self._doomed.pop(replica.name, None)
        if container.code == 0 and (doom is None or replica.name == PRIMARY):
            return outcomes.SUCCEEDED if replica.name == PRIMARY else None
        if doom is not None:
            return self._moved(replica) if doom.is_moved else outcomes.stockout(self._job.region, "preempted")
        if container.code is None:
            return outcomes.internal(container.failure)
        if container.failure:  # it was never its own program
            return outcomes.internal(container.failure)
        if container.code in TRANSIENT_CODES:
            return outcomes.exited(replica.name, container.code, "crashed")
        if self._vertex.switches.vertex_exit_is_final:
            return outcomes.exited(replica.name, container.code)
        restarts = self._job.state.setdefault("restarts", {})
        restarts[replica.name] = int(restarts.get(replica.name, 0)) + 1
        if restarts[replica.name] > WORKER_RESTARTS_MAX:
            restarts.clear()
            return outcomes.exited(replica.name, container.code, "crashed")
        return self._moved(replica)

    def _moved(self, replica: Replica) -> Outcome | None:
        """The replica begins again, and with it the job, if it was made so."""
        scheduling = self._job.spec.get("scheduling", {})
        if scheduling.get("restartJobOnWorkerRestart") and not scheduling.get("disableRetries"):
            return outcomes.AGAIN
        self._vertex.jobs.save(self._job)
        self._attempt.start_one(replica)
        return None
