"""Custom jobs as records: Google's document, and what only the emulator knows of one."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from outlast_emulator.clock import Clock, rfc3339
from outlast_emulator.iam.state import PROJECT_NUMBER
from outlast_emulator.vertex.database import Database

QUEUED, PENDING, RUNNING = "JOB_STATE_QUEUED", "JOB_STATE_PENDING", "JOB_STATE_RUNNING"
SUCCEEDED, FAILED = "JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED"
CANCELLING, CANCELLED = "JOB_STATE_CANCELLING", "JOB_STATE_CANCELLED"
OVER = (SUCCEEDED, FAILED, CANCELLED)


@dataclass
class Job:
    id: int
    region: str
    created_at: float
    document: dict[str, Any]
    state: dict[str, Any] = field(default_factory=dict)
    """`stockouts`, `crashes`, `internal`: how often it has begun again for which reason; `attempts`; `restarts` by replica;
    `holds`: it counts against quotas; `error_at`: when its error is to be seen."""

    @property
    def name(self) -> str:
        return f"projects/{PROJECT_NUMBER}/locations/{self.region}/customJobs/{self.id}"

    @property
    def is_over(self) -> bool:
        return self.document["state"] in OVER

    @property
    def spec(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document["jobSpec"]
        return found

    @property
    def strategy(self) -> str:
        """`STANDARD`, `SPOT` or `FLEX_START`; the older names are others for the same."""
        asked = str(self.spec.get("scheduling", {}).get("strategy", "STANDARD"))
        return {"LOW_COST": "SPOT", "ON_DEMAND": "STANDARD", "STRATEGY_UNSPECIFIED": "STANDARD"}.get(asked, asked)

    @property
    def pools(self) -> list[tuple[int, dict[str, Any], int]]:
        """(number, spec, replicas) of those that have any."""
        found = [
            (at, one, int(one.get("replicaCount", 0))) for at, one in enumerate(self.spec["workerPoolSpecs"]) if one
        ]
        return [one for one in found if one[2]]

    def count(self, reason: str) -> int:
        """Once more; how often now."""
        self.state[reason] = int(self.state.get(reason, 0)) + 1
        return int(self.state[reason])


class Jobs:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def add(self, region: str, document: dict[str, Any]) -> Job:
        now = self._clock.now()
        job = Job(new_number(), region, now, {})
        moment = rfc3339(int(now * 1e6))
        job.document = {**document, "name": job.name, "state": PENDING, "createTime": moment, "updateTime": moment}
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO jobs VALUES (?, ?, ?, ?, ?)", (job.id, region, now, json.dumps(job.document), "{}")
            )
        return job

    def save(self, job: Job) -> None:
        """A job that was deleted meanwhile is not made again."""
        job.document["updateTime"] = rfc3339(int(self._clock.now() * 1e6))
        with self._database.write() as connection:
            connection.execute(
                "UPDATE jobs SET document=?, state=? WHERE id=?",
                (json.dumps(job.document), json.dumps(job.state), job.id),
            )

    def find(self, region: str, number: str) -> Job | None:
        if not is_number(number):
            return None
        rows = self._database.rows("SELECT * FROM jobs WHERE id=? AND region=?", (int(number), region))
        return _job(rows[0]) if rows else None

    def all(self, region: str = "") -> list[Job]:
        """The newest first."""
        rows = self._database.rows(
            "SELECT * FROM jobs WHERE ? IN ('', region) ORDER BY created_at DESC, id DESC", (region,)
        )
        return [_job(row) for row in rows]

    def delete(self, job: Job) -> None:
        with self._database.write() as connection:
            connection.execute("DELETE FROM jobs WHERE id=?", (job.id,))


def new_number() -> int:
    """Nineteen digits, as Google's are, and below 2 to the 63rd."""
    return secrets.randbelow(8 * 10**18) + 10**18


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) < 1 << 63


def _job(row: tuple[Any, ...]) -> Job:
    return Job(row[0], row[1], row[2], json.loads(row[3]), json.loads(row[4]))
