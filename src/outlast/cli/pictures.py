"""The pictures of `outlast show`: what was logged, and when each attempt ran."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from outlast.cli.plot import picture
from outlast.cli.progress import fancy
from outlast.cli.terminal import WIDTH_UNKNOWN, paint, put, say, shown, width
from outlast.cli.timeline import timeline
from outlast.cli.words import percent
from outlast.errors import NotFound

if TYPE_CHECKING:
    from outlast.jobs.job import Job
    from outlast.results.status import Status

PICTURES_MAX = 3
"""So many metrics are drawn unless some are asked for."""


def print_timeline(status: Status) -> None:
    lines = timeline(status.attempts, status.now, columns=_columns(), blocks=fancy(sys.stdout))
    if lines:
        put("")
        for line in lines:
            put(line)


def print_metrics(job: Job, wanted: Sequence[str]) -> None:
    """Those asked for, else the first few, and the names of the others."""
    from outlast.results.metrics import read_sample

    series, share = read_sample(job.folder)
    unknown = [name for name in wanted if name not in series]
    if unknown:
        listed = ", ".join(f"`{name}`" for name in list(series)[:8])
        raise NotFound(
            f"job `{job.id}` has logged no `{unknown[0]}`", hint=f"it has logged {listed}" if series else "nothing yet"
        )
    names = list(wanted) or list(series)[:PICTURES_MAX]
    for name in names:
        lines = picture(series[name], columns=_columns(), braille=fancy(sys.stdout))
        if lines:
            put("")
            told = _told(name, series[name])
            seen = "" if share == 1 else f"; {percent(share)} of the log was read"
            put(f"{paint(shown(name), 'bold', sys.stdout)}  {told}{seen}")
            for line in lines:
                put(line)
    others = [name for name in series if name not in names]
    if others:
        say(
            f"`--metric` draws {', '.join(f'`{shown(name)}`' for name in others[:8])}{' ...' if others[8:] else ''} too"
        )


def _told(name: str, values: dict[int, float]) -> str:
    """Now, and at its best: less or more is better as its name says."""
    from outlast.spec.sweep.goal import falls

    finite = {step: value for step, value in values.items() if math.isfinite(value)}
    if not finite:
        return "never a number"
    last = next(reversed(finite.values()))
    sign, word = (1, "least") if falls(name) else (-1, "most")
    step, best = min(finite.items(), key=lambda one: sign * one[1])
    odd = len(values) - len(finite)
    strange = f", {odd:,} times not a number" if odd else ""
    return f"{last:.6g} now, {best:.6g} at step {step:,} was the {word}{strange}"


def _columns() -> int:
    return width(sys.stdout) or WIDTH_UNKNOWN
