"""What a custom job has to say where the home has nothing of it: its error, its last lines in Cloud Logging, its shell's address."""

from __future__ import annotations

from collections.abc import Iterator

from outlast.engines.engine import Line
from outlast.engines.vertex.jobs import CustomJob
from outlast.google.errors import ApiError
from outlast.google.logging import LoggingClient, of_job
from outlast.google.transport import Transport
from outlast.google.wire import NoAnswer

LINES_TOLD = 20
CHARACTERS_MAX = 2000


def last_words(transport: Transport, project: str, job: CustomJob, lines: int = LINES_TOLD) -> str:
    """Why its containers never came up, as far as anybody knows."""
    try:
        entries = LoggingClient(transport, project).newest(of_job(job.number), lines)
    except (ApiError, NoAnswer):
        entries = []  # whoever may not read the log, or has asked too often, still learns the error
    said = "\n".join(one.text for one in entries if one.text)
    return "\n".join(part for part in (job.message, said) if part)[-CHARACTERS_MAX:] or "it left no word"


def lines_of(transport: Transport, project: str, job: CustomJob) -> Iterator[Line]:
    for one in LoggingClient(transport, project).entries(of_job(job.number)):
        if one.text:
            yield Line(one.at, one.severity, one.text, one.task)


def shell_url(job: CustomJob) -> str:
    """Where its interactive shell is, if it has one."""
    urls = job.document.get("webAccessUris") or {}
    return str(next(iter(urls.values()), ""))
