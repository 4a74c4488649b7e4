"""Cloud Logging's methods: `entries.write`, `entries.list`, and the names of logs."""

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
from outlast_emulator.errors import ApiError, young
from outlast_emulator.iam.state import PROJECT, PROJECT_NUMBER
from outlast_emulator.logging_api.fields import SEVERITIES, EntryFields
from outlast_emulator.project.naming import NAMES, check_project
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

PAGE_MAX = 1000
PAGE_DEFAULT = 50
ENTRY_BYTES_MAX = 256 << 10
LABELS_MAX = 64
MINUTE_SECONDS = 60.0
_LOG = re.compile(r"projects/([^/]+)/logs/([A-Za-z0-9%._/-]{1,511})")
_ONE_JOB = re.compile(r'resource\.labels\.job_id\s*=\s*"?(\d+)"?(?:\s|\)|$)')
PAYLOADS = ("textPayload", "jsonPayload", "protoPayload")


def routes(emulator: Emulator) -> Iterable[Route]:
    api = LoggingApi(emulator)
    yield Route("logging.entries.write", "POST", "/v2/entries:write", api.write, quick=False)
    yield Route("logging.entries.list", "POST", "/v2/entries:list", api.list, quick=False)
    yield Route("logging.projects.logs.list", "GET", "/v2/projects/{project}/logs", api.logs, quick=False)
    yield Route("logging.projects.logs.delete", "DELETE", "/v2/projects/{project}/logs/{log}", api.delete, quick=False)


class LoggingApi:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._entries = emulator.entries
        self._reads: deque[float] = deque()
        self._lock = threading.Lock()

    def write(self, request: Request) -> Response:
        asked = request.json()
        entries = asked.get("entries")
        if not entries:
            raise young("INVALID_ARGUMENT", "At least one LogEntry is required.")
        kept = [
            _checked({**_shared(asked), **entry, "labels": {**asked.get("labels", {}), **entry.get("labels", {})}})
            for entry in entries
        ]
        if not asked.get("dryRun"):
            self._entries.write(kept)
        return answer({})

    def list(self, request: Request) -> Response:
        self._count()
        asked = request.json()
        _check_places(asked)
        text = str(asked.get("filter", ""))
        test = filters.compiled(text, EntryFields())
        newest_first = _newest_first(str(asked.get("orderBy", "")))
        size = int(asked.get("pageSize") or PAGE_DEFAULT)
        if size < 0:
            raise young("INVALID_ARGUMENT", f"page_size {size} is negative")
        after = _after(str(asked.get("pageToken", "")), text, newest_first)
        one_job = _ONE_JOB.search(text)
        alone = one_job is not None and not re.search(r"\bOR\b|\bNOT\b|(?:^|[\s(])-", text)
        found, following = self._entries.page(
            test, min(size, PAGE_MAX), after, newest_first=newest_first, job=one_job[1] if one_job and alone else ""
        )
        document: dict[str, Any] = {"entries": found} if found else {}
        if following is not None:
            document["nextPageToken"] = _token(following, text, newest_first)
        return answer(document)

    def logs(self, request: Request) -> Response:
        check_project(request)
        found = self._entries.logs()
        return answer({"logNames": found} if found else {})

    def delete(self, request: Request) -> Response:
        check_project(request)
        from urllib.parse import quote

        if not self._entries.delete_log(f"projects/{PROJECT}/logs/{quote(request.params['log'], safe='')}"):
            raise young("NOT_FOUND", f"Log {request.params['log']} does not exist")
        return answer({})

    def _count(self) -> None:
        """Reads are few: Google counts them per project and minute."""
        most, clock = self._emulator.switches.log_reads_per_minute, self._emulator.clock
        if not most:
            return
        with self._lock:
            now = clock.monotonic()
            while self._reads and now - self._reads[0] >= clock.scaled(MINUTE_SECONDS):
                self._reads.popleft()
            if len(self._reads) < most:
                self._reads.append(now)
                return
        raise quota_exceeded(most)


def quota_exceeded(most: int) -> ApiError:
    message = (
        "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute' of service "
        f"'logging.googleapis.com' for consumer 'project_number:{PROJECT_NUMBER}'."
    )
    return young(
        "RESOURCE_EXHAUSTED",
        message,
        reason="RATE_LIMIT_EXCEEDED",
        domain="googleapis.com",
        service="logging.googleapis.com",
        quota_metric="logging.googleapis.com/read_requests",
        quota_limit="ReadRequestsPerMinutePerProject",
        quota_limit_value=str(most),
        consumer=f"projects/{PROJECT_NUMBER}",
    )


def _shared(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: asked[name] for name in ("logName", "resource") if name in asked}


def _checked(entry: dict[str, Any]) -> dict[str, Any]:
    """As it is kept; 400 names what is wrong."""
    found = _LOG.fullmatch(str(entry.get("logName", "")))
    if found is None or found[1] not in NAMES:
        raise young("INVALID_ARGUMENT", f"logName `{entry.get('logName', '')}` is not projects/{PROJECT}/logs/LOG_ID")
    entry["logName"] = f"projects/{PROJECT}/logs/{found[2]}"
    if not entry.get("resource", {}).get("type"):
        raise young("INVALID_ARGUMENT", "The field resource.type is required.")
    if sum(name in entry for name in PAYLOADS) > 1:
        raise young("INVALID_ARGUMENT", "A LogEntry has one payload.")
    if entry.get("severity", "DEFAULT") not in SEVERITIES:
        raise young("INVALID_ARGUMENT", f"Invalid value at 'entries[0].severity': `{entry['severity']}`")
    if len(entry["labels"]) > LABELS_MAX:
        raise young("INVALID_ARGUMENT", f"A LogEntry has at most {LABELS_MAX} labels.")
    if len(json.dumps(entry)) > ENTRY_BYTES_MAX:
        raise young("INVALID_ARGUMENT", f"Log entry with size exceeds maximum size of {ENTRY_BYTES_MAX} bytes")
    if not entry["labels"]:
        del entry["labels"]
    return entry


def _check_places(asked: dict[str, Any]) -> None:
    places = asked.get("resourceNames") or [f"projects/{one}" for one in asked.get("projectIds") or ()]
    if not places:
        raise young("INVALID_ARGUMENT", "The field resource_names is required.")
    for place in places:
        if place not in [f"projects/{name}" for name in NAMES]:
            raise young("PERMISSION_DENIED", f"The caller does not have permission on {place}.")


def _newest_first(order: str) -> bool:
    if order not in ("", "timestamp asc", "timestamp desc", "timestamp"):
        raise young("INVALID_ARGUMENT", f"order_by `{order}` is neither `timestamp asc` nor `timestamp desc`")
    return order.endswith("desc")


def _token(place: tuple[int, int], text: str, newest_first: bool) -> str:
    return base64.urlsafe_b64encode(json.dumps([*place, text, newest_first]).encode()).decode()


def _after(token: str, text: str, newest_first: bool) -> tuple[int, int] | None:
    if not token:
        return None
    try:
        at, number, asked, order = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, binascii.Error) as error:
        raise young("INVALID_ARGUMENT", "page_token is not one that was given") from error
    if (asked, order) != (text, newest_first):
        raise young("INVALID_ARGUMENT", "page_token doesn't match arguments from the request")
    return int(at), int(number)
