"""A sweep's cells as a person asks for them: the state of each, what it found, how many are done, which is best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from outlast.dataclass import dataclass
from outlast.folder.cells import Cells
from outlast.folder.folder import Folder
from outlast.folder.records import LaunchRecord, State, SweepLaunch
from outlast.folder.sweep import GOOD, Progress, SweepFolder, read_progress
from outlast.folder.sweep_records import Row
from outlast.results.cell import RunningCell, look_at
from outlast.spec.spec import Spec
from outlast.spec.sweep.goal import falls

RUNNING, WAITING, MISSING = "running", "waiting", "missing"
"""States of cells that have not ended; `missing`: the sweep has, without it."""


@dataclass(frozen=True)
class Counts:
    cells: int
    done: int
    failed: int
    stopped: int
    """Or out of time or money: they go on where they were."""

    running: int

    @property
    def waiting(self) -> int:
        return self.cells - self.done - self.failed - self.stopped - self.running

    def document(self) -> dict[str, int]:
        return {
            "total": self.cells,
            "done": self.done,
            "failed": self.failed,
            "stopped": self.stopped,
            "running": self.running,
            "waiting": self.waiting,
        }


NOTHING: Mapping[str, float] = {}


class Cell(NamedTuple):
    number: int
    params: Mapping[str, Any]
    state: str
    """As its row says it (`succeeded`, `failed`, `stopped`, `expired`, `early`), or `running`, `waiting`, `missing`."""

    metrics: Mapping[str, float] = NOTHING
    step: int | None = None
    usd: float = 0.0
    seconds: float = 0.0
    attempts: int = 0
    preemptions: int = 0
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    reason: str = ""
    args: Sequence[str] = ()
    """The script's own, which stand before its parameters."""

    @property
    def ended(self) -> bool:
        return self.state not in (RUNNING, WAITING, MISSING)

    def document(self) -> dict[str, Any]:
        """One of `show SWEEP --json` and of `results --json`."""
        return {
            "cell": self.number,
            "state": self.state,
            "args": list(self.args),
            "params": dict(self.params),
            "metrics": dict(self.metrics),
            "step": self.step,
            "cost_usd": round(self.usd, 6),
            "seconds": round(self.seconds, 3),
            "attempts": self.attempts,
            "preemptions": self.preemptions,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "exit_code": self.exit_code,
            "why": self.reason or None,
        }


@dataclass(frozen=True)
class Seen:
    """A sweep's records, read once: few objects, however many cells there are."""

    sweep: SweepFolder
    spec: Spec
    record: LaunchRecord
    cells: Cells
    progress: Progress
    earlier: tuple[Row, ...]
    """Of turns before the present one: what they have cost was paid."""

    final: bool

    def state(self, cell: int) -> str:
        row = self.progress.rows.get(cell)
        if row is not None and (self.final or self.progress.settled(cell)):
            return row.state
        if self.final:
            return MISSING
        return RUNNING if cell in self.progress.claims else WAITING

    def running(self) -> list[int]:
        return [] if self.final else self.progress.unfinished()

    def counts(self) -> Counts:
        ended = [row for cell, row in self.progress.rows.items() if self.final or self.progress.settled(cell)]
        good = sum(1 for row in ended if row.state in GOOD)
        failed = sum(1 for row in ended if row.state == State.FAILED.value)
        return Counts(len(self.cells), good, failed, len(ended) - good - failed, len(self.running()))

    def look_at_running(self, now: float, *, metrics: bool) -> dict[int, RunningCell]:
        turn = (self.record.cells or SweepLaunch(1)).turn
        return {
            cell: look_at(self.sweep.folder, self.spec, self.record, cell, turn, now, metrics=metrics)
            for cell in self.running()
        }


def see(folder: Folder, spec: Spec, record: LaunchRecord, *, final: bool) -> Seen:
    """Claims before rows: a cell that was claimed and has ended since is found to have ended."""
    assert spec.cells is not None
    asked = record.cells or SweepLaunch(1)
    sweep = SweepFolder(folder)
    cells = sweep.cells(spec.cells, asked.grids)
    claims = sweep.claims(record.launch)
    newest = sweep.newest_rows()
    rows = {cell: row for (turn, cell), row in newest.items() if turn == asked.turn}
    earlier = tuple(row for (turn, _), row in newest.items() if turn != asked.turn)
    progress = Progress(len(cells), rows, claims, record.launch, asked.failed_too)
    return Seen(sweep, spec, record, cells, progress, earlier, final)


def counts(folder: Folder, spec: Spec, record: LaunchRecord, *, final: bool = False) -> Counts:
    return see(folder, spec, record, final=final).counts()


def cells_that_run(folder: Folder, record: LaunchRecord) -> list[int]:
    """Or were begun, by machines that are dead by now."""
    return read_progress(SweepFolder(folder), record, 0).unfinished()


def counts_words(found: Counts) -> str:
    words = [f"{found.done:,} of {found.cells:,} {'cell' if found.cells == 1 else 'cells'} done"]
    said = {"failed": found.failed, "stopped": found.stopped, "running": found.running}
    return ", ".join([*words, *(f"{number:,} {word}" for word, number in said.items() if number)])


def table(seen: Seen, running: Mapping[int, RunningCell]) -> list[Cell]:
    """All cells, by number."""
    chosen = seen.cells.chosen
    found = []
    args: Sequence[str] = ()
    firsts = {grid.first: grid.args for grid in seen.cells.grids}
    for number in seen.cells:
        args = firsts.get(number, args)
        state = seen.state(number)
        row = seen.progress.rows.get(number)
        if number in running:
            now = running[number]
            params = seen.cells.params(number, now.params if chosen else None)
            cell = Cell(
                number,
                params,
                state,
                now.metrics,
                now.step,
                now.usd,
                now.seconds,
                now.attempts,
                now.preemptions,
                now.started_at,
                args=args,
            )
        elif row is not None and state == row.state:
            cell = _of_row(row, seen.cells.params(number, row.params if chosen else None), args)
        else:
            cell = Cell(number, seen.cells.params(number), state, usd=row.usd if row is not None else 0.0, args=args)
        found.append(cell)
    return found


def _of_row(row: Row, params: Mapping[str, Any], args: Sequence[str]) -> Cell:
    return Cell(
        row.cell,
        params,
        row.state,
        row.metrics,
        row.step,
        row.usd,
        row.seconds,
        row.attempts,
        row.preemptions,
        row.started_at,
        row.ended_at,
        row.exit_code,
        row.reason,
        args,
    )


def names_of(dictionaries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every name, in the order in which they are met."""
    names: dict[str, None] = {}
    for one in dictionaries:
        if len(one) != len(names) or any(name not in names for name in one):
            names.update(dict.fromkeys(one))
    return list(names)


def ranked(cells: Sequence[Cell], metric: str, goal: str) -> list[Cell]:
    """The best first; what has not succeeded, or never logged it, behind those that have, by number."""
    sign = 1.0 if falls(metric, goal) else -1.0

    def order(cell: Cell) -> tuple[bool, bool, float, int]:
        value = cell.metrics.get(metric)
        known = value is not None and math.isfinite(value)
        return cell.state not in GOOD, not known, sign * value if known and value is not None else 0.0, cell.number

    return sorted(cells, key=order)


def best_of(cells: Iterable[Cell], metric: str, goal: str) -> Cell | None:
    """The first of `ranked`; None: none that succeeded has logged it."""
    found = [cell for cell in cells if cell.state in GOOD and math.isfinite(cell.metrics.get(metric, math.nan))]
    return ranked(found, metric, goal)[0] if found else None


def main_metric(asked: str, said: str, names: Sequence[str]) -> str:
    """What results are sorted by: as asked for now, as the sweep was submitted, else the first that cells log. Empty: there is none."""
    return asked or said or next(iter(names), "")
