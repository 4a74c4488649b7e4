"""The secrets of the project: their versions in one private file, numbered from 1, destroyed for ever when they are."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

from outlast_emulator.clock import Clock, rfc3339
from outlast_emulator.errors import young
from outlast_emulator.iam.state import PROJECT_NUMBER, State

PAYLOAD_BYTES_MAX = 65_536
_ID = re.compile(r"[A-Za-z0-9_-]{1,255}\Z")
_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}\Z")
_VALUE = re.compile(r"[a-z0-9_-]{0,63}\Z")


class Secrets:
    """Raises Google's errors; knows nothing of HTTP. A version is ENABLED, DISABLED or DESTROYED."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self.state = State(directory, "secrets.json", _first)
        self._clock = clock

    def create(self, name: str, described: dict[str, Any]) -> dict[str, Any]:
        if not _ID.match(name):
            raise young(
                "INVALID_ARGUMENT", "The provided Secret ID does not match the expected format [[a-zA-Z_0-9]+]."
            )
        replication = described.get("replication") or {}
        if len(replication) != 1 or not replication.keys() <= {"automatic", "userManaged"}:
            raise young("INVALID_ARGUMENT", "Replication policy is required.")
        labels = described.get("labels") or {}
        if not all(_LABEL.match(key) and _VALUE.match(value) for key, value in labels.items()):
            raise young(
                "INVALID_ARGUMENT", "Labels have at most 63 of a-z, 0-9, _ and -, and keys begin with a letter."
            )
        with self.state.change() as document:
            if name in document["secrets"]:
                raise young("ALREADY_EXISTS", f"Secret [{_resource(name)}] already exists.")
            document["secrets"][name] = {
                "made_at": self._now(),
                "labels": labels,
                "replication": replication,
                "changes": 0,
                "versions": [],
            }
        return self.shown(name)

    def names(self) -> list[str]:
        return sorted(self.state.document["secrets"])

    def change(self, name: str, labels: dict[str, str]) -> dict[str, Any]:
        self._find(name)
        with self.state.change() as document:
            document["secrets"][name]["labels"] = labels
            document["secrets"][name]["changes"] += 1
        return self.shown(name)

    def delete(self, name: str) -> None:
        self._find(name)
        with self.state.change() as document:
            del document["secrets"][name]

    def shown(self, name: str) -> dict[str, Any]:
        secret = self._find(name)
        document = {
            "name": _resource(name),
            "replication": secret["replication"],
            "createTime": rfc3339(secret["made_at"]),
            "etag": f'"{secret["made_at"]:x}{secret["changes"]:x}"',
        }
        return {**document, "labels": secret["labels"]} if secret["labels"] else document

    def add(self, name: str, data: str) -> dict[str, Any]:
        self._find(name)
        size = len(base64.b64decode(data))
        if not 0 < size <= PAYLOAD_BYTES_MAX:
            raise young(
                "INVALID_ARGUMENT", f"The payload has {size} bytes: between 1 and {PAYLOAD_BYTES_MAX} are allowed."
            )
        with self.state.change() as document:
            versions = document["secrets"][name]["versions"]
            versions.append({"data": data, "state": "ENABLED", "made_at": self._now()})
        return self.shown_version(name, str(len(versions)))

    def versions(self, name: str) -> list[dict[str, Any]]:
        count = len(self._find(name)["versions"])
        return [self.shown_version(name, str(number)) for number in range(count, 0, -1)]

    def shown_version(self, name: str, asked: str) -> dict[str, Any]:
        number, version = self._version(name, asked)
        return {
            "name": f"{_resource(name)}/versions/{number}",
            "createTime": rfc3339(version["made_at"]),
            "state": version["state"],
            "replicationStatus": {"automatic": {}},
            "etag": f'"{version["made_at"]:x}"',
        }

    def access(self, name: str, asked: str) -> tuple[str, str]:
        """(the version's name, its payload in base64)."""
        number, version = self._version(name, asked)
        named = f"{_resource(name)}/versions/{number}"
        if version["state"] != "ENABLED":
            raise young("FAILED_PRECONDITION", f"Secret Version [{named}] is in {version['state']} state.")
        return named, version["data"]

    def set_state(self, name: str, asked: str, state: str) -> dict[str, Any]:
        number, version = self._version(name, asked)
        if version["state"] == "DESTROYED":
            raise young("FAILED_PRECONDITION", f"Secret Version [{_resource(name)}/versions/{number}] is destroyed.")
        with self.state.change() as document:
            kept = document["secrets"][name]["versions"][number - 1]
            kept["state"] = state
            if state == "DESTROYED":
                kept["data"] = ""
        return self.shown_version(name, str(number))

    def _find(self, name: str) -> dict[str, Any]:
        found = self.state.document["secrets"].get(name)
        if found is None:
            raise young("NOT_FOUND", f"Secret [{_resource(name)}] not found.")
        return dict(found)

    def _version(self, name: str, asked: str) -> tuple[int, dict[str, Any]]:
        """`latest` is the newest that is enabled."""
        versions = self._find(name)["versions"]
        if asked == "latest":
            number = max((n for n, one in enumerate(versions, 1) if one["state"] == "ENABLED"), default=0)
        elif asked.isascii() and asked.isdigit():
            number = int(asked)
        else:
            raise young("INVALID_ARGUMENT", f"The version {asked!r} is neither a number nor `latest`.")
        if not 0 < number <= len(versions):
            raise young("NOT_FOUND", f"Secret Version [{_resource(name)}/versions/{asked}] not found.")
        return number, versions[number - 1]

    def _now(self) -> int:
        return int(self._clock.now() * 1_000_000)


def _resource(name: str) -> str:
    return f"projects/{PROJECT_NUMBER}/secrets/{name}"


def _first() -> dict[str, Any]:
    return {"secrets": {}}
