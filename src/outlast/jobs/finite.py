"""JSON has no NaN and no infinity."""

from __future__ import annotations

from typing import Any


def finite(value: Any) -> Any:
    """The same with null in the place of what JSON has not."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value
