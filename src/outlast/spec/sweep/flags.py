"""A cell's parameters as the arguments that its script is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def to_flags(params: Mapping[str, Any]) -> tuple[str, ...]:
    """`--key value` in the order of the file; what is true is `--key` alone, what is false is not there."""
    found: list[str] = []
    for key, value in params.items():
        if value is False:
            continue
        found.append(f"--{key}")
        if value is not True:
            found.append(str(value))
    return tuple(found)
