"""What keeps an object as it is for a while: holds, the bucket's retention policy, and the limit of writes per name."""

from __future__ import annotations

from outlast_emulator.clock import Clock, rfc3339
from outlast_emulator.errors import ApiError
from outlast_emulator.storage.buckets import Bucket
from outlast_emulator.storage.stored import Stored
from outlast_emulator.switches import Switches

WRITE_SECONDS = 1.0
"""Google takes one write a second of one object name."""

_REMEMBERED_MAX = 100_000


def check_free(old: Stored | None, bucket: Bucket, clock: Clock) -> None:
    """403 while a hold or the retention policy forbids to delete or replace it."""
    if old is None:
        return
    if "Hold" in old.fields_text:
        for name, words in (("temporaryHold", "Temporary"), ("eventBasedHold", "Event-Based")):
            if old.fields.get(name):
                raise ApiError(
                    403,
                    "forbidden",
                    f"Object '{old.bucket}/{old.name}' is under active {words} hold and cannot be deleted, "
                    "overwritten or archived until hold is removed.",
                )
    seconds = int(bucket.fields.get("retentionPolicy", {}).get("retentionPeriod", 0))
    until_us = old.created_us + int(clock.scaled(seconds) * 1e6)
    if seconds and clock.now() * 1e6 < until_us:
        raise ApiError(
            403,
            "retentionPolicyNotMet",
            f"Object '{old.bucket}/{old.name}' is subject to bucket's retention policy and cannot be deleted, "
            f"overwritten or archived until {rfc3339(until_us)}",
        )


class WriteLimit:
    def __init__(self, clock: Clock, switches: Switches) -> None:
        self._clock = clock
        self._switches = switches
        self._written_at: dict[tuple[str, str], float] = {}

    def count(self, bucket: str, name: str) -> None:
        """One write; 429 if the last one was less than a second ago."""
        if not self._switches.write_limit:
            return
        now = self._clock.monotonic()
        last = self._written_at.get((bucket, name))
        if last is not None and now - last < self._clock.scaled(WRITE_SECONDS):
            raise ApiError(
                429,
                "rateLimitExceeded",
                f"The object {bucket}/{name} exceeded the rate limit for object mutation operations (create, update, and "
                "delete). Please reduce your request rate. See https://cloud.google.com/storage/docs/gcs429.",
                domain="usageLimits",
            )
        if len(self._written_at) > _REMEMBERED_MAX:
            self._written_at.clear()
        self._written_at[bucket, name] = now
