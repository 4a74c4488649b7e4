"""What replicas cost while they run: lines in the database, which the ledger adds up."""

from __future__ import annotations

from typing import Any

from outlast_emulator.clock import Clock
from outlast_emulator.vertex import shapes
from outlast_emulator.vertex.database import Database
from outlast_emulator.vertex.environment import replicas
from outlast_emulator.vertex.jobs import Job


class Usage:
    """A line is open from a replica's start to the end of the attempt: what is queued or was preempted is not paid for."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def begin(self, job: Job) -> None:
        spot = job.strategy != "STANDARD"
        now = self._clock.now()
        with self._database.write() as connection:
            for one in replicas(job):
                usd = shapes.usd_per_hour(one.spec.get("machineSpec", {}), spot=spot)
                connection.execute(
                    "INSERT INTO usage (job, name, region, usd_per_hour, began_at) VALUES (?, ?, ?, ?, ?)",
                    (job.id, f"{job.id}/{one.name}", job.region, usd, now),
                )

    def end(self, job: Job) -> None:
        with self._database.write() as connection:
            connection.execute(
                "UPDATE usage SET ended_at=? WHERE job=? AND ended_at IS NULL", (self._clock.now(), job.id)
            )

    def alive(self) -> list[dict[str, Any]]:
        rows = self._database.rows("SELECT name, region, usd_per_hour FROM usage WHERE ended_at IS NULL ORDER BY name")
        return [{"kind": "aiplatform.replica", "name": row[0], "zone": row[1], "usd_per_hour": row[2]} for row in rows]

    def lines(self) -> list[dict[str, Any]]:
        """Everything that was ever paid for."""
        rows = self._database.rows("SELECT name, region, usd_per_hour, began_at, ended_at FROM usage ORDER BY id")
        names = ("name", "zone", "usd_per_hour", "began_at", "ended_at")
        found = [{"kind": "aiplatform.replica", **dict(zip(names, row, strict=True))} for row in rows]
        for one in found:
            one["usd"] = ((one["ended_at"] or self._clock.now()) - one["began_at"]) / 3600 * one["usd_per_hour"]
        return found

    def usd_total(self) -> float:
        found = self._database.row(
            "SELECT sum((coalesce(ended_at, ?) - began_at) / 3600.0 * usd_per_hour) FROM usage", (self._clock.now(),)
        )
        return float(found[0] or 0.0) if found else 0.0
