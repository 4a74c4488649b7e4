"""What a custom job has to say where the home has nothing of it: its error, its last lines in Cloud Logging, its shell's address."""

from __future__ import annotations

from collections.abc import Iterator

from outlast.engines.engine import Line
from outlast.engines.vertex.jobs import CustomJob
from outlast.google.errors import ApiError
from outlast.google.logging import LoggingClient, of_job
from outlast.google.transport import Transport
from outlast.google.wire import NoAnswer

LINES_READ, LINES_TOLD = 20, 4
CHARACTERS_MAX = 800
SERVICE = "service"
"""What Vertex AI itself says stands in the custom job's error, too."""


def last_words(transport: Transport, project: str, job: CustomJob, lines: int = LINES_TOLD) -> str:
    """Why its containers never came up, as far as anybody knows, in one line: `outlast logs` has all of it."""
    try:
        entries = LoggingClient(transport, project).newest(of_job(job.number), LINES_READ)
    except (ApiError, NoAnswer):
        entries = []  # whoever may not read the log, or has asked too often, still learns the error
    texts = [text for one in entries if one.task != SERVICE for text in one.text.splitlines() if text.strip()]
    said = " | ".join(text.strip() for text in texts[-lines:])[-CHARACTERS_MAX:]
    return " ".join(part for part in (job.message, f"It said: {said}" if said else "") if part) or "it left no word"


def lines_of(transport: Transport, project: str, job: CustomJob) -> Iterator[Line]:
    for one in LoggingClient(transport, project).entries(of_job(job.number)):
        if one.text:
            yield Line(one.at, one.severity, one.text, one.task)


def shell_url(job: CustomJob) -> str:
    """Where its interactive shell is, if it has one."""
    urls = job.document.get("webAccessUris") or {}
    return str(next(iter(urls.values()), ""))
