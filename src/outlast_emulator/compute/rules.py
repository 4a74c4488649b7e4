"""What names, labels and metadata may look like, and the words with which Google refuses the others."""

from __future__ import annotations

import re
from typing import Any

from outlast_emulator.errors import ApiError, invalid

NAME = "(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)"
_NAME = re.compile(NAME + r"\Z")
_METADATA_KEY = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")

LABELS_MAX = 64
LABEL_MAX = 63
METADATA_VALUE_MAX = 262_144
METADATA_TOTAL_MAX = 512 * 1024


def refused(field: str, value: Any, why: str) -> ApiError:
    return invalid(f"Invalid value for field '{field}': '{value}'. {why}")


def required(field: str) -> ApiError:
    return ApiError(400, "required", f"Required field '{field}' not specified")


def check_name(name: Any, field: str = "resource.name") -> str:
    if name is None or name == "":
        raise refused(field, "", f"Must be a match of regex '{NAME}'")
    if not isinstance(name, str) or not _NAME.match(name):
        raise refused(field, name, f"Must be a match of regex '{NAME}'")
    return name


def check_labels(labels: dict[str, Any] | None, field: str = "resource.labels") -> dict[str, str]:
    found = dict(labels or {})
    if len(found) > LABELS_MAX:
        raise refused(field, "", f"The number of labels cannot exceed {LABELS_MAX}.")
    for key, value in found.items():
        if not key or not key[0].isalpha() or not _of_labels(key):
            raise refused(
                field,
                "",
                f"Label key '{key}' violates format constraints. The key must start with a lowercase character, can only "
                "contain lowercase letters, numeric characters, underscores and dashes. The key can be at most 63 "
                "characters long. International characters are allowed.",
            )
        if not _of_labels(value):
            raise refused(
                field,
                "",
                f"Label value '{value}' violates format constraints. The value can only contain lowercase letters, numeric "
                "characters, underscores and dashes. The value can be at most 63 characters long. International "
                "characters are allowed.",
            )
    return found


def _of_labels(text: str) -> bool:
    if len(text) > LABEL_MAX:
        return False
    return all(one in "-_" or (one.isalnum() and one == one.lower()) for one in text)


def check_metadata(metadata: dict[str, Any] | None, field: str = "resource.metadata") -> list[dict[str, str]]:
    """The items, checked; an item without a value has an empty one."""
    items = list((metadata or {}).get("items") or [])
    seen: set[str] = set()
    total = 0
    checked = []
    for at, item in enumerate(items):
        key, value = item.get("key", ""), item.get("value") or ""
        if not _METADATA_KEY.match(key):
            raise refused(f"{field}.items[{at}].key", key, "Must be a match of regex '[a-zA-Z0-9-_]{1,128}'")
        if key in seen:
            raise refused(field, "", f"Duplicate key '{key}' in metadata.")
        if len(value) > METADATA_VALUE_MAX:
            raise invalid(
                f"Value for field '{field}.items[{at}].value' is too large: maximum size {METADATA_VALUE_MAX} "
                f"character(s); actual size {len(value)}."
            )
        seen.add(key)
        total += len(key.encode()) + len(value.encode())
        checked.append({"key": key, "value": value})
    if total > METADATA_TOTAL_MAX:
        raise invalid(
            f"Metadata is too large: maximum size {METADATA_TOTAL_MAX} character(s); actual size {total}.",
        )
    return checked


def check_fingerprint(sent: str | None, current: str, field: str) -> None:
    """412 unless the client saw what it changes."""
    if sent != current:
        words = "Supplied fingerprint does not match current metadata fingerprint."
        if field != "metadata":
            words = f"{field.capitalize()} fingerprint either invalid or resource {field} have changed"
        raise ApiError(412, "conditionNotMet", words, location="If-Match", location_type="header")
