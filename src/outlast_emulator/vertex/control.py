"""`/_emulator/vertex/`: machines that are taken away, stock-outs and quotas, and what really runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import places
from outlast_emulator.control.surface import answered
from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.routes import Route
from outlast_emulator.vertex.room import RULE_FIELDS
from outlast_emulator.vertex.run import GRACE_SECONDS, Run
from outlast_emulator.vertex.watch import PRIMARY, Told

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

STRATEGIES = ("*", "STANDARD", "SPOT", "FLEX_START")
COUNTERS = ("attempts", "stockouts", "crashes", "internal", "restarts")


def routes(emulator: Emulator) -> Iterable[Route]:
    control = _Control(emulator)
    table: tuple[tuple[str, str, Callable[[Request], Any]], ...] = (
        ("POST", "preempt", control.preempt_replica),
        ("POST", "maintain", control.maintain_replica),
        ("GET", "capacity", control.get_vertex_capacity),
        ("POST", "capacity", control.set_vertex_capacity),
        ("GET", "quotas", control.get_vertex_quotas),
        ("POST", "quotas", control.set_vertex_quota),
        ("GET", "jobs", control.get_vertex_jobs),
        ("GET", "usage", control.get_vertex_usage),
    )
    for verb, path, operation in table:
        name = f"emulator.{operation.__name__}"
        yield Route(name, verb, f"/_emulator/vertex/{path}", answered(operation), quick=False, public=True)


class _Control:
    def __init__(self, emulator: Emulator) -> None:
        self._vertex = emulator.vertex

    def preempt_replica(self, request: Request) -> dict[str, Any]:
        """{"job": "123" or "display name", "replica": "workerpool0-0", "notice_seconds": 30}; 0: SIGKILL at once."""
        run = self._running(request)
        if run.job.strategy != "SPOT":
            raise ValueError(
                f"job `{run.job.id}` is {run.job.strategy}, not SPOT: nobody preempts it; `maintain` is for those"
            )
        return self._tell(request, run, "preempt")

    def maintain_replica(self, request: Request) -> dict[str, Any]:
        """The same for machines that are not Spot: the replica begins again on another one."""
        return self._tell(request, self._running(request), "maintain")

    def _tell(self, request: Request, run: Run, kind: str) -> dict[str, Any]:
        wanted = request.json()
        replica = str(wanted.get("replica", PRIMARY))
        attempt = run.attempt
        if attempt is None or replica not in attempt.containers:
            there = ", ".join(attempt.containers) if attempt is not None else "none"
            raise ValueError(f"job `{run.job.id}` has no replica `{replica}` that runs; there are: {there}")
        run.tell(Told(kind, replica, notice_seconds=float(wanted.get("notice_seconds", GRACE_SECONDS))))
        return {"job": str(run.job.id), "replica": replica}

    def get_vertex_capacity(self, request: Request) -> dict[str, Any]:
        return {"rules": self._vertex.room.rules()}

    def set_vertex_capacity(self, request: Request) -> dict[str, Any]:
        """{"region": "us-*", "machine_type": "g2-*", "strategy": "SPOT", "replicas": 0}; null takes it back."""
        wanted = request.json()
        unknown = sorted(set(wanted) - {*RULE_FIELDS, "replicas"})
        if unknown:
            raise ValueError(f"unknown field `{unknown[0]}`; there are {', '.join(RULE_FIELDS)}, replicas")
        if wanted.get("strategy", "*") not in STRATEGIES:
            raise ValueError(f"no strategy `{wanted['strategy']}`; there are {', '.join(STRATEGIES)}")
        replicas = wanted.pop("replicas", 0)
        self._vertex.room.set_rule(
            {name: str(value) for name, value in wanted.items()}, None if replicas is None else int(replicas)
        )
        return self.get_vertex_capacity(request)

    def get_vertex_quotas(self, request: Request) -> dict[str, Any]:
        return {"limits": self._vertex.room.limits()}

    def set_vertex_quota(self, request: Request) -> dict[str, Any]:
        """{"metric": "custom_model_training_nvidia_l4_gpus", "limit": 1, "region": "us-central1"}; no region: all; null: as before."""
        wanted = request.json()
        region, limit = str(wanted.get("region", "*")), wanted["limit"]
        if region != "*":
            places.check_region(region)
        self._vertex.room.set_limit(str(wanted["metric"]), None if limit is None else float(limit), region)
        return self.get_vertex_quotas(request)

    def get_vertex_jobs(self, request: Request) -> dict[str, Any]:
        return {"kind": self._vertex.host().kind, "jobs": [self._shown(run) for run in self._vertex.runs()]}

    def get_vertex_usage(self, request: Request) -> dict[str, Any]:
        """Every replica that was ever paid for."""
        return {"lines": self._vertex.usage.lines(), "usd_total": self._vertex.usage.usd_total()}

    def _shown(self, run: Run) -> dict[str, Any]:
        attempt = run.attempt
        containers = dict(attempt.containers) if attempt is not None else {}
        return {
            "job": str(run.job.id),
            "display_name": run.job.document["displayName"],
            "state": run.job.document["state"],
            **{name: run.job.state.get(name, 0) for name in COUNTERS},
            "replicas": [
                {"replica": name, "pid": one.pid, "alive": one.alive()} for name, one in sorted(containers.items())
            ],
        }

    def _running(self, request: Request) -> Run:
        wanted = str(request.json()["job"])
        for run in self._vertex.runs():
            if wanted in (str(run.job.id), run.job.document["displayName"], run.job.name):
                return run
        raise ApiError(404, "notFound", f"no job `{wanted}` that is not over")
