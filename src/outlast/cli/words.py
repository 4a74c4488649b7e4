"""Numbers and times in words that a person reads at a glance."""

from __future__ import annotations

MINUTE, HOUR, DAY = 60, 3600, 86400


def duration(seconds: float) -> str:
    """`80 ms`, `4.2 s`, `12 min 5 s`, `3 h 20 min`, `2 d 4 h`."""
    seconds = max(0.0, seconds)
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    for unit, name, part, part_name in ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "min"), (MINUTE, "min", 1, "s")):
        if whole >= unit:
            rest = whole % unit // part
            return f"{whole // unit} {name} {rest} {part_name}" if rest else f"{whole // unit} {name}"
    raise AssertionError(whole)


def age(at: float | None, now: float) -> str:
    """`3 min ago`; times that lie ahead (another machine's clock) are `now`."""
    if at is None:
        return ""
    seconds = now - at
    if seconds < 1:
        return "now"
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {name} ago"
    return f"{int(seconds)} s ago"


def size(count: float) -> str:
    """`2.1 MB`, by thousands as disks and prices count."""
    for name in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 999.5 or name == "TB":
            break
        count /= 1000
    if name == "bytes":
        return "1 byte" if count == 1 else f"{count:.0f} bytes"
    return f"{count:.1f} {name}" if count < 99.95 else f"{count:,.0f} {name}"


def money(usd: float | None) -> str:
    if usd is None:
        return "unknown"
    return "$0" if usd == 0 else f"${usd:,.2f}" if usd >= 0.005 else "under $0.01"


def count(number: int, noun: str) -> str:
    """`1 file`, `14 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def percent(ratio: float) -> str:
    """Rounded down, so that 100% means all of it."""
    return f"{int(ratio * 1000) / 10:g}%"
