"""Cloud Logging: entries written and read. `POST /v2/entries:write`, `POST /v2/entries:list`, `GET /v2/projects/P/logs`, `DELETE` of one.

- `filters` is the language of `filter` over entries, `entries` keeps them, `entries_api` speaks HTTP.
- Sixty reads a minute are all that a project has: more are answered 429 (switch `log_reads_per_minute`; 0 is no limit).
- Replicas of Vertex AI's jobs write here what they say: `resource.type="ml_job"`, `resource.labels.job_id`, `.task_name`.
"""

from __future__ import annotations
