"""A container taken away as Google would: only its emulator does that when it is asked to."""

from __future__ import annotations

import json
from typing import Any

from outlast.clock import Clock
from outlast.engines.vertex.jobs import CustomJob
from outlast.errors import OutlastError, UsageError
from outlast.google.errors import ApiError
from outlast.google.transport import Transport
from outlast.google.wire import Request

SECONDS_MAX = 120.0
LOOK_SECONDS = 0.1
NOTICE_SECONDS_MIN = 5.0
"""A notice that is over before anybody can have read it is none."""


def take_away(
    transport: Transport, clock: Clock, job: CustomJob, *, notice_seconds: float, time_scale: float = 1.0
) -> bool:
    """Returns when all that ran in it is dead. Answers whether anything did. `time_scale`: how much faster the emulator's time runs."""
    if not transport.endpoints.emulated:
        raise UsageError(
            "Vertex AI takes machines away when it likes, and not when it is asked to",
            state="nothing was taken away",
            hint="`outlast drill` takes them away on this computer: what survives here survives there",
        )
    notice_seconds = max(notice_seconds, NOTICE_SECONDS_MIN) if notice_seconds > 0 else 0.0
    there = _living(transport, job)
    spot = job.document.get("jobSpec", {}).get("scheduling", {}).get("strategy") == "SPOT"
    taken = {
        replica: pid
        for replica, pid in there.items()
        if _tell(transport, "preempt" if spot else "maintain", job, replica, notice_seconds / time_scale)
    }
    until = clock.monotonic() + notice_seconds + SECONDS_MAX
    while any(_living(transport, job).get(replica) == pid for replica, pid in taken.items()):
        if clock.monotonic() > until:
            raise OutlastError(f"a container of custom job `{job.number}` was to be taken away, and still runs")
        clock.sleep(LOOK_SECONDS)
    return bool(taken)


def _living(transport: Transport, job: CustomJob) -> dict[str, int]:
    """Replica -> its process."""
    for one in _call(transport, "GET", "jobs", None)["jobs"]:
        if one["job"] == job.number:
            return {each["replica"]: int(each["pid"]) for each in one["replicas"] if each["alive"]}
    return {}


def _tell(transport: Transport, kind: str, job: CustomJob, replica: str, notice_seconds: float) -> bool:
    """False: it has ended meanwhile."""
    wanted = {"job": job.number, "replica": replica, "notice_seconds": notice_seconds}
    try:
        _call(transport, "POST", kind, wanted)
    except ApiError as error:
        if error.status in (400, 404):
            return False
        raise
    return True


def _call(transport: Transport, verb: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {} if data is None else {"Content-Type": "application/json"}
    answer = transport.call(Request(verb, f"{transport.endpoints.compute}/_emulator/vertex/{path}", headers, data))
    document: dict[str, Any] = json.loads(answer.body or b"{}")
    return document
