"""Cloud Logging: the entries of one filter, the newest or those since a moment. Sixty such questions a minute is all a project has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from outlast.dataclass import dataclass
from outlast.google.json_api import JsonApi
from outlast.google.transport import Transport

PAGE_MAX = 1000


@dataclass(frozen=True)
class Entry:
    at: str
    """As Google writes it, RFC 3339."""

    severity: str
    text: str
    id: str
    """Two entries may have the same moment."""

    task: str = ""
    """Which replica said it, `workerpool0-0`."""


class LoggingClient:
    """Every method raises `ApiError` or `NoAnswer` and nothing else of the network's."""

    def __init__(self, transport: Transport, project: str) -> None:
        self._api = JsonApi(transport, f"{transport.endpoints.api('logging')}/v2")
        self._project = project

    def newest(self, wanted: str, count: int) -> list[Entry]:
        """The last so many, in the order in which they were said: one question."""
        page = self._ask(wanted, "timestamp desc", min(count, PAGE_MAX), "")
        return [entry_of(one) for one in reversed(page.get("entries", [])[:count])]

    def entries(self, wanted: str) -> Iterator[Entry]:
        """All of them, the oldest first."""
        token = ""
        while True:
            page = self._ask(wanted, "timestamp asc", PAGE_MAX, token)
            yield from (entry_of(one) for one in page.get("entries", []))
            token = str(page.get("nextPageToken", ""))
            if not token:
                return

    def _ask(self, wanted: str, order: str, count: int, token: str) -> Mapping[str, Any]:
        body: dict[str, Any] = {
            "resourceNames": [f"projects/{self._project}"],
            "filter": wanted,
            "orderBy": order,
            "pageSize": count,
        }
        return self._api.post("entries:list", {**body, **({"pageToken": token} if token else {})})


def entry_of(document: Mapping[str, Any]) -> Entry:
    """What a program says is text, or JSON with a message in it; an entry may have neither, and no severity."""
    payload = document.get("jsonPayload")
    message = payload.get("message", "") if isinstance(payload, Mapping) else document.get("textPayload", "")
    resource = document.get("resource", {})
    return Entry(
        at=str(document.get("timestamp") or document.get("receiveTimestamp", "")),
        severity=str(document.get("severity", "DEFAULT")),
        text=str(message).rstrip("\n"),
        id=str(document.get("insertId", "")),
        task=str(resource.get("labels", {}).get("task_name", "")),
    )


def of_job(number: str) -> str:
    """The filter for one custom job's entries."""
    return f'resource.type="ml_job" AND resource.labels.job_id="{number}"'
