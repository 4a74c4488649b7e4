"""One cell, run as a job of its own by the worker that has claimed it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from outlast.agent.bench import Bench, Held
from outlast.agent.child import Child
from outlast.agent.serve import serve
from outlast.agent.standing import AWAY, Offline
from outlast.agent.station import Station
from outlast.agent.sweep_purse import Purse
from outlast.agent.sweep_rows import Rows, row_of
from outlast.clock import Clock
from outlast.dataclass import replace
from outlast.errors import Damaged, NewerFormat
from outlast.folder import life
from outlast.folder.cell import ClaimedCell, cell_spec, of_one_cell
from outlast.folder.records import Head, State
from outlast.folder.sweep_records import Row, Trial


class Study(Protocol):
    """Who chooses parameters by what other cells have found, and ends those that do badly."""

    def choose(self, cell: int) -> Mapping[str, Any]:
        """Parameters for a cell that has none yet."""
        ...

    def watch(self, cell: int, child: Child) -> str:
        """Why the cell that runs is to be ended early; empty: it is not. Called now and then."""
        ...

    def leave(self, cell: int, child: Child) -> None:
        """The cell has ended: a last look at what it has logged."""
        ...

    def ended(self, row: Row, params: Mapping[str, Any]) -> None: ...


class CellRunner:
    def __init__(self, station: Station, bench: Bench, rows: Rows, purse: Purse, study: Study | None) -> None:
        self.station = station
        self.bench = bench
        self.rows = rows
        self.purse = purse
        self.study = study

    def run(self, held: Held) -> Row | None:
        """How it has ended; None: it is another worker's or another launch's, or this machine is going.

        Offline: it is going at once, since it cannot pay.
        """
        station = self.station
        try:
            trial = self._trial(held.cell)
        except Damaged as error:
            # What the search had chosen is not known any more: the cell has failed, and the others go on.
            return Row(held.cell, State.FAILED.value, station.launch.launch, station.turn, reason=error.message)
        folder = self._folder(held.cell, trial)
        child = _Watched(
            self.bench.child(folder.read_spec(), folder.launch), partial(self._tick, held.cell), self.purse
        )
        try:
            done = serve(
                folder=folder,
                launch_id=station.launch.id,
                rank=0,
                machine=station.machine,
                child=child,
                clock=_PaidClock(station.clock, self.purse),
                random=station.random,
                offline_seconds_max=station.offline_seconds_max,
            )
            if self.study is not None and done:
                self.study.leave(held.cell, child.child)
        except Offline:
            child.child.end()
            raise
        finally:
            self.bench.close(child.child)
        if not done and self.purse.overdue():
            raise Offline  # it has left for that
        return self._row(held.cell, folder, trial) if done else None

    def _folder(self, cell: int, trial: Trial | None) -> ClaimedCell:
        """With as much money as this worker has left."""
        station = self.station
        spec = cell_spec(station.spec, station.cells, cell, trial)
        launch = of_one_cell(station.launch, station.asked, bundle=station.cells.bundle(cell))
        folder = ClaimedCell(station.store, spec, launch, cell, station.random)
        if not self.purse.limited:
            return folder
        try:
            limit_usd = self.purse.limit_usd(self._as_begun(folder))
        except (Damaged, NewerFormat):
            return folder  # it is not begun: what serves it says so
        return ClaimedCell(station.store, spec, replace(launch, max_cost_usd=limit_usd), cell, station.random)

    def _as_begun(self, folder: ClaimedCell) -> Head:
        """As it will be when this machine begins its attempt: one that died before has not cost anything until now."""
        head = folder.read_head().head
        last = head.attempts.get(str(head.attempt))
        if last is None or last.machine == self.station.machine:
            return head
        lost = life.lost(last, folder.read_beat(head.attempt), self.station.store.now())
        return life.ended(head, head.attempt, lost)

    def _row(self, cell: int, folder: ClaimedCell, trial: Trial | None) -> Row | None:
        row = row_of(folder, cell, self.station.launch.launch, self.station.turn)
        if row is None:
            return None
        if trial is not None:
            row = replace(row, params=dict(trial.params))
        if self.study is not None:
            self.study.ended(row, trial.params if trial is not None else {})
        return row

    def _trial(self, cell: int) -> Trial | None:
        """The first who chooses has chosen."""
        station = self.station
        if not station.cells.chosen or self.study is None:
            return None
        trial = station.sweep.read_trial(cell, station.turn)
        if trial is None:
            self.rows.write()  # what this worker has found counts too
            asked = Trial(cell, self.study.choose(cell), station.store.now())
            station.folder.create(station.sweep.keys.trial(cell, station.turn), asked)
            trial = station.sweep.read_trial(cell, station.turn)
        return trial

    def _tick(self, cell: int, child: _Watched) -> None:
        try:
            self.rows.write_if_due()
        except AWAY:
            pass  # they are written later; without rows, whoever comes next makes them again
        if self.study is not None and not child.early:
            child.early = self.study.watch(cell, child.child)


class _Watched:
    """A child that lets the worker do its own small duties while a cell runs."""

    def __init__(self, child: Child, tick: Callable[[_Watched], None], purse: Purse) -> None:
        self.child = child
        self.tick = tick
        self.purse = purse
        self.early = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.child, name)

    def wait(self, seconds: float) -> None:
        self.child.wait(seconds)
        self.tick(self)
        self.purse.keep()

    def clear(self, bundle: str) -> None:
        self.purse.reserve()
        self.child.clear(bundle)

    def notice(self) -> float | None:
        """Asked as long as a checkpoint goes up, too."""
        self.purse.keep()
        return self.child.notice()

    def unwanted(self) -> str:
        return self.early


class _PaidClock:
    """A machine's clock by which nobody sleeps longer than the machine is paid for."""

    def __init__(self, clock: Clock, purse: Purse) -> None:
        self.clock = clock
        self.purse = purse

    def now(self) -> float:
        return self.clock.now()

    def monotonic(self) -> float:
        return self.clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self.purse.keep()
