"""Durations as people write them: 90, "90s", "10m", "1h30m"."""

from __future__ import annotations

import math
import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TERM = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def seconds_of(value: object, name: str) -> float:
    """ValueError or TypeError naming the argument and the legal forms."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str):
        terms = _TERM.findall(value.strip())
        if not terms or "".join(number + unit for number, unit in terms) != value.strip():
            raise ValueError(
                f"{name}={value!r} is no duration; legal: seconds (600), or text like '30s', '10m', '1h30m'"
            )
        seconds = sum(float(number) * _UNITS[unit] for number, unit in terms)
    else:
        raise TypeError(f"{name} must be seconds or text like '10m', not {type(value).__name__}")
    if not math.isfinite(seconds) or seconds <= 0:
        raise ValueError(f"{name}={value!r} must be more than nothing")
    return seconds
