"""What may be asked of machines that are rented: each value as a flag, a variable or a file gives it."""

from __future__ import annotations

import math
import re
from typing import Any

from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.machine import parse_count, parse_gpus
from outlast.spec.names import shown

DISK_GB_MAX = 65_536
COST_USD_MAX = 1_000_000.0

_PROJECT = pattern(r"([a-z0-9][a-z0-9.-]{0,100}:)?[a-z0-9][a-z0-9-]{0,62}")
_REGION = pattern(r"[a-z]+-[a-z]+[0-9]+|us|eu|asia|[a-z]+[0-9]+")
_ZONE = pattern(r"[a-z]+-[a-z]+[0-9]+-[a-z]+[0-9]*[a-z]*")
_WORD = pattern(r"[a-z][a-z0-9-]{0,62}")
_MACHINE = pattern(r"[a-z][a-z0-9_-]{0,62}")
"""Older names have underscores; what they mean now, the catalog says."""

_PATH = pattern(r"(?=.{1,400}\Z)[A-Za-z][A-Za-z0-9._:-]*(/[A-Za-z0-9][A-Za-z0-9._:-]*)*")
_API = pattern(r"https://[a-z.]+/compute/v1/")
_ACCOUNT = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}@[A-Za-z0-9][A-Za-z0-9.-]{0,200}")


def read_gpus(value: Any) -> int | str:
    """A number of them, or `4xA100`: number and type."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise UsageError(f"{_seen(value)} are no GPUs", hint='write `gpus = 2` or `gpus = "4xA100"`')
    count, type_ = parse_gpus(str(value))
    return count if not type_ else type_ if count == 1 else f"{count}x{type_}"


def read_project(value: Any) -> str:
    return _one(value, _PROJECT, "project", "its id as `gcloud projects list` shows it, such as `my-project-123`")


def read_regions(value: Any) -> str:
    """One region, or several in the order in which they are tried, with commas between them."""
    return ",".join(_each(value, _REGION, "region", "write it as `us-central1` or `europe-west4`"))


def read_zones(value: Any) -> tuple[str, ...]:
    return _each(value, _ZONE, "zone", "write it as `us-central1-a`")


def read_machine_type(value: Any) -> str:
    return _one(value, _MACHINE, "machine type", "such as `n2-standard-8`, or `n2-custom-8-32768`: 8 vCPUs and 32 GB")


def read_disk_gb(value: Any) -> int:
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else repr(value)
    return parse_count("--disk-gb", text.lower().removesuffix("gb"), 10, DISK_GB_MAX)


def read_disk_type(value: Any) -> str:
    return _one(value, _WORD, "disk type", "such as `pd-balanced`, `pd-ssd` or `hyperdisk-balanced`")


def read_image(value: Any) -> str:
    path = (
        _API.sub("", value, count=1) if isinstance(value, str) else value
    )  # as Google's own pages and answers name it
    return _one(path, _PATH, "image", "a family, an image, or `PROJECT/FAMILY`, such as `debian-cloud/debian-12`")


def read_service_account(value: Any) -> str:
    return _one(value, _ACCOUNT, "service account", "such as `outlast-runner@PROJECT.iam.gserviceaccount.com`")


def read_network(value: Any) -> str:
    path = _API.sub("", value, count=1) if isinstance(value, str) else value
    return _one(path, _PATH, "network", "a network's name, or `regions/REGION/subnetworks/NAME`")


def read_flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise UsageError(f"{_seen(value)} is neither yes nor no", hint="write `true` or `false`")


def read_max_cost(value: Any) -> float:
    """US dollars: `5`, `2.50`, `$20`."""
    text = str(value).removeprefix("$") if isinstance(value, (int, float, str)) else ""
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text) and not isinstance(value, bool):
        usd = float(text)
        if math.isfinite(usd) and 0 < usd <= COST_USD_MAX:
            return usd
    raise UsageError(f"{_seen(value)} is no sum of money", hint="in US dollars, such as `--max-cost 5` or `2.50`")


def _each(value: Any, pattern: re.Pattern[str], noun: str, hint: str) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not parts:
        raise UsageError(f"{_seen(value)} is no {noun}", hint=hint)
    return tuple(dict.fromkeys(_one(part, pattern, noun, hint) for part in parts))


def _one(value: Any, pattern: re.Pattern[str], noun: str, hint: str) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not pattern.fullmatch(text):
        raise UsageError(f"{_seen(value)} is no {noun}", hint=hint)
    return text


def _seen(value: Any) -> str:
    return shown(value if isinstance(value, str) else repr(value))
