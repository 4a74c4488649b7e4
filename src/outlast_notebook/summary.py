"""One job as a small table in HTML, with what it logged as lines. Everything foreign is escaped; nothing is loaded from anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from outlast.cli.words import age, count, duration, money, percent, size

if TYPE_CHECKING:
    from outlast.jobs.api import JobHandle
    from outlast.results.metrics import Series
    from outlast.results.status import Status

COLOURS = {
    "succeeded": "#2e9e4f",
    "running": "#3b6fd4",
    "failed": "#cc3d3d",
    "expired": "#cc3d3d",
    "stopped": "#b8860b",
    "stopping": "#b8860b",
}
LINES_MAX = 4
POINTS_MAX = 300
WIDE, HIGH = 220, 36


def mimebundle(handle: JobHandle) -> dict[str, str]:
    """What a notebook shows, and what stands there where it cannot."""
    status = handle.status()
    return {"text/html": html_of(status, handle._drawn_metrics()), "text/plain": text_of(status)}


def text_of(status: Status) -> str:
    step = "" if status.step is None else f", step {status.step:,}"
    return f"<outlast job {status.job}: {status.state}{step}>"


def html_of(status: Status, series: Series) -> str:
    colour = COLOURS.get(status.state, "#808080")
    head = (
        f'<b>{escape(status.job)}</b> <span style="color:{colour}">&#9679; {escape(status.state)}</span>'
        f"<span> {escape(_since(status))}</span>"
    )
    rows = "".join(
        f'<tr><td style="text-align:left;opacity:.7">{escape(name)}</td><td style="text-align:left">{escape(fact)}</td></tr>'
        for name, fact in _facts(status)
        if fact
    )
    drawn = "".join(_line(name, values) for name, values in list(series.items())[:LINES_MAX])
    return f'<div class="outlast-job" data-state="{escape(status.state)}">{head}<table>{rows}{drawn}</table></div>'


def _since(status: Status) -> str:
    if status.head.ended_at is not None:
        return f"after {duration(status.head.ended_at - status.launch.launched_at)}, {age(status.head.ended_at, status.now)}"
    return f"for {duration(status.now - status.launch.launched_at)}"


def _facts(status: Status) -> list[tuple[str, str]]:
    ratio = status.goodput.ratio
    last = status.checkpoints[-1] if status.checkpoints else None
    return [
        ("target", " ".join([status.spec.target.value, *(status.launch.args or status.spec.args)])),
        ("why", status.why),
        ("step", "" if status.step is None else f"{status.step:,}"),
        ("attempts", f"{count(len(status.head.attempts), 'attempt')}, {count(status.preemptions, 'preemption')}"),
        ("checkpoint", f"step {last.step:,}, {size(last.bytes)}, {age(last.committed_at, status.now)}" if last else ""),
        ("goodput", "" if ratio is None else percent(ratio)),
        ("on", f"{status.launch.engine}, {money(status.cost_usd)}"),
        ("folder", status.folder),
    ]


def _line(name: str, values: Mapping[int, float]) -> str:
    """A row with a line and its last value."""
    points = sorted((step, value) for step, value in values.items() if math.isfinite(value))
    if not points:
        return ""
    every = max(1, len(points) // POINTS_MAX)
    shown = [*points[::every], points[-1]]
    (first, _), (last, latest) = points[0], points[-1]
    low, high = min(value for _, value in points), max(value for _, value in points)
    places = " ".join(
        f"{(step - first) / max(1, last - first) * WIDE:.1f},{HIGH - _ratio(value, low, high) * (HIGH - 4) - 2:.1f}"
        for step, value in shown
    )
    picture = (
        f'<svg width="{WIDE}" height="{HIGH}" role="img" aria-label="{escape(name)}">'
        f'<polyline points="{places}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )
    return (
        f'<tr><td style="text-align:left;opacity:.7">{escape(name)}</td>'
        f'<td style="text-align:left">{picture} {escape(f"{latest:.6g}")}</td></tr>'
    )


def _ratio(value: float, low: float, high: float) -> float:
    return 0.5 if high == low else (value / 2 - low / 2) / (high / 2 - low / 2)
