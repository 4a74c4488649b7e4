"""Operations: what every change answers with, running until it is over; `requestId` finds the first one again."""

from __future__ import annotations

import secrets
from typing import Any

from outlast_emulator.clock import Clock, rfc3339
from outlast_emulator.compute import links
from outlast_emulator.compute.database import Database
from outlast_emulator.compute.failures import Failure
from outlast_emulator.compute.resources import Resource, Resources
from outlast_emulator.compute.scheduler import Scheduler
from outlast_emulator.errors import invalid

KIND = "operations"
SYSTEM = "system"
"""The user of what Google does by itself, such as a preemption."""
KEPT_MAX = 5000
"""The oldest that are done are forgotten beyond this; Google forgets them after two weeks."""


class Operations:
    """An operation is a resource of kind `operations` in the scope of its target."""

    def __init__(self, database: Database, resources: Resources, scheduler: Scheduler, clock: Clock) -> None:
        self._database = database
        self._resources = resources
        self._scheduler = scheduler
        self._clock = clock
        scheduler.on("operations.end", self._end_by_id)

    def begin(
        self, kind: str, target: Resource | links.Link, *, user: str = SYSTEM, scope: str = "", status: str = "RUNNING"
    ) -> Resource:
        """A running operation of type `kind` (`insert`, `delete`, `compute.instances.preempted`...) on `target`.

        Somebody must end it: `end` now, or `end_later`.
        """
        link = target.link if isinstance(target, Resource) else target
        now = self._clock.now()
        name = f"operation-{int(now * 1000)}-{secrets.token_hex(7)}-{secrets.token_hex(4)}-{secrets.token_hex(4)}"
        scope = scope or link.scope
        stamp = rfc3339(int(now * 1e6))
        document = {
            "kind": "compute#operation",
            "operationType": kind,
            "targetLink": link.url,
            "status": status,
            "user": user or SYSTEM,
            "progress": 0,
            "insertTime": stamp,
            "startTime": stamp,
            **place(link.project, scope),
        }
        if isinstance(target, Resource):
            document["targetId"] = str(target.id)
        with self._database.write() as connection:
            made = self._resources.add(KIND, link.project, scope, name, document)
            connection.execute(
                "DELETE FROM resources WHERE kind='operations' AND id <= ? AND document LIKE '%\"status\": \"DONE\"%'",
                (made.id - KEPT_MAX * 7_919 * 4,),
            )
        return made

    def end(self, operation: Resource, failure: Failure | None = None) -> Resource:
        """Done. Once is enough: what is done stays as it is."""
        with self._database.write():
            found = self._resources.by_id(operation.id)
            if found is None or found.status == "DONE":
                return found or operation
            found.document.update(status="DONE", progress=100, endTime=rfc3339(int(self._clock.now() * 1e6)))
            if failure is not None:
                found.document["error"] = {"errors": [failure.error()]}
                found.document["httpErrorStatusCode"] = failure.http_status
                found.document["httpErrorMessage"] = failure.http_message
            self._resources.save(found)
        return found

    def end_later(self, seconds: float, operation: Resource, failure: Failure | None = None) -> Resource:
        """In `seconds` of Google's time."""
        details = None
        if failure is not None:
            details = [failure.code, failure.message, failure.http_status, failure.details]
        self._scheduler.later(seconds, "operations.end", number=operation.id, failure=details)
        return operation

    def done(self, kind: str, target: Resource | links.Link, *, user: str = SYSTEM, scope: str = "") -> Resource:
        """One that is over at once: what Google did by itself."""
        return self.end(self.begin(kind, target, user=user, scope=scope))

    def _end_by_id(self, number: int, failure: list[Any] | None = None) -> None:
        found = self._resources.by_id(number)
        if found is not None:
            self.end(found, Failure(*failure) if failure else None)

    # --------------------------------------------------------------------------------------------------- requestId

    def earlier(self, project: str, request_id: str, method: str, target: str) -> Resource | None:
        """The operation that this `requestId` began before, if it did. `target`: the path of what was asked for."""
        if not request_id:
            return None
        check_request_id(request_id)
        found = self._database.row(
            "SELECT method, target, scope, operation FROM requests WHERE project=? AND id=?", (project, request_id)
        )
        if found is None:
            return None
        if (found[0], found[1]) != (method, target):
            raise invalid(
                f"Invalid value for field 'requestId': '{request_id}'. The request ID was already used for another request."
            )
        return self._resources.peek(KIND, project, found[2], found[3])

    def remember(self, request_id: str, method: str, target: str, operation: Resource) -> None:
        if not request_id:
            return
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO requests VALUES (?, ?, ?, ?, ?, ?)",
                (operation.project, request_id, method, target, operation.scope, operation.name),
            )


def place(project: str, scope: str) -> dict[str, str]:
    """`{"zone": URL}`, `{"region": URL}`, or nothing for what is global."""
    if scope.startswith("zones/"):
        return {"zone": links.url(f"projects/{project}/{scope}")}
    if scope.startswith("regions/"):
        return {"region": links.url(f"projects/{project}/{scope}")}
    return {}


def check_request_id(request_id: str) -> None:
    parts = [len(part) for part in request_id.split("-")]
    digits = request_id.replace("-", "").lower()
    if parts != [8, 4, 4, 4, 12] or set(digits) - set("0123456789abcdef") or not set(digits) - {"0"}:
        raise invalid(f"Invalid value for field 'requestId': '{request_id}'. Must be a valid, non-zero UUID.")
