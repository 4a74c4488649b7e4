"""Where the behaviour of Vertex AI and Cloud Logging is from (see `outlast_emulator.sources`)."""

from __future__ import annotations

_JOBS = "aiplatform.projects.locations.customJobs"
_OPERATION = {"document": "fields", "guess": "done at once"}

ORIGINS: dict[str, dict[str, str]] = {
    f"{_JOBS}.create": {
        "document": "fields",
        "page": "pools, environment, restarts, machine types and accelerators",
        "report": "what a quota that is too small is refused with",
        "guess": "words of refusals; which restarts count together: switches `vertex_exit_is_final`, `vertex_stockouts_in_a_row`",
    },
    f"{_JOBS}.get": {
        "document": "fields",
        "page": "an error comes a minute after the end: switch `vertex_error_seconds`",
    },
    f"{_JOBS}.list": {"document": "fields and signs of filters, paging, read mask", "guess": "newest first"},
    f"{_JOBS}.cancel": {
        "document": "best effort, error code 1",
        "guess": "30 seconds from SIGTERM to SIGKILL; 400 for what is over; a timeout ends a job as this does",
    },
    f"{_JOBS}.delete": {"document": "an operation", "guess": "400 for what is not over"},
    f"{_JOBS}.operations.get": _OPERATION,
    f"{_JOBS}.operations.wait": _OPERATION,
    "aiplatform.projects.locations.operations.get": _OPERATION,
    "aiplatform.projects.locations.operations.wait": _OPERATION,
    "logging.entries.write": {"document": "fields", "page": "256 KB an entry; one entry per log, time and insert id"},
    "logging.entries.list": {
        "document": "fields, order, paging",
        "page": "the language of filters; 60 reads a minute: switch `log_reads_per_minute`",
        "guess": "no functions in filters; only the project's entries",
    },
    "logging.projects.logs.list": {"document": "fields", "guess": "never more than one page"},
    "logging.projects.logs.delete": {"document": "fields"},
}
