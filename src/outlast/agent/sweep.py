"""A worker of a sweep: claims one cell after another, runs each as a job of its own, and knows when the sweep is over.

Single-threaded over (clock, store, bench, random), like the rest of the agent. A claim says who is likely to run a cell and never
decides: the cell's head does, as any job's. So a wrong guess about a dead worker costs a restart from a checkpoint and nothing else.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, Protocol

from outlast.agent.child import Child
from outlast.agent.serve import serve
from outlast.agent.standing import AWAY, OFFLINE_SECONDS_MAX
from outlast.agent.sweep_purse import Purse
from outlast.agent.sweep_rows import Rows, row_of, seconds_of, who_of, worker_of
from outlast.agent.vigil import DEADLINE_EARLY_SECONDS, DEADLINE_EARLY_SHARE
from outlast.clock import Clock
from outlast.errors import Damaged, KeyMissing, NewerFormat
from outlast.folder import cost, life
from outlast.folder.cell import ClaimedCell, cell_spec, of_one_cell
from outlast.folder.folder import Folder
from outlast.folder.records import Attempt, LaunchRecord, State
from outlast.folder.sweep import GOOD, SweepFolder, read_progress
from outlast.folder.sweep_records import CellClaim, Row, Trial
from outlast.spec.spec import Spec

STILL_SECONDS = 180.0
"""A cell whose head and beat have not changed for so long has lost its worker."""

STILL_SECONDS_MIN = 20.0
"""However short an emulator's seconds are: a beat takes its time."""

RING_SECONDS = 30.0
"""How often a worker that has nothing to do asks those that have for a beat, where beats are rare."""

LOOK_SECONDS = (0.2, 5.0)
"""How often a worker that has nothing to do looks at the others."""

FAILED_NAMED_MAX = 10


class Leaving(enum.Enum):
    DONE = "done"
    """The launch is over."""

    AGAIN = "again"
    """This machine is going; another one shall take its place."""

    SPARE = "spare"
    """This machine is not needed any more; the launch goes on without it."""


@dataclass(frozen=True)
class Held:
    """A cell that this machine runs, and by which of its claims."""

    cell: int
    number: int


class Bench(Protocol):
    """A machine's place for one cell after another."""

    def held(self) -> Held | None:
        """What an earlier life of this agent was at; None: nothing."""
        ...

    def take_up(self, held: Held) -> None:
        """Clears away what the cell before has left; on disk before it returns."""
        ...

    def put_down(self) -> None:
        """The cell has ended, or is another machine's."""
        ...

    def child(self, spec: Spec, launch: LaunchRecord) -> Child: ...

    def close(self, child: Child) -> None: ...

    def notice(self) -> float | None:
        """Seconds until this machine is taken away, if it was told so."""
        ...


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


def work(
    *,
    folder: Folder,
    spec: Spec,
    launch: LaunchRecord,
    worker: int,
    machine: str,
    bench: Bench,
    clock: Clock,
    random: Random,
    study: Study | None = None,
    time_scale: float = 1.0,
) -> Leaving:
    """`time_scale`: of an emulator whose seconds are shorter."""
    still_seconds = STILL_SECONDS if time_scale >= 1 else max(STILL_SECONDS_MIN, STILL_SECONDS * time_scale)
    return Worker(folder, spec, launch, worker, machine, bench, clock, random, study, still_seconds).run()


class Worker:
    def __init__(
        self,
        folder: Folder,
        spec: Spec,
        launch: LaunchRecord,
        worker: int,
        machine: str,
        bench: Bench,
        clock: Clock,
        random: Random,
        study: Study | None,
        still_seconds: float = STILL_SECONDS,
    ) -> None:
        assert spec.cells is not None and launch.cells is not None
        self.sweep = SweepFolder(folder)
        self.folder = folder
        self.spec = spec
        self.asked = spec.cells
        self.launch = launch
        self.part = launch.cells
        self.workers = launch.workers * self.asked.per_machine
        self.worker = worker
        self.machine = machine
        self.bench = bench
        self.clock = clock
        self.random = random
        self.study = study
        self.cells = self.sweep.cells(self.asked, self.part.grids)
        self.rows = Rows(self.sweep, machine, clock)
        self.purse = Purse(launch, self.workers, worker)
        self.still_seconds = still_seconds
        self.paid_until = clock.monotonic()
        """What this worker's machine has cost until then is in rows."""

        self.lost_place = False
        self._from = 1
        """No cell before it is free."""

    def run(self) -> Leaving:
        away_since: float | None = None
        while True:
            try:
                return self._run()
            except AWAY:
                now = self.clock.monotonic()
                away_since = now if away_since is None else away_since
                if now - away_since > OFFLINE_SECONDS_MAX or self.bench.notice() is not None:
                    return Leaving.AGAIN
                self.clock.sleep(self.random.uniform(0.5, 10.0))
            except (NewerFormat, Damaged, KeyMissing):
                return Leaving.DONE  # the next command says what is wrong with it; or the sweep is gone

    def _run(self) -> Leaving:
        """May be called again after any StoreUnavailable."""
        self._learn()
        held: Held | Leaving | None = self.bench.held() or self._inherited()
        while True:
            if isinstance(held, Leaving):
                return held
            if held is not None:
                self._do(held)
            held = self._over() or self._next() or self._wait_for_others()

    def _learn(self) -> None:
        self.progress = read_progress(self.sweep, self.launch, len(self.cells))
        self.claims = dict(self.progress.claims)
        self.purse.count(self.progress.rows.values(), self.progress.earlier_usd)
        self._from = 1

    def _over(self) -> Leaving | None:
        """Why this worker leaves, whatever there is to do."""
        head = self.folder.read_head().head
        if head.launch_id != self.launch.id or head.state.final:
            return Leaving.DONE
        if self.bench.notice() is not None or self.lost_place:
            self.rows.write()
            return Leaving.AGAIN
        return None

    # Which cell.

    def _inherited(self) -> Held | None:
        """A cell of this worker's that it does not know of: of a machine that died in its place, or of a claim whose answer was lost."""
        for cell in self.progress.unfinished():
            number = self.claims[cell]
            claim = self.sweep.read_claim(self.launch.launch, cell, number)
            if claim.worker != self.worker:
                continue
            if claim.machine == self.machine:
                return self._take_up(Held(cell, number))
            if (held := self._claim(cell, number + 1)) is not None:
                return held
        return None

    def _next(self) -> Held | None:
        """One of the first that nobody is known to have: each worker tries another one, and the order is kept nearly."""
        if self._ending() is not None:
            return None
        while window := self._free():
            held = self._claim(self.random.choice(window), 1)
            if held is not None:
                return held
        return None

    def _free(self) -> list[int]:
        found: list[int] = []
        cell = self._from
        while cell <= len(self.cells) and len(found) < self.workers:
            if cell not in self.claims and not self.progress.settled(cell):
                found.append(cell)
            elif not found:
                self._from = cell + 1
            cell += 1
        return found

    def _claim(self, cell: int, number: int) -> Held | None:
        claim = CellClaim(self.machine, self.worker, self.folder.store.now())
        self.claims[cell] = max(number, self.claims.get(cell, 0))
        if not self.sweep.claim(self.launch.launch, cell, number, claim):
            return None
        return self._take_up(Held(cell, number))

    def _take_up(self, held: Held) -> Held:
        self.bench.take_up(held)
        return held

    # One cell.

    def _do(self, held: Held) -> None:
        try:
            trial = self._trial(held.cell)
        except Damaged as error:
            # What the search had chosen is not known any more: the cell has failed, and the others go on.
            row = Row(held.cell, State.FAILED.value, self.launch.launch, self.part.turn, reason=error.message)
            self._ended(row)
            return
        spec = cell_spec(self.spec, self.cells, held.cell, trial)
        launch = of_one_cell(self.launch, self.asked, bundle=self.cells.bundle(held.cell))
        folder = ClaimedCell(self.folder.store, spec, launch, held.cell, self.random)
        if self.launch.max_cost_usd is not None:
            head, now = folder.read_head().head, self.folder.store.now()
            mine = {number: one for number, one in head.attempts.items() if self._is_mine(one)}
            left = self.purse.left_usd - cost.spent_usd(replace(head, attempts=mine), now)
            launch = replace(launch, max_cost_usd=cost.spent_usd(head, now) + max(0.0, left))
            folder = ClaimedCell(self.folder.store, spec, launch, held.cell, self.random)
        child = _Watched(self.bench.child(spec, launch), partial(self._tick, held.cell))
        try:
            done = serve(
                folder=folder,
                launch_id=self.launch.id,
                rank=0,
                machine=self.machine,
                child=child,
                clock=self.clock,
                random=self.random,
            )
            if self.study is not None and done:
                self.study.leave(held.cell, child.child)
        finally:
            self.bench.close(child.child)
        if not done:
            self._lost(held)
            return
        self._conclude(held, folder, trial)

    def _conclude(self, held: Held, folder: ClaimedCell, trial: Trial | None) -> None:
        row = row_of(folder, held.cell, self.launch.launch, self.part.turn, beside=self._beside)
        if trial is not None:
            row = replace(row, params=dict(trial.params))
        self.paid_until = self.clock.monotonic()
        self._ended(row)
        if self.study is not None:
            self.study.ended(row, trial.params if trial is not None else {})

    def _ended(self, row: Row) -> None:
        self.progress.rows[row.cell] = row
        self.purse.add(row)
        self.rows.add(row)
        self.rows.write_if_due()
        self.bench.put_down()

    def _is_mine(self, attempt: Attempt) -> bool:
        """Of this worker's share, by whichever machine."""
        return attempt.launch == self.launch.launch and worker_of(attempt.machine) == str(self.worker)

    def _beside(self, attempts: list[Attempt]) -> dict[str, float]:
        """What machines have cost beside the attempts of a cell: this one's boot, if this is its first row, and what it did before;
        and the boots of those that died before they had any row."""
        if not self.launch.usd_per_hour:
            return {}
        own = sum(seconds_of(one) for one in attempts if one.machine == self.machine)
        seconds = max(0.0, self.clock.monotonic() - self.paid_until - own)
        seconds += 0.0 if self.rows.any else cost.BOOT_SECONDS
        found = {who_of(self.launch.launch, self.worker): self.purse.usd_of(seconds)}
        others = {one.machine: one for one in attempts if one.machine and one.machine != self.machine}
        known = self.sweep.machines() if others else frozenset()
        for machine, one in others.items():
            if machine not in known:
                who = who_of(one.launch, worker_of(machine))
                found[who] = found.get(who, 0.0) + one.usd_per_hour * cost.BOOT_SECONDS / 3600
        return found

    def _lost(self, held: Held) -> None:
        """Another worker has the cell, or this machine is going. One in this worker's own place: then it has no place any more."""
        if self.bench.notice() is not None:
            return
        self.bench.put_down()
        newest = self.sweep.claims(self.launch.launch).get(held.cell, held.number)
        if newest > held.number:
            claim = self.sweep.read_claim(self.launch.launch, held.cell, newest)
            self.lost_place = claim.worker == self.worker and claim.machine != self.machine
        self.claims[held.cell] = newest

    def _trial(self, cell: int) -> Trial | None:
        """The first who chooses has chosen."""
        if not self.cells.chosen or self.study is None:
            return None
        trial = self.sweep.read_trial(cell, self.part.turn)
        if trial is None:
            self.rows.write()  # what this worker has found counts too
            asked = Trial(cell, self.study.choose(cell), self.folder.store.now())
            self.folder.create(self.sweep.keys.trial(cell, self.part.turn), asked)
            trial = self.sweep.read_trial(cell, self.part.turn)
        return trial

    def _tick(self, cell: int, child: _Watched) -> None:
        try:
            self.rows.write_if_due()
        except AWAY:
            pass  # they are written later; without them, whoever comes next makes them again
        if self.study is not None and not child.early:
            child.early = self.study.watch(cell, child.child)

    # The end.

    def _ending(self) -> tuple[State, str] | None:
        """Why no cell may be begun any more."""
        if self.folder.stop_wished(self.launch.launch):
            return State.STOPPED, ""
        if self.folder.store.now() >= self._last_at:
            return State.EXPIRED, "the launch's time was over"
        if self.purse.empty():
            return State.EXPIRED, cost.reached(cost.rent_of(self.launch))
        return None

    @property
    def _last_at(self) -> float:
        """From then on a cell that runs is told to leave: one that begins would be told at once."""
        length = self.launch.deadline_at - self.launch.launched_at
        return self.launch.deadline_at - min(DEADLINE_EARLY_SECONDS, DEADLINE_EARLY_SHARE * length)

    def _wait_for_others(self) -> Held | Leaving | None:
        """Nothing is left to begin. None: look again."""
        self.rows.write()
        ring_at = self.clock.monotonic() + (0.0 if self.folder.store.write_seconds else self.still_seconds)
        marks: dict[int, tuple[object, float]] = {}
        alive: set[int] = set()
        seconds, seconds_max = LOOK_SECONDS
        while True:
            self._learn()
            if (held := self._inherited()) is not None:
                return held
            unfinished = self.progress.unfinished()
            if not unfinished:
                return self._finish()
            now = self.clock.monotonic()
            for cell in unfinished:
                mark = self._mark(cell)
                before, since = marks.setdefault(cell, (mark, now))
                if before != mark:
                    alive.add(cell)
                elif cell not in alive and now - since >= self.still_seconds:
                    return self._claim(cell, self.claims[cell] + 1)
            if alive.issuperset(unfinished):
                return Leaving.SPARE
            leaving = self._over()
            if leaving is not None:
                return leaving
            if now >= ring_at:
                self.folder.ring()
                ring_at = now + RING_SECONDS
            self.clock.sleep(max(seconds, self.folder.store.poll_seconds))
            seconds = min(seconds_max, seconds * 1.5)

    def _mark(self, cell: int) -> object:
        """Changes as long as somebody runs the cell."""
        folder = ClaimedCell(self.folder.store, replace(self.spec, sweep=self.spec.job), self.launch, cell, self.random)
        at = folder.read_head()
        beat = folder.read_beat(at.head.attempt) if at.head.attempt else None
        return self.claims[cell], at.generation, beat

    def _finish(self) -> Leaving | None:
        """All that was begun has ended. None: there is something to begin after all."""
        ending = self._ending()
        if self.progress.to_do and ending is None:
            return None
        if self.progress.to_do and self.purse.empty() and self.purse.others_have_some():
            return Leaving.SPARE
        state, reason = self._outcome(ending)
        at = self.folder.read_head()
        if at.head.launch_id == self.launch.id and not at.head.state.final:
            final = life.final(at.head, state, self.folder.store.now(), reason=reason)
            if self.folder.swap(at, final, f"{self.launch.id}-cells") is None:
                return None
        return Leaving.DONE

    def _outcome(self, ending: tuple[State, str] | None) -> tuple[State, str]:
        rows = self.progress.rows
        if self.progress.to_do and ending is not None:
            state, reason = ending
            left = f"{self.progress.to_do:,} of {len(self.cells):,} cells have not been begun"
            return state, f"{reason}; {left}" if reason else left
        bad = {cell: row for cell, row in sorted(rows.items()) if row.state not in GOOD}
        if not bad:
            return State.SUCCEEDED, ""
        states = [State(row.state) for row in bad.values()]
        state = next(one for one in (State.FAILED, State.EXPIRED, State.STOPPED) if one in states)
        which = [cell for cell, row in bad.items() if row.state == state.value]
        named = ", ".join(str(cell) for cell in which[:FAILED_NAMED_MAX])
        more = " and others" if len(which) > FAILED_NAMED_MAX else ""
        return state, f"{len(which):,} of {len(self.cells):,} cells {_VERBS[state]}: {named}{more}"


_VERBS = {State.FAILED: "failed", State.EXPIRED: "ran out of time or money", State.STOPPED: "were stopped"}


class _Watched:
    """A child that lets the worker do its own small duties while a cell runs."""

    def __init__(self, child: Child, tick: Callable[[_Watched], None]) -> None:
        self.child = child
        self.tick = tick
        self.early = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.child, name)

    def wait(self, seconds: float) -> None:
        self.child.wait(seconds)
        self.tick(self)

    def unwanted(self) -> str:
        return self.early
