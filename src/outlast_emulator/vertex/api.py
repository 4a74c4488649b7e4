"""Vertex AI's methods on custom jobs, and on the operations that deleting them takes."""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator import filters
from outlast_emulator.compute import places
from outlast_emulator.errors import ApiError, young
from outlast_emulator.iam.authority import OWNING
from outlast_emulator.iam.policy import account_policy
from outlast_emulator.iam.state import PROJECT_NUMBER
from outlast_emulator.project.naming import check_project
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Operation, Route
from outlast_emulator.vertex import rules
from outlast_emulator.vertex.fields import JobFields
from outlast_emulator.vertex.jobs import Job, new_number

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

OF = "aiplatform.projects.locations"
PLACE = "/v1/projects/{project}/locations/{location}"
JOBS = f"{PLACE}/customJobs"
JOB = f"{JOBS}/{{job}}"
ACT_AS = "iam.serviceAccounts.actAs"
PAGE_MAX = 100
MINUTE_SECONDS = 60.0
MULTI_REGIONS = ("us", "europe", "asia")
"""Where there are operations of Artifact Registry, and no jobs."""
OPERATION = "type.googleapis.com/google.cloud.aiplatform.v1.DeleteOperationMetadata"
EMPTY = "type.googleapis.com/google.protobuf.Empty"


def routes(emulator: Emulator) -> Iterable[Route]:
    api = VertexApi(emulator)
    table: tuple[tuple[str, str, str, Operation], ...] = (
        ("customJobs.create", "POST", JOBS, api.create),
        ("customJobs.list", "GET", JOBS, api.list),
        ("customJobs.get", "GET", JOB, api.get),
        ("customJobs.cancel", "POST", f"{JOB}:cancel", api.cancel),
        ("customJobs.delete", "DELETE", JOB, api.delete),
        ("operations.get", "GET", f"{PLACE}/operations/{{operation}}", api.operation),
        ("operations.wait", "POST", f"{PLACE}/operations/{{operation}}:wait", api.operation),
        ("customJobs.operations.get", "GET", f"{JOB}/operations/{{operation}}", api.operation),
        ("customJobs.operations.wait", "POST", f"{JOB}/operations/{{operation}}:wait", api.operation),
    )
    for name, verb, path, operation in table:
        yield Route(f"{OF}.{name}", verb, path, _placed(operation), quick=False)


def _placed(operation: Operation) -> Operation:
    def call(request: Request) -> Response:
        check_project(request)
        region = request.params["location"]
        if region not in places.REGIONS and region not in MULTI_REGIONS:
            raise young("NOT_FOUND", f"Location {region} is not found or access is unauthorized.")
        return operation(request)

    return call


class VertexApi:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._vertex = emulator.vertex
        self._submitted: deque[float] = deque()
        self._lock = threading.Lock()

    def create(self, request: Request) -> Response:
        body = rules.checked(request.json())
        self._check_account(request, str(body["jobSpec"].get("serviceAccount", "")))
        self._count()
        return answer(self._shown(self._vertex.create(request.params["location"], body)))

    def get(self, request: Request) -> Response:
        return answer(self._shown(self._found(request)))

    def list(self, request: Request) -> Response:
        test = filters.compiled(request.query("filter"), JobFields())
        size = request.number("pageSize") or PAGE_MAX
        if size < 0:
            raise young("INVALID_ARGUMENT", f"page_size {size} is negative")
        after = _after(request.query("pageToken"), request.query("filter"))
        found: list[Job] = []
        document: dict[str, Any] = {}
        for job in self._vertex.jobs.all(request.params["location"]):
            if (job.created_at, job.id) >= after or not test(job.document):
                continue
            if len(found) == min(size, PAGE_MAX):
                last = found[-1]
                document["nextPageToken"] = _token(last, request.query("filter"))
                break
            found.append(job)
        if found:
            document["customJobs"] = [_masked(self._shown(job), request.query("readMask")) for job in found]
        return answer(document)

    def cancel(self, request: Request) -> Response:
        job = self._found(request)
        run = self._vertex.run_of(job)
        if run is None or not run.cancel():
            state = self._found(request).document["state"]
            raise young("FAILED_PRECONDITION", f"Cannot cancel custom job {job.name}: it is in state {state}.")
        return answer({})

    def delete(self, request: Request) -> Response:
        job = self._found(request)
        if not job.is_over or self._vertex.run_of(job) is not None:
            state = job.document["state"]
            raise young("FAILED_PRECONDITION", f"Cannot delete custom job {job.name}: it is in state {state}.")
        self._vertex.jobs.delete(job)
        number = new_number()
        name = f"projects/{PROJECT_NUMBER}/locations/{job.region}/operations/{number}"
        now = job.document["updateTime"]
        metadata = {"@type": OPERATION, "genericMetadata": {"createTime": now, "updateTime": now}}
        return answer(self._emulator.long_operations.add(name, metadata, {"@type": EMPTY}))

    def operation(self, request: Request) -> Response:
        """Of Artifact Registry, too: both are asked for at the same path."""
        number = request.params["operation"]
        found = self._emulator.long_operations.find(request.params["location"], number)
        if found is None:
            raise young("NOT_FOUND", f"Operation {number} is not found.")
        return answer(found)

    def _found(self, request: Request) -> Job:
        job = self._vertex.jobs.find(request.params["location"], request.params["job"])
        if job is None:
            place = f"projects/{PROJECT_NUMBER}/locations/{request.params['location']}"
            raise young("NOT_FOUND", f"The CustomJob does not exist: {place}/customJobs/{request.params['job']}")
        return job

    def _shown(self, job: Job) -> dict[str, Any]:
        """The error comes about a minute after the end."""
        if self._emulator.clock.now() >= job.state.get("error_at", 0.0):
            return job.document
        return {name: value for name, value in job.document.items() if name != "error"}

    def _check_account(self, request: Request, email: str) -> None:
        authority = self._emulator.authority
        if not email:
            self._vertex.give_service_agent_its_role()
            return
        if email not in authority.state.document["service_accounts"]:
            raise young("INVALID_ARGUMENT", f"Service account {email} does not exist.")
        if not self._emulator.switches.authorize:
            return
        caller = authority.caller(request)
        if caller is not OWNING and not authority.allows(caller, ACT_AS, account_policy(email)):
            message = f"You do not have permission to act as service_account: {email}. (or it may not exist)."
            raise young("PERMISSION_DENIED", message, reason="IAM_PERMISSION_DENIED", permission=ACT_AS)

    def _count(self) -> None:
        """Submissions are few: Google counts them per project, region and minute."""
        most, clock = self._emulator.switches.vertex_submissions_per_minute, self._emulator.clock
        with self._lock:
            now = clock.monotonic()
            while self._submitted and now - self._submitted[0] >= clock.scaled(MINUTE_SECONDS):
                self._submitted.popleft()
            if not most or len(self._submitted) < most:
                self._submitted.append(now)
                return
        raise _too_many()


def _too_many() -> ApiError:
    message = (
        "Quota exceeded for quota metric 'Job or LRO submission requests' and limit 'Job or LRO submission requests per minute "
        f"per region' of service 'aiplatform.googleapis.com' for consumer 'project_number:{PROJECT_NUMBER}'."
    )
    return young("RESOURCE_EXHAUSTED", message, reason="RATE_LIMIT_EXCEEDED", service="aiplatform.googleapis.com")


def _masked(document: dict[str, Any], mask: str) -> dict[str, Any]:
    """Only these fields, by either way to write them."""
    if not mask or mask == "*":
        return document
    wanted = {re.sub(r"_([a-z])", lambda found: found[1].upper(), one.strip().split(".")[0]) for one in mask.split(",")}
    return {name: value for name, value in document.items() if name in wanted}


def _token(last: Job, asked: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([last.created_at, last.id, asked]).encode()).decode()


def _after(token: str, asked: str) -> tuple[float, int]:
    if not token:
        return float("inf"), 0
    try:
        at, number, before = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, binascii.Error) as error:
        raise young("INVALID_ARGUMENT", "page_token is not one that was given") from error
    if before != asked:
        raise young("INVALID_ARGUMENT", "page_token was given for another filter")
    return float(at), int(number)
