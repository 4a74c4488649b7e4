"""What a sweep's records say about its trials, in the form in which an adviser is asked about the next one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from outlast.errors import Damaged, KeyMissing, NewerFormat
from outlast.folder.records import State
from outlast.folder.rungs import Points
from outlast.folder.sweep import EARLY, SweepFolder
from outlast.folder.sweep_records import Row, Trial
from outlast.spec.record import decode
from outlast.spec.sweep.space import SIGNIFICANT_DIGITS, Dimension, Kind, Space

COMPLETE, PRUNED, RUNNING = "complete", "pruned", "running"


class Trials:
    """Every trial is read once: it never changes."""

    def __init__(self, sweep: SweepFolder, turn: int) -> None:
        self.sweep = sweep
        self.turn = turn
        self._known: dict[int, Trial] = {}

    def read(self) -> Mapping[int, Trial]:
        """One that is damaged is not known; whoever runs that cell says so."""
        keys = self.sweep.keys
        suffix = keys.trial(0, self.turn)[len(keys.trials) + 6 :]
        for entry in self.sweep.store.list(keys.trials):
            name = entry.key[len(keys.trials) :]
            if name[6:] != suffix or not name[:6].isdecimal() or int(name[:6]) in self._known:
                continue
            try:
                trial = decode(Trial, self.sweep.store.get(entry.key).data, entry.key)
            except (Damaged, NewerFormat, KeyMissing):
                continue
            if trial.cell == int(name[:6]):
                self._known[trial.cell] = trial
        return self._known


def described(
    space: Space,
    trials: Mapping[int, Trial],
    rows: Mapping[int, Row],
    rungs: Mapping[int, Points],
    metric: str,
) -> list[dict[str, Any]]:
    """Those that can teach something about this space: their parameters lie in it, and they did not fail."""
    found = []
    for cell in sorted(trials):
        values = values_of(space, trials[cell].params)
        fate = _fate(rows.get(cell), rungs.get(cell, {}), metric)
        if values is not None and fate is not None:
            found.append({"values": values, **fate})
    return found


def _fate(row: Row | None, points: Points, metric: str) -> dict[str, Any] | None:
    if row is None:
        return {"state": RUNNING}
    value = row.metrics.get(metric)
    if row.state == State.SUCCEEDED.value and value is not None:
        return {"state": COMPLETE, "value": value}
    if row.state == EARLY and points:
        step = max(points)
        return {"state": PRUNED, "value": points[step], "step": step}
    return None


def dimensions_of(space: Space) -> list[dict[str, Any]]:
    """Those with something to choose."""
    return [_described(one) for one in space.dimensions if not one.constant]


def _described(one: Dimension) -> dict[str, Any]:
    if one.kind is Kind.CHOICE:
        return {"kind": one.kind.value, "count": len(one.choices)}
    return {"kind": one.kind.value, "low": one.low, "high": one.high}


def values_of(space: Space, params: Mapping[str, Any]) -> list[Any] | None:
    """One for each dimension with something to choose: a number, or the number of a choice; None: they are not of this space."""
    found: list[Any] = []
    for one in space.dimensions:
        if any(name not in params for name in one.names):
            return None
        value = _value(one, [params[name] for name in one.names])
        if value is None:
            return None
        if not one.constant:
            found.append(value)
    return found


def _value(one: Dimension, given: Sequence[Any]) -> Any | None:
    if one.kind is Kind.CHOICE:
        # By their form in JSON: `true` is not 1 there, as it is in Python.
        choices = [json.dumps(choice) for choice in one.choices]
        wanted = json.dumps(list(given))
        return choices.index(wanted) if wanted in choices else None
    value = given[0]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and one.low <= value <= one.high else None


def params_of(space: Space, values: Iterable[Any]) -> dict[str, Any] | None:
    """What an adviser's answer means; None: it is no answer to what was asked."""
    given = list(values)
    chosen: list[Sequence[Any]] = []
    for one in space.dimensions:
        if one.constant:
            chosen.append(one.at(0.0))
            continue
        value = given.pop(0) if given else None
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return None
        if one.kind is Kind.CHOICE:
            if not isinstance(value, int) or not 0 <= value < len(one.choices):
                return None
            chosen.append(one.choices[value])
        elif one.kind is Kind.INT:
            chosen.append((min(int(one.high), max(int(one.low), round(value))),))
        else:
            rounded = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
            chosen.append((min(float(one.high), max(float(one.low), rounded)),))
    return None if given else space.params(chosen)
