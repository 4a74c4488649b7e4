"""What a custom job's end means for its launch: over, to be waited for, to be started again, or hopeless."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from outlast.engines.engine import Condition, LaunchState
from outlast.engines.vertex import names
from outlast.engines.vertex.engine import AGAIN_SECONDS, ERROR_SECONDS, VertexEngine
from outlast.engines.vertex.jobs import CustomJob, Phase, custom_job
from outlast.google.auth.credentials import Anonymous
from outlast.google.endpoints import GOOGLE
from outlast.google.transport import Transport
from outlast.google.wire import Answer, Request
from tests.gcs.wires import HandClock, ScriptedWire, ok, refused
from tests.vertex.test_specs import LAUNCH

ENDED = "2026-11-16T06:00:00.5Z"
ENDED_AT = 1_794_808_800.5


def ended(code: int = 0, state: str = "FAILED", claim: str = "c", message: str = "no") -> CustomJob:
    error = {"error": {"code": code, "message": message}} if code else {}
    labels = {"outlast-rank": "0", "outlast-claim": claim}
    name = "projects/1/locations/us-central1/customJobs/7"
    return custom_job({"name": name, "state": f"JOB_STATE_{state}", "labels": labels, "endTime": ENDED, **error})


def state(jobs: list[CustomJob], *, later: float, objects: dict[str, bytes] | None = None) -> LaunchState:
    """`objects`: what is in the home beside the launch's boots."""
    there = objects or {}

    def reply(request: Request) -> Answer:
        if "entries:list" in request.url:
            return ok(b'{"entries": [{"textPayload": "its last words"}]}')
        if "/o?" in request.url:
            items = ",".join(f'{{"name": "home/boots/1/{name}", "generation": "1", "size": "1"}}' for name in there)
            return ok(f'{{"items": [{items}]}}'.encode())
        name = request.url.partition("boots%2F1%2F")[2].partition("?")[0]
        return ok(there[name]) if name in there else refused(404)

    return engine_over(reply, ENDED_AT + later)._ended(LAUNCH, jobs[-1:], jobs)


def engine_over(reply: Callable[[Request], Answer], now: float) -> VertexEngine:
    clock = HandClock(now)
    engine = VertexEngine(clock, {})
    wire = ScriptedWire(reply)
    engine.__dict__["transport"] = Transport(GOOGLE, wire, clock, Random(0), {}, credentials=Anonymous())
    return engine


@pytest.mark.parametrize(("code", "lacks"), [(8, True), (13, False)])
def test_what_was_given_up_for_want_of_machines_and_waits_again_may_go_elsewhere(code: int, lacks: bool) -> None:
    """Whoever looks then moves it to the next region: see jobs/move.py."""
    labels = names.labels(LAUNCH, 0, "d")
    waiting = {"name": "projects/1/locations/r/customJobs/8", "state": "JOB_STATE_PENDING", "labels": labels}
    given_up = {**ended(code).document, "labels": labels}
    page = json.dumps({"customJobs": [waiting, given_up]}).encode()
    found = engine_over(lambda request: ok(page), ENDED_AT).state(LAUNCH)
    assert found.condition is Condition.WAITING and found.lacks_capacity is lacks and "given up once" in found.why


def test_the_time_of_an_end_is_read() -> None:
    assert ended().ended_at == ENDED_AT
    assert custom_job({}).ended_at == 0.0


@pytest.mark.parametrize("name", ["QUEUED", "PENDING", "RUNNING", "CANCELLING", "SOMETHING_NEW", "UNSPECIFIED"])
def test_what_is_not_over_is_alive(name: str) -> None:
    document: dict[str, Any] = {"state": f"JOB_STATE_{name}"}
    assert custom_job(document).phase.alive


def test_without_a_custom_job_there_is_nothing() -> None:
    assert state([], later=0).condition is Condition.ABSENT


@pytest.mark.parametrize("name", ["SUCCEEDED", "CANCELLED", "PARTIALLY_SUCCEEDED"])
def test_what_has_ended_well_or_was_cancelled_is_gone(name: str) -> None:
    assert ended(state=name).phase in (Phase.DONE, Phase.CANCELLED)
    assert state([ended(state=name)], later=0).condition is Condition.ABSENT


def test_a_container_that_had_come_up_is_started_again_at_once() -> None:
    objects = {"0-1": b"", "0-1-up": b"c"}
    found = state([ended(3)], later=0, objects=objects)
    assert found.condition is Condition.ABSENT and "used up" in found.why


def test_one_that_came_up_in_an_earlier_custom_job_does_not_count() -> None:
    found = state([ended(3)], later=ERROR_SECONDS, objects={"0-1": b"", "0-1-up": b"another"})
    assert found.condition is Condition.BOOT_FAILED and "its last words" in found.why


def test_without_capacity_it_waits_and_is_asked_again() -> None:
    found = state([ended(8)], later=AGAIN_SECONDS / 2)
    assert found.condition is Condition.WAITING and found.lacks_capacity
    assert state([ended(8)], later=AGAIN_SECONDS + 1).condition is Condition.ABSENT


def test_a_reason_that_has_not_come_yet_is_waited_for() -> None:
    assert state([ended()], later=ERROR_SECONDS / 2).condition is Condition.WAITING
    assert state([ended()], later=ERROR_SECONDS + 1).condition is Condition.BOOT_FAILED


def test_three_internal_errors_before_anything_came_up_are_hopeless() -> None:
    late = AGAIN_SECONDS + 1
    assert state([ended(13)] * 2, later=late).condition is Condition.ABSENT
    assert state([ended(13)] * 3, later=late).condition is Condition.BOOT_FAILED
    came_up = {"0-1": b"", "0-1-up": b"another"}
    assert state([ended(13)] * 3, later=late, objects=came_up).condition is Condition.ABSENT


def test_boots_that_were_given_up_say_why() -> None:
    found = state([ended(state="SUCCEEDED")], later=0, objects={"failed": b"no module named x"})
    assert found.condition is Condition.BOOT_FAILED and found.why == "no module named x"
