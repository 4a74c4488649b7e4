"""A whole sweep on a virtual clock: real workers over a store that loses answers, on machines that die, hang and come back.

What is checked needs no knowledge of the protocol: every cell ends exactly once, the results are complete and agree with the heads, the
sweep ends as its cells did, no machine is left, and what the machines cost is not more than they may.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from functools import partial
from random import Random
from typing import Any, cast

from outlast.agent.bench import Leaving
from outlast.agent.sweep import work
from outlast.agent.sweep_terms import (
    AHEAD_SECONDS,
    AHEAD_SHARE,
    LEAVE_SECONDS,
    WORK_SECONDS_MIN,
    paid_no_more,
    share_usd_min,
)
from outlast.dataclass import dataclass
from outlast.errors import StoreError
from outlast.folder import life
from outlast.folder.bills import Bills, lives, seconds_of
from outlast.folder.folder import Folder
from outlast.folder.layout import JobKeys, SweepKeys
from outlast.folder.records import LaunchRecord, Request, State, SweepLaunch
from outlast.folder.sweep import SweepFolder
from outlast.folder.sweep_records import Grid, Row, as_text
from outlast.spec.record import encode
from outlast.spec.spec import Provenance, Spec, Sweep, Target, TargetKind
from outlast.store.retry import Retrying
from outlast.store.store import Store
from outlast.testing.simulation.bucket import Bucket
from outlast.testing.simulation.clock import EPOCH, SimulatedClock
from outlast.testing.simulation.history import History, Write
from outlast.testing.simulation.schedule import Actor, Schedule
from outlast.testing.simulation.store import Cut, SimulatedStore, Weather
from outlast.testing.simulation.sweep_bench import SimulatedBench
from outlast.testing.simulation.sweep_meter import RENTED, USD_PER_HOUR, Meter
from outlast.testing.simulation.sweep_options import SweepOptions

SWEEP = "lr"
POLL_SECONDS = 1.0
GRACE_SECONDS = 75.0
RETRY_SECONDS = 30.0
"""For how long one request is tried, as by the client of a bucket (`google/transport.py`)."""

REFUSED_SECONDS = 5.0
"""From a group's refusal to let a machine go until the agent is there again that watches what it costs."""

FAULTS = ("die", "die", "kill agent", "notice", "zombie", "cut", "cut and die", "starve")


@dataclass
class SweepMachine:
    launch: int
    rank: int
    boot: int
    bench: SimulatedBench
    cut: Cut = field(default_factory=Cut)
    actor: Actor | None = None
    agents: int = 0
    born_at: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.launch}-{self.rank}-{self.boot}"


class SweepWorld:
    def __init__(self, options: SweepOptions, *, tracing: bool = False) -> None:
        self.options = options
        self.random = Random(f"world {options.seed}")
        self.schedule = Schedule(Random(f"schedule {options.seed}"))
        self.history = History(lambda: self.schedule.now, tracing)
        self.bucket = Bucket(self.history)
        self.weather = Weather()
        self.machines: dict[int, SweepMachine | None] = {}
        self.zombies: list[SweepMachine] = []
        self.spare: set[int] = set()
        self.launch = 1
        self.over = False
        self.stopped = False
        self.faults_on = True
        self.succeeded: Counter[str] = Counter()
        self.meter = Meter()
        share_usd = (options.share_seconds or 0.0) * USD_PER_HOUR / 3600
        self.limit_usd = share_usd * options.workers or None
        self.history.listeners.append(self._listen)

    # Its beginning.

    def submit(self) -> None:
        options = self.options
        spec = Spec(
            job=SWEEP,
            name=SWEEP,
            target=Target(TargetKind.SCRIPT, "train.py"),
            bundle="b" * 64,
            python="/usr/bin/python3",
            provenance=Provenance("simulation"),
            submitted_at=EPOCH,
            cells=Sweep(),
            workers=options.workers,
        )
        record = self.record(1)
        grid = Grid(1, 1, options.cells, as_text({"n": list(range(1, options.cells + 1))}))
        keys = JobKeys(SWEEP)
        for key, one in (
            (keys.spec, spec),
            (SweepKeys(SWEEP).grid(1), grid),
            (keys.launch(1), record),
            (keys.head, life.begun(SWEEP, record, ())),
        ):
            self.bucket.put(key, encode(one), 0, by="laptop", sent_at=0.0)
        self._boot_all()
        self.schedule.after(self.random.uniform(1.0, 20.0), self._trouble)
        self.schedule.after(options.fault_seconds, self._calm)
        if options.stop_at is not None:
            self.schedule.after(options.stop_at, self._stop)

    def record(self, launch: int) -> LaunchRecord:
        return LaunchRecord(
            launch,
            f"{launch}" * 16,
            "cloud",
            self.options.workers,
            RENTED,
            EPOCH,
            EPOCH + 7 * 86400,
            "b" * 64,
            usd_per_hour=USD_PER_HOUR,
            max_cost_usd=self.limit_usd,
            cells=SweepLaunch(1),
        )

    # Machines.

    def _boot_all(self) -> None:
        for rank in range(self.options.workers):
            self.schedule.after(self.random.uniform(0.0, 30.0), partial(self._boot, self.launch, rank, 1))

    def _boot(self, launch: int, rank: int, boot: int) -> None:
        if self.over or rank in self.spare or launch != self.launch:
            return
        bench = SimulatedBench(self.schedule, self.options.cell_seconds, self.options.bad)
        machine = SweepMachine(launch, rank, boot, bench, born_at=self.schedule.now)
        self.machines[rank] = machine
        self.meter.booted(machine.name, self.schedule.now)
        self._start_agent(machine)

    def _boot_next(self, machine: SweepMachine) -> None:
        self._boot(machine.launch, machine.rank, machine.boot + 1)

    def _start_agent(self, machine: SweepMachine) -> None:
        if machine.bench.dead or self.over:
            return
        machine.agents += 1
        name = f"{machine.name}/{machine.agents}"
        machine.actor = self.schedule.spawn(
            name, lambda: self._work(machine, name), lambda actor: self._ended(machine, actor)
        )

    def _work(self, machine: SweepMachine, name: str) -> Leaving:
        random = Random(f"{self.options.seed} {name}")
        clock = SimulatedClock(self.schedule)
        folder = Folder(self._store(name, random, clock, machine.cut), SWEEP, random)
        while True:
            try:
                spec, launch = folder.read_spec(), folder.read_launch(machine.launch)
                return work(
                    folder=folder,
                    spec=spec,
                    launch=launch,
                    worker=machine.rank,
                    machine=f"{launch.id}-{machine.rank}-{machine.boot}",
                    bench=machine.bench,
                    clock=clock,
                    random=random,
                    born_at=machine.born_at,
                )
            except StoreError:
                if self.limit_usd is not None and paid_no_more(machine.bench.paid, machine.born_at, clock):
                    return Leaving.AGAIN
                clock.sleep(random.uniform(1.0, 10.0))

    def _store(self, name: str, random: Random, clock: SimulatedClock, cut: Cut) -> Store:
        store = SimulatedStore(
            bucket=self.bucket,
            schedule=self.schedule,
            history=self.history,
            weather=self.weather,
            cut=cut,
            random=random,
            name=name,
            poll_seconds=POLL_SECONDS,
            chunk_seconds=0.1,
        )
        return Retrying(store, clock, random, seconds_max=RETRY_SECONDS)

    def _ended(self, machine: SweepMachine, actor: Actor) -> None:
        if actor.error is not None:
            self.history.violated(f"the agent {actor.name} crashed: {actor.error!r}")
            return
        if actor.result is Leaving.AGAIN and machine.cut.on:
            self.history.fault("left unpaid", machine.name)
        replaced = machine in self.zombies
        if actor.result is Leaving.SPARE and self.options.refused and not replaced and machine.launch == self.launch:
            self._stay(machine)
            return
        machine.bench.die()
        if replaced:
            self.zombies.remove(machine)
        else:
            self._pay(machine, by_itself=True)
            self.machines[machine.rank] = None
        if machine.launch != self.launch:
            return
        if actor.result is Leaving.DONE:
            self._end()
            return
        if actor.result is Leaving.SPARE and not replaced:
            self.spare.add(machine.rank)
        if len(self.spare) == self.options.workers and all(one.launch != self.launch for one in self.zombies):
            self.history.violated("everybody has left, and nobody has ended the sweep")
        elif actor.result is Leaving.AGAIN and not replaced:
            self.schedule.after(self.random.uniform(1.0, 60.0), lambda: self._boot_next(machine))

    def _stay(self, machine: SweepMachine) -> None:
        """It may not leave, which its startup script says in the home; it is paid for, and so its agent is started again."""
        self.history.fault("not let go", machine.name)
        key = f"{JobKeys(SWEEP).boots(machine.launch)}{machine.rank}-{machine.boot}-spare"
        if self.bucket.peek(key) is None and not machine.cut.on:
            self.bucket.put(key, b"403", 0, by="script", sent_at=self.schedule.now)
        self.schedule.after(REFUSED_SECONDS, lambda: self._start_agent(machine))

    def _end(self) -> None:
        """The group ends, and with it whoever is still there; but for those that sleep unseen, if it will be resumed."""
        self.over = True
        sleepers = self.zombies if self.stopped and self.options.resumes else []
        for machine in [*self.machines.values(), *(one for one in self.zombies if one not in sleepers)]:
            if machine is not None and machine.actor is not None:
                self._pay(machine, by_itself=True)
                machine.bench.die()
                self.schedule.kill(machine.actor)
        self.machines = {}
        self.zombies = list(sleepers)

    # Faults.

    def _trouble(self) -> None:
        if not self.faults_on or self.over:
            return
        living = [one for one in self.machines.values() if one is not None]
        if living:
            self._befall(self.random.choice(living), self.random.choice(FAULTS))
        dice = self.random.random()
        self.weather.error_chance = self.weather.lost_chance = self.options.weather if dice < 0.7 else 0.0
        self.weather.late_chance = self.options.weather / 2 if dice < 0.4 else 0.0
        self.schedule.after(self.random.uniform(2.0, 90.0), self._trouble)

    def _befall(self, machine: SweepMachine, fault: str) -> None:
        self.history.fault(fault, machine.name)
        assert machine.actor is not None
        again = self.random.uniform(1.0, 60.0)
        if fault == "kill agent":
            if not machine.actor.alive:
                return  # init starts the next one soon
            self.schedule.kill(machine.actor)
            self.schedule.after(self.random.uniform(0.2, 5.0), lambda: self._start_agent(machine))
        elif fault == "notice":
            machine.bench.give_notice(30.0)
            self.schedule.after(30.0, lambda: self._die(machine, again))
        elif fault == "cut":
            machine.cut.on = True
            self.schedule.after(self.random.uniform(10.0, 400.0), lambda: setattr(machine.cut, "on", False))
        elif fault == "cut and die":
            machine.cut.on = True
            self.schedule.after(self.random.uniform(10.0, 900.0), lambda: self._die(machine, again))
        elif fault == "zombie":
            self._suspend(machine, self.random.uniform(30.0, 500.0), again)
        else:
            self._die(machine, again if fault == "die" else self.random.uniform(600.0, 3000.0))

    def _die(self, machine: SweepMachine, again: float) -> None:
        if self.machines.get(machine.rank) is not machine or machine.actor is None:
            return
        self._pay(machine)
        machine.bench.die()
        self.schedule.kill(machine.actor)
        self.machines[machine.rank] = None
        self.schedule.after(again, lambda: self._boot_next(machine))

    def _suspend(self, machine: SweepMachine, seconds: float, again: float) -> None:
        """It is taken for dead and replaced, and wakes up later."""
        assert machine.actor is not None
        actor = machine.actor
        self._pay(machine)
        self.schedule.pause(actor)
        self.machines[machine.rank] = None
        self.zombies.append(machine)
        self.schedule.after(seconds, lambda: self.schedule.unpause(actor))
        self.schedule.after(again, lambda: self._boot_next(machine))

    def _pay(self, machine: SweepMachine, *, by_itself: bool = False) -> None:
        self.meter.gone(machine.name, self.schedule.now, by_itself=by_itself)

    def _calm(self) -> None:
        self.faults_on = False
        self.weather.clear()

    # The user.

    def _stop(self) -> None:
        """The wish; and after the grace, by force."""
        if not self.over:
            self.stopped = True
            key = JobKeys(SWEEP).request(1, "stop", "f" * 16)
            self.bucket.put(key, encode(Request("stop", 1, EPOCH + self.schedule.now)), 0, by="laptop", sent_at=0.0)
            self.schedule.after(GRACE_SECONDS, self._force)

    def _force(self) -> None:
        if self.over or not self.stopped:
            return
        folder = self._folder()
        at = folder.read_head()
        if not at.head.state.final:
            folder.swap(at, life.final(at.head, State.STOPPED, EPOCH + self.schedule.now), "force")
        self._end()

    def _may_resume(self) -> bool:
        """What pays for no work is refused."""
        folder = self._folder()
        if folder.read_head().head.state is not State.STOPPED:
            return False
        left_usd = (self.limit_usd or 1e9) - Bills(folder).spent_usd(EPOCH + self.schedule.now)
        return left_usd / self.options.workers >= share_usd_min(USD_PER_HOUR)

    def _resume(self) -> None:
        self.launch, self.over, self.stopped, self.faults_on = 2, False, False, True
        self.spare = set()
        folder, record = self._folder(), self.record(2)
        key = JobKeys(SWEEP).launch(2)
        self.bucket.put(key, encode(record), 0, by="laptop", sent_at=self.schedule.now)
        at = folder.read_head()
        folder.swap(at, life.relaunched(at.head, record), "resume")
        self._boot_all()
        self.schedule.after(self.random.uniform(1.0, 20.0), self._trouble)
        self.schedule.after(self.options.fault_seconds, self._calm)

    def _folder(self) -> Folder:
        """The sweep's, by somebody whom nothing befalls."""
        return Folder(cast(Store, _Plain(self.bucket, self.schedule)), SWEEP, Random(0))

    # What is checked.

    def _listen(self, write: Write) -> None:
        if "/cells/" in write.key and write.key.endswith("head.json") and write.data is not None:
            head = json.loads(write.data)
            state, launch = head["state"], head["launch"]
            before, launch_before = self._last.get(write.key, ("", 0))
            self._last[write.key] = state, launch
            if state == "succeeded" and before != "succeeded":
                self.succeeded[write.key] += 1
            if (before == "succeeded" or (before == "failed" and launch == launch_before)) and state != before:
                self.history.violated(f"{write.key} was {before} and is {state}")
            if launch < launch_before:
                self.history.violated(f"{write.key} was of launch {launch_before} and is of {launch}")

    _last: dict[str, tuple[str, int]]

    def run(self) -> list[str]:
        self._last = {}
        self.submit()
        options = self.options
        limit = options.fault_seconds + 3000.0 + 600.0 + options.cells * (options.cell_seconds + 60.0) * 3
        self.schedule.run(limit, lambda: self.over or bool(self.history.violations))
        if self.over and self.stopped and options.resumes and self._may_resume():
            self._resume()
            self.schedule.run(self.schedule.now + limit, lambda: self.over or bool(self.history.violations))
        if not self.history.violations:
            self._judge(limit)
        self.schedule.close()
        return self.history.violations

    def _judge(self, limit: float) -> None:
        folder = self._folder()
        head = folder.read_head().head
        if not self.over or not head.state.final:
            self.history.violated(f"liveness: after {limit:.0f} s the sweep is {head.state.value}")
            return
        if self.limit_usd is not None and (why := self.meter.too_dear(self.limit_usd)):
            self.history.violated(why)
        if self.stopped:
            return
        rows = SweepFolder(folder).rows(1)
        if head.state is State.EXPIRED and self.limit_usd is not None:
            self._judge_expired(folder, rows)
            return
        wanted = State.FAILED if any(row.state == "failed" for row in rows.values()) else State.SUCCEEDED
        if head.state is not wanted:
            self.history.violated(f"the sweep is {head.state.value}, not {wanted.value}: {head.reason}")
        for cell in range(1, self.options.cells + 1):
            state = "failed" if cell in self.options.bad else "succeeded"
            if cell in rows and rows[cell].attempts >= life.BARREN_MAX_BEFORE_FIRST:
                continue  # nothing is ever saved here, and it was killed too often
            if cell in rows and rows[cell].state == State.EXPIRED.value and self.limit_usd is not None:
                continue  # its worker's money was spent
            if cell not in rows or rows[cell].state != state:
                self.history.violated(f"cell {cell} has the row {rows.get(cell)}, not one that {state}")
            key = f"{SweepKeys(SWEEP).cells}{cell:06d}/head.json"
            if self.succeeded[key] != (0 if cell in self.options.bad else 1):
                self.history.violated(f"cell {cell} succeeded {self.succeeded[key]} times")

    def _judge_expired(self, folder: Folder, rows: Mapping[int, Row]) -> None:
        """Nobody who could have begun what was not begun has any money left, and what has ended has ended well."""
        wrong = {
            cell: row.state for cell, row in rows.items() if cell not in self.options.bad and row.state == "failed"
        }
        if any(row.attempts < life.BARREN_MAX_BEFORE_FIRST for cell, row in rows.items() if cell in wrong):
            self.history.violated(f"cells have failed: {wrong}")
        if self.options.refused:
            return  # those who could have gone on have paid for those who could not leave
        found = lives(Bills(folder).of_launch(self.record(self.launch).id))
        spent = Counter({rank: int(sum(seconds_of(chain, 1e12))) for (_, rank), chain in found.items()})
        share = self.options.share_seconds or 0.0
        # Of a machine that slept in its place a worker has read what was written ahead.
        enough = LEAVE_SECONDS + WORK_SECONDS_MIN + max(AHEAD_SECONDS, AHEAD_SHARE * share)
        rich = [one for one in range(self.options.workers) if share - spent[one] > enough]
        if rich and len(rows) < self.options.cells and self.launch == 1:
            self.history.violated(f"workers {rich} had money left: {dict(spent)} of {share} s")


class _Plain:
    """As much of a store as a folder needs to read and swap."""

    url = "memory:simulation"

    def __init__(self, bucket: Bucket, schedule: Schedule) -> None:
        self._bucket = bucket
        self._schedule = schedule

    def get(self, key: str) -> Any:
        return self._bucket.get(key)

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        return self._bucket.put(key, data, if_generation, by="laptop", sent_at=self._schedule.now)

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Any:
        return iter(self._bucket.list(prefix, after, limit))

    def now(self) -> float:
        return EPOCH + self._schedule.now


def run_sweep(seed: int, *, poor: bool = False, tracing: bool = False) -> SweepWorld:
    options = SweepOptions.draw_poor(seed) if poor else SweepOptions.draw(seed)
    world = SweepWorld(options, tracing=tracing)
    world.run()
    return world
