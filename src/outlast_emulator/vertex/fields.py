"""What a filter can ask of a custom job: what the discovery document lists, and nothing else."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from outlast_emulator.filters import Test, moment, ordered

NAMES = {
    "display_name": "displayName",
    "displayName": "displayName",
    "state": "state",
    "create_time": "createTime",
    "createTime": "createTime",
}


class JobFields:
    def test(self, field: str, sign: str, value: str) -> Test | None:
        if field.startswith("labels."):
            return _label(field.removeprefix("labels.").strip('"'), sign, value)
        if field == "labels" and sign == ":":
            return lambda job: value in job.get("labels", {})
        name = NAMES.get(field, "")
        if name == "createTime":
            wanted = moment(value)
            if wanted is None or sign not in ("=", "!=", "<", "<=", ">", ">="):
                return None
            return lambda job: ordered(moment(str(job["createTime"])), sign, wanted)
        if name == "displayName" and sign == ":":
            return lambda job: fnmatchcase(str(job["displayName"]), value.replace("[", "[[]"))
        if not name or sign not in ("=", "!="):
            return None
        return lambda job: (str(job.get(name, "")) == value) == (sign == "=")

    def search(self, value: str) -> Test | None:
        return None


def _label(key: str, sign: str, value: str) -> Test | None:
    if sign == ":" and value == "*":
        return lambda job: key in job.get("labels", {})
    if sign not in ("=", "!=", ":"):
        return None

    def test(job: dict[str, Any]) -> bool:
        return bool(job.get("labels", {}).get(key) == value) == (sign != "!=")

    return test
