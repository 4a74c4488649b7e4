"""Durations as people write them: `30m`, `2h`, `7d`, `1h30m`, `90`."""

from __future__ import annotations

from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.names import shown

DURATION_SECONDS_MAX = 10 * 365 * 86400.0
UNITS_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}

_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,6})?"
_FORM = pattern("".join(rf"(?:(?P<{unit}>{_NUMBER}){unit})?" for unit in UNITS_SECONDS))
_SECONDS = pattern(_NUMBER)


def parse_duration(text: str) -> float:
    """Seconds; a number without a unit is seconds, several units stand from the largest to the smallest."""
    compact = text.strip().lower()
    if _SECONDS.fullmatch(compact):
        return _limited(float(compact), text)
    match = _FORM.fullmatch(compact)
    if match is None or not compact:
        raise UsageError(
            f"{shown(text)} is no duration",
            hint="write `90` or `90s`, `30m`, `2h`, `7d`, `1h30m`",
        )
    return _limited(sum(float(match[unit] or 0) * seconds for unit, seconds in UNITS_SECONDS.items()), text)


def format_duration(seconds: float) -> str:
    """The shortest form that `parse_duration` reads back to the same whole second: `7d`, `1h30m`, `0s`."""
    rest = round(seconds)
    written = ""
    for unit, unit_seconds in UNITS_SECONDS.items():
        count, rest = divmod(rest, int(unit_seconds))
        if count:
            written += f"{count}{unit}"
    return written or "0s"


def _limited(seconds: float, text: str) -> float:
    if seconds > DURATION_SECONDS_MAX:
        raise UsageError(f"{shown(text)} is too long", hint=f"at most `{format_duration(DURATION_SECONDS_MAX)}`")
    return seconds
