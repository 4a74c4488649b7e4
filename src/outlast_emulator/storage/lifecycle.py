"""Lifecycle rules, carried out: old objects deleted or moved to another class, abandoned multipart uploads removed.

Google does it within a day of the moment at which a condition comes true; the emulator looks every few seconds. Conditions about
noncurrent generations never hold, since there are none.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from outlast_emulator.clock import Clock
from outlast_emulator.errors import ApiError, invalid
from outlast_emulator.storage.buckets import Bucket
from outlast_emulator.storage.conditions import NONE
from outlast_emulator.storage.listing import Query
from outlast_emulator.storage.model import Storage
from outlast_emulator.storage.stored import Stored

DAY_SECONDS = 86400
ACTIONS = ("Delete", "SetStorageClass", "AbortIncompleteMultipartUpload")
NONCURRENT = ("numNewerVersions", "daysSinceNoncurrentTime", "noncurrentTimeBefore")
CONDITIONS = (
    "age",
    "createdBefore",
    "customTimeBefore",
    "daysSinceCustomTime",
    "isLive",
    "matchesPrefix",
    "matchesSuffix",
    "matchesStorageClass",
    *NONCURRENT,
)
OF_UPLOADS = {"age", "matchesPrefix", "matchesSuffix"}


def check_rules(lifecycle: dict[str, Any]) -> None:
    """400 for a rule that could never be carried out."""
    for rule in lifecycle.get("rule") or []:
        action = (rule.get("action") or {}).get("type")
        condition = rule.get("condition") or {}
        if action not in ACTIONS:
            raise invalid(f"A lifecycle rule has no action, or one that does not exist: {action}")
        if not condition or not set(condition) <= set(CONDITIONS):
            raise invalid("A lifecycle management rule must specify at least one condition, and only known ones.")
        if action == "AbortIncompleteMultipartUpload" and not set(condition) <= OF_UPLOADS:
            raise invalid("AbortIncompleteMultipartUpload takes the conditions age, matchesPrefix and matchesSuffix.")
        if action == "SetStorageClass" and not rule["action"].get("storageClass"):
            raise invalid("SetStorageClass needs a storage class.")


class Lifecycle:
    def __init__(self, storage: Storage, uploads: Path, clock: Clock) -> None:
        """`uploads`: where the XML API keeps its multipart uploads."""
        self._storage = storage
        self._uploads = uploads
        self._clock = clock

    def carry_out(self) -> dict[str, int]:
        """How many were deleted, moved to another class, aborted."""
        done = {"deleted": 0, "reclassed": 0, "aborted": 0}
        for bucket in self._storage.buckets.all(None):
            for rule in bucket.fields.get("lifecycle", {}).get("rule") or []:
                action, condition = rule["action"], rule["condition"]
                if action["type"] == "AbortIncompleteMultipartUpload":
                    done["aborted"] += self._abort(bucket, condition)
                    continue
                for stored in self._chosen(bucket, condition):
                    if action["type"] == "Delete":
                        done["deleted"] += self._delete(stored)
                    elif stored.fields.get("storageClass") != action["storageClass"]:
                        done["reclassed"] += self._reclass(stored, action["storageClass"])
        return done

    def _chosen(self, bucket: Bucket, condition: dict[str, Any]) -> Iterator[Stored]:
        token = ""
        while True:
            page = self._storage.list(bucket.name, Query(token=token))
            yield from (stored for stored in page.items if self._holds(stored, condition))
            token = page.token
            if not token:
                return

    def _holds(self, stored: Stored, condition: dict[str, Any]) -> bool:
        fields = stored.fields
        custom_at = instant(fields.get("customTime"))
        created_at = stored.created_us / 1e6
        for name, wanted in condition.items():
            if name in NONCURRENT or (name == "isLive" and not wanted):
                return False
            if not _named(name, wanted, stored.name):
                return False
            if name == "age" and not self._is_past(created_at, wanted):
                return False
            if name == "createdBefore" and created_at >= (instant(wanted) or 0):
                return False
            if name == "matchesStorageClass" and fields.get("storageClass", "STANDARD") not in wanted:
                return False
            if name == "daysSinceCustomTime" and (custom_at is None or not self._is_past(custom_at, wanted)):
                return False
            if name == "customTimeBefore" and (custom_at is None or custom_at >= (instant(wanted) or 0)):
                return False
        return True

    def _is_past(self, at: float, days: int) -> bool:
        return self._clock.now() >= at + self._clock.scaled(days * DAY_SECONDS)

    def _delete(self, stored: Stored) -> bool:
        try:
            self._storage.objects.delete(stored.bucket, stored.name, NONE, stored.generation)
        except ApiError:
            return False  # held, retained, or replaced in the meantime
        return True

    def _reclass(self, stored: Stored, storage_class: str) -> bool:
        try:
            self._storage.objects.change(
                stored.bucket,
                stored.name,
                lambda fields: {**fields, "storageClass": storage_class},
                generation=stored.generation,
            )
        except ApiError:
            return False
        return True

    def _abort(self, bucket: Bucket, condition: dict[str, Any]) -> int:
        aborted = 0
        for path in self._uploads.glob("*/upload.json"):
            try:
                kept = json.loads(path.read_text())
            except (OSError, ValueError):
                continue  # completed or aborted in the meantime
            if kept["bucket"] != bucket.name or not self._is_past(kept["begun_us"] / 1e6, condition.get("age", 0)):
                continue
            if all(_named(name, wanted, kept["name"]) for name, wanted in condition.items()):
                shutil.rmtree(path.parent, ignore_errors=True)
                aborted += 1
        return aborted


def _named(condition: str, wanted: Any, name: str) -> bool:
    if condition == "matchesPrefix":
        return name.startswith(tuple(wanted))
    return name.endswith(tuple(wanted)) if condition == "matchesSuffix" else True


def instant(text: str | None) -> float | None:
    """Of a date or a time in RFC 3339."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00").replace("z", "+00:00"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
