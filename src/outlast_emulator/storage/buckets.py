"""Buckets: names that are global, documents with a metageneration."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from outlast_emulator.clock import Clock
from outlast_emulator.errors import ApiError, invalid, not_found
from outlast_emulator.storage.conditions import NONE, Conditions
from outlast_emulator.storage.database import Database
from outlast_emulator.switches import Switches

BUCKET_SECONDS = 2.0
"""Google makes or deletes about one bucket in this time, per project."""


class Bucket(NamedTuple):
    name: str
    project: str
    metageneration: int
    created_us: int
    updated_us: int
    fields: dict[str, Any]
    """As the JSON API names them; never changed in place."""

    @property
    def soft_delete_seconds(self) -> int:
        return int(self.fields.get("softDeletePolicy", {}).get("retentionDurationSeconds", 0))


class Buckets:
    def __init__(self, database: Database, clock: Clock, switches: Switches) -> None:
        self._database = database
        self._clock = clock
        self._switches = switches
        self._changed_at: dict[str, float] = {}
        rows = database.rows("SELECT name, project, metageneration, created_us, updated_us, fields FROM buckets")
        self._all = {row[0]: Bucket(row[0], row[1], row[2], row[3], row[4], json.loads(row[5])) for row in rows}

    def find(self, name: str) -> Bucket:
        """404 if there is none."""
        bucket = self._all.get(name)
        if bucket is None:
            raise not_found("The specified bucket does not exist.")
        return bucket

    def get(self, name: str, conditions: Conditions = NONE) -> Bucket:
        bucket = self.find(name)
        conditions.check(0, bucket.metageneration, reading=True)
        return bucket

    def all(self, project: str | None, prefix: str = "") -> list[Bucket]:
        found = (bucket for bucket in list(self._all.values()) if project is None or bucket.project == project)
        return sorted((bucket for bucket in found if bucket.name.startswith(prefix)), key=lambda bucket: bucket.name)

    def create(self, name: str, project: str, fields: dict[str, Any]) -> Bucket:
        """409 if the name is taken, by whomever."""
        check_bucket_name(name)
        with self._database.write() as connection:
            if name in self._all:
                raise ApiError(
                    409,
                    "conflict",
                    "Your previous request to create the named bucket succeeded and you already own it."
                    if self._all[name].project == project
                    else "The requested bucket name is not available. The bucket namespace is shared by all users of "
                    "the system. Please select a different name and try again.",
                )
            self._limit(project)
            now = self._database.next_id()
            bucket = Bucket(name, project, 1, now, now, fields)
            connection.execute("INSERT INTO buckets VALUES (?, ?, ?, ?, ?, ?)", (*bucket[:5], json.dumps(fields)))
        self._all[name] = bucket
        return bucket

    def change(self, name: str, changed: Callable[[Bucket], dict[str, Any]], conditions: Conditions = NONE) -> Bucket:
        with self._database.write() as connection:
            old = self.find(name)
            conditions.check(0, old.metageneration)
            bucket = old._replace(
                metageneration=old.metageneration + 1, updated_us=self._database.next_id(), fields=changed(old)
            )
            connection.execute(
                "UPDATE buckets SET metageneration = ?, updated_us = ?, fields = ? WHERE name = ?",
                (bucket.metageneration, bucket.updated_us, json.dumps(bucket.fields), name),
            )
        self._all[name] = bucket
        return bucket

    def delete(self, name: str, conditions: Conditions = NONE) -> None:
        """409 unless it is empty."""
        with self._database.write() as connection:
            bucket = self.find(name)
            conditions.check(0, bucket.metageneration)
            if connection.execute("SELECT 1 FROM objects WHERE bucket = ? LIMIT 1", (name,)).fetchone():
                raise ApiError(409, "conflict", "The bucket you tried to delete is not empty.")
            self._limit(bucket.project)
            connection.execute("DELETE FROM buckets WHERE name = ?", (name,))
        del self._all[name]

    def _limit(self, project: str) -> None:
        if not self._switches.bucket_limit:
            return
        now = self._clock.monotonic()
        if now - self._changed_at.get(project, -1e9) < self._clock.scaled(BUCKET_SECONDS):
            raise ApiError(
                429, "rateLimitExceeded", "The project exceeded the rate limit for creating and deleting buckets."
            )
        self._changed_at[project] = now


def check_bucket_name(name: str) -> None:
    """Google's rules: 3 to 63 of a-z 0-9 - _ (222 with dots, each part 63), no address, no `goog`, no `google`."""
    parts = name.split(".")
    sound = (
        3 <= len(name) <= (222 if len(parts) > 1 else 63)
        and all(1 <= len(part) <= 63 for part in parts)
        and re.fullmatch(r"[a-z0-9][-_a-z0-9.]*[a-z0-9]", name)
        and not re.fullmatch(r"\d+\.\d+\.\d+\.\d+", name)
        and not name.startswith("goog")
        and "google" not in name
    )
    if not sound:
        raise invalid(f"Invalid bucket name: '{name}'")
