"""A job's attempts side by side on one scale of time: what was training, starting, lost, and where nothing ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from outlast.cli.words import duration

if TYPE_CHECKING:
    from outlast.folder.records import Attempt

COLUMNS_MAX = 60
SHOWN_MAX = 12
SIGNS = {"starting": "░", "training": "█", "lost": "▒"}
ASCII_SIGNS = {"starting": ".", "training": "=", "lost": "x"}


def timeline(attempts: Sequence[tuple[int, Attempt]], now: float, *, columns: int, blocks: bool) -> list[str]:
    """One line per attempt, the newest ones, and a legend; nothing where there is only one."""
    if len(attempts) < 2:
        return []
    shown = attempts[-SHOWN_MAX:]
    begin = shown[0][1].started_at
    end = max(attempt.ended_at or now for _, attempt in shown)
    wide = max(10, min(COLUMNS_MAX, columns - 30))
    seconds = max(end - begin, 1e-9)
    signs = SIGNS if blocks else ASCII_SIGNS

    def column(at: float) -> int:
        return min(wide, max(0, round((at - begin) / seconds * wide)))

    lines = []
    for number, attempt in shown:
        row = [" "] * wide
        stop = attempt.ended_at or now
        for kind, start, until in _spans(attempt, stop):
            for slot in range(column(start), max(column(until), min(wide, column(start) + 1))):
                row[slot] = signs[kind]
        cause = attempt.cause.value if attempt.cause else "running"
        took = duration(stop - attempt.started_at)
        lines.append(f"{number:>7}  {''.join(row)}  {cause}, {took}".rstrip())
    legend = ", ".join(f"{sign} {kind}" for kind, sign in signs.items())
    hidden = f"; {len(attempts) - len(shown):,} before these" if len(attempts) > len(shown) else ""
    return [*lines, f"         {legend}; {duration(seconds)} in all{hidden}"]


def _spans(attempt: Attempt, stop: float) -> list[tuple[str, float, float]]:
    """(what, from, to), later ones drawn over earlier ones."""
    started = attempt.started_at
    starting = attempt.seconds.get("starting", 0.0) + attempt.seconds.get("restoring", 0.0)
    trained_from = min(stop, started + starting)
    spans = [("training", trained_from, stop), ("starting", started, trained_from)] if starting else []
    spans = spans or [("training", started, stop)]
    if attempt.steps_lost:
        lost_from = attempt.committed_at if attempt.committed_at is not None else trained_from
        spans.append(("lost", min(stop, lost_from), stop))
    return spans
