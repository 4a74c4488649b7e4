"""A container taken away as Google would: only its emulator does that when it is asked to."""

from __future__ import annotations

import json

from outlast.engines.vertex.jobs import CustomJob
from outlast.errors import UsageError
from outlast.google.transport import Transport
from outlast.google.wire import Request


def take_away(transport: Transport, job: CustomJob, *, notice_seconds: float) -> bool:
    """Returns when all that ran in it is dead. Answers whether anything did."""
    if not transport.endpoints.emulated:
        raise UsageError(
            "Vertex AI takes machines away when it likes, and not when it is asked to",
            state="nothing was taken away",
            hint="`outlast drill --on compute` drills on machines, `outlast emulator -- outlast drill --on vertex` in a box",
        )
    body = json.dumps({"notice_seconds": notice_seconds}).encode()
    url = f"{transport.endpoints.compute}/_emulator/vertex/{job.number}/preempt"
    answer = transport.call(
        Request("POST", url, {"Content-Type": "application/json"}, body), stall_seconds=notice_seconds + 120.0
    )
    document = json.loads(answer.body or b"{}")
    return bool(document.get("taken", True))
