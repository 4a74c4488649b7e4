"""Lifecycle rules are carried out."""

from __future__ import annotations

import re
from typing import Any

import pytest

from outlast_emulator.testing import Running

DAY = 86400


def _rules(emulator: Running, bucket: str, *rules: dict[str, Any]) -> int:
    return emulator.call("PATCH", f"/storage/v1/b/{bucket}", {"lifecycle": {"rule": list(rules)}}).status


def _days_later(emulator: Running, days: float) -> dict[str, int]:
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": days * DAY})
    found = emulator.call("POST", "/_emulator/lifecycle").json()
    assert isinstance(found, dict)
    return found


def _names(emulator: Running, bucket: str) -> list[str]:
    return [entry["name"] for entry in emulator.call("GET", f"/storage/v1/b/{bucket}/o").json().get("items", [])]


def test_objects_of_an_age_are_deleted_and_younger_or_held_ones_are_not(emulator: Running, bucket: str) -> None:
    condition = {"age": 3, "matchesPrefix": ["old/", "tmp/"]}
    assert _rules(emulator, bucket, {"action": {"type": "Delete"}, "condition": condition}) == 200
    for name in ("old/1", "old/held", "tmp/2", "other"):
        emulator.put(bucket, name, b"x")
    emulator.call("PATCH", f"/storage/v1/b/{bucket}/o/old%2Fheld", {"temporaryHold": True})

    assert _days_later(emulator, 2.9)["deleted"] == 0
    assert _days_later(emulator, 3.1)["deleted"] == 2
    assert _names(emulator, bucket) == ["old/held", "other"]


def test_objects_move_to_another_class_once(emulator: Running, bucket: str) -> None:
    action = {"type": "SetStorageClass", "storageClass": "NEARLINE"}
    condition = {"age": 1, "matchesStorageClass": ["STANDARD"], "matchesSuffix": [".bin"], "isLive": True}
    _rules(emulator, bucket, {"action": action, "condition": condition})
    emulator.put(bucket, "a.bin", b"x")
    emulator.put(bucket, "b.txt", b"x")

    assert [_days_later(emulator, 2)["reclassed"] for _ in range(2)] == [1, 0]

    assert emulator.get(bucket, "a.bin").json()["storageClass"] == "NEARLINE"
    assert emulator.get(bucket, "b.txt").json()["storageClass"] == "STANDARD"


def test_the_time_that_a_user_gave_an_object_counts_where_asked(emulator: Running, bucket: str) -> None:
    condition = {"customTimeBefore": "2020-01-01"}
    _rules(emulator, bucket, {"action": {"type": "Delete"}, "condition": condition})
    for name, year in (("old", 2019), ("new", 2021)):
        emulator.put(bucket, name, b"x")
        emulator.call("PATCH", f"/storage/v1/b/{bucket}/o/{name}", {"customTime": f"{year}-05-05T00:00:00Z"})
    emulator.put(bucket, "none", b"x")

    assert _days_later(emulator, 0)["deleted"] == 1
    assert _names(emulator, bucket) == ["new", "none"]


def test_abandoned_multipart_uploads_are_aborted(emulator: Running, bucket: str) -> None:
    rule = {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}}
    assert _rules(emulator, bucket, rule) == 200
    begun = emulator.call("POST", f"/{bucket}/it?uploads")
    found = re.search(rb"<UploadId>([^<]+)</UploadId>", begun.body)
    assert found
    path = f"/{bucket}/it?partNumber=1&uploadId={found[1].decode()}"
    assert emulator.call("PUT", path, b"part").status == 200

    assert _days_later(emulator, 0.9)["aborted"] == 0
    assert _days_later(emulator, 1.1)["aborted"] == 1
    assert emulator.call("PUT", path, b"part").status == 404


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"action": {"type": "Delete"}},
        {"action": {"type": "Delete"}, "condition": {}},
        {"action": {"type": "SetStorageClass"}, "condition": {"age": 1}},
        {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"isLive": True}},
    ],
)
def test_rules_that_cannot_be_carried_out_are_refused(emulator: Running, bucket: str, rule: dict[str, Any]) -> None:
    assert _rules(emulator, bucket, rule) == 400
    assert "lifecycle" not in emulator.call("GET", f"/storage/v1/b/{bucket}").json()
