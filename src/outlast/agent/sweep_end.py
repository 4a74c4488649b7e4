"""How a sweep has ended, by the rows of its cells: a pure decision."""

from __future__ import annotations

from outlast.folder.records import State
from outlast.folder.sweep import GOOD, Progress

FAILED_NAMED_MAX = 10

_VERBS = {State.FAILED: "failed", State.EXPIRED: "ran out of time or money", State.STOPPED: "were stopped"}
"""The worst first."""


def outcome(progress: Progress, ending: tuple[State, str] | None) -> tuple[State, str]:
    """The sweep's last state, and why. `ending`: why no cell may be begun any more, if that is so."""
    if progress.to_do and ending is not None:
        state, reason = ending
        left = f"{progress.to_do:,} of {progress.cells:,} cells have not been begun"
        return state, f"{reason}; {left}" if reason else left
    bad = {cell: row for cell, row in sorted(progress.rows.items()) if row.state not in GOOD}
    if not bad:
        return State.SUCCEEDED, ""
    states = {row.state for row in bad.values()}
    state = next(one for one in _VERBS if one.value in states)
    which = [cell for cell, row in bad.items() if row.state == state.value]
    named = ", ".join(str(cell) for cell in which[:FAILED_NAMED_MAX])
    more = " and others" if len(which) > FAILED_NAMED_MAX else ""
    return state, f"{len(which):,} of {progress.cells:,} cells {_VERBS[state]}: {named}{more}"
