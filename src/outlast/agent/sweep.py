"""A worker of a sweep: takes one cell after another, and knows when it is not needed any more, and when the sweep is over.

Single-threaded over (clock, store, bench, random), like the rest of the agent.
"""

from __future__ import annotations

from random import Random

from outlast.agent.bench import Bench, Held, Leaving
from outlast.agent.standing import AWAY, OFFLINE_SECONDS_MAX, Offline
from outlast.agent.station import Station
from outlast.agent.sweep_cell import CellRunner, Study
from outlast.agent.sweep_claims import Claims
from outlast.agent.sweep_end import outcome
from outlast.agent.sweep_others import Others
from outlast.agent.sweep_purse import Purse
from outlast.agent.sweep_rows import Rows
from outlast.agent.vigil import DEADLINE_EARLY_SECONDS, DEADLINE_EARLY_SHARE
from outlast.clock import Clock
from outlast.errors import Damaged, KeyMissing, NewerFormat
from outlast.folder import cost, life
from outlast.folder.folder import Folder
from outlast.folder.records import LaunchRecord, State
from outlast.folder.sweep_records import Row
from outlast.spec.spec import Spec


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
    born_at: float | None = None,
    offline_seconds_max: float = OFFLINE_SECONDS_MAX,
) -> Leaving:
    """`time_scale`: of an emulator whose seconds are shorter; `born_at`: since when the machine is up, by its clock; None: just now;
    `offline_seconds_max`: how long it goes on without the store."""
    station = Station(folder, spec, launch, worker, machine, clock, random, born_at, offline_seconds_max)
    return Worker(station, bench, study, time_scale).run()


WATCH_SECONDS = 10.0
"""How often a worker that could not leave its group looks whether all the money is spent."""

KEPT_SECONDS = 60.0
"""So long a worker whose group did not let it go watches, before its machine asks the group again."""


class Worker:
    def __init__(self, station: Station, bench: Bench, study: Study | None, time_scale: float = 1.0) -> None:
        self.station = station
        self.folder = station.folder
        self.launch = station.launch
        self.bench = bench
        self.time_scale = time_scale
        self.claims = Claims(station)
        self.rows = Rows(station.sweep, station.machine, station.clock)
        self.purse = Purse(station, bench)
        self.runner = CellRunner(station, bench, self.rows, self.purse, study)
        self.lost_place = False
        self._ask_again_at = station.clock.monotonic() + KEPT_SECONDS * min(1.0, time_scale)

    def run(self) -> Leaving:
        away_since: float | None = None
        while True:
            try:
                return self._run()
            except AWAY:
                now = self.station.clock.monotonic()
                away_since = now if away_since is None else away_since
                if (
                    now - away_since > self.station.offline_seconds_max
                    or self.bench.notice() is not None
                    or not self._paid()
                ):
                    return Leaving.AGAIN
                self.station.clock.sleep(self.station.random.uniform(0.5, 10.0))
            except Offline:
                return Leaving.AGAIN  # its bill is as it was: no time is lost with a home that does not answer
            except (NewerFormat, Damaged, KeyMissing):
                return Leaving.DONE  # the next command says what is wrong with it; or the sweep is gone

    def _paid(self) -> bool:
        try:
            self.purse.keep()
        except Offline:
            return False
        return True

    def _run(self) -> Leaving:
        """May be called again after any StoreUnavailable."""
        self.purse.open()
        self.rows.write()  # or what this worker has ended would look as if it had not
        self.claims.learn()
        held: Held | Leaving | None = self.bench.held() or self._take_up(self.claims.inherited())
        while True:
            if isinstance(held, Leaving):
                if held is not Leaving.DONE or not self.purse.empty():
                    self.purse.close(spare=held is Leaving.SPARE)
                return held  # without money it ends its group at once: the sweep's end says as well until when it was paid for
            if held is not None:
                self._do(held)
            held = self._over() or self._next() or self._wait_for_others()

    def _over(self) -> Leaving | None:
        """Why this worker leaves, whatever there is to do."""
        head = self.folder.read_head().head
        if head.launch_id != self.launch.id or head.state.final:
            return Leaving.DONE
        if self.lost_place or (self.bench.notice() is not None and not self.purse.empty()):
            self.rows.write()
            return Leaving.AGAIN
        return None  # without money nobody shall come in its place, if it can be helped: it goes on to the sweep's end

    # One cell.

    def _next(self) -> Held | None:
        return self._take_up(self.claims.next()) if self._ending() is None else None

    def _take_up(self, held: Held | None) -> Held | None:
        if held is not None:
            self.bench.take_up(held)
        return held

    def _do(self, held: Held) -> None:
        row = self.runner.run(held)
        if row is not None:
            self._ended(row)
        elif self.bench.notice() is None:
            self.bench.put_down()
            self.lost_place = self.claims.lost(held)
        else:
            self.lost_place = True

    def _ended(self, row: Row) -> None:
        self.claims.ended(row)
        self.rows.add(row)
        self.rows.write_if_due()
        self.bench.put_down()

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
        others = Others(self.station, self.time_scale)
        while True:
            self.claims.learn()
            if (held := self._take_up(self.claims.inherited())) is not None:
                return held
            unfinished = self.claims.progress.unfinished()
            if not unfinished:
                return self._finish()
            if self.purse.empty() and (left := self._without_money(unfinished)) is not None:
                return left
            still = others.look(unfinished, self.claims.newest)
            if still is not None:
                return self._take_up(self.claims.again(still))
            if others.all_alive(unfinished) and not self._watches():
                return Leaving.SPARE
            if (leaving := self._over()) is not None:
                return leaving
            self.purse.renew_if_due()
            others.wait()

    def _without_money(self, unfinished: list[int]) -> Held | Leaving | None:
        """Whoever has them is there, or is made again; here nobody could go on with one, but for saying so. None: wait all the same."""
        self.purse.look_for_idle()
        if self.purse.all_spent():
            return self._take_up(self.claims.again(unfinished[0]))
        if (orphan := self.claims.orphan(unfinished, self.purse.gone())) is not None:
            return self._take_up(self.claims.again(orphan))
        return None if self.purse.trapped else Leaving.SPARE

    def _watches(self) -> bool:
        """This machine has left as well as it could. As long as it is paid for, somebody on it looks at what all of them cost."""
        return self.purse.kept and self.station.clock.monotonic() < self._ask_again_at

    def _finish(self) -> Leaving | None:
        """All that was begun has ended. None: there is something to begin after all."""
        ending = self._ending()
        progress = self.claims.progress
        if progress.to_do and ending is None:
            return None
        if progress.to_do and self.purse.empty() and self.purse.leave_to_others():
            self.purse.look_for_idle()
            if not self.purse.trapped or (self.purse.kept and not self._watches()):
                return Leaving.SPARE
            if not self.purse.all_spent():
                self.station.clock.sleep(WATCH_SECONDS)
                self.purse.renew_if_due()
                return None
        state, reason = outcome(progress, ending)
        at = self.folder.read_head()
        if at.head.launch_id == self.launch.id and not at.head.state.final:
            final = life.final(at.head, state, self.folder.store.now(), reason=reason)
            if self.folder.swap(at, final, f"{self.launch.id}-cells") is None:
                return None
        return Leaving.DONE
