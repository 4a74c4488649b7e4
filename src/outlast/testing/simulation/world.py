"""One schedule: a store, a cloud, users and chaos from one seed; first with faults, then without."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from outlast.agent import serve
from outlast.clock import Clock
from outlast.folder.folder import Folder
from outlast.folder.layout import JobKeys
from outlast.store.retry import Retrying
from outlast.store.store import Store
from outlast.testing.simulation.bucket import Bucket
from outlast.testing.simulation.chaos import Chaos
from outlast.testing.simulation.engine import Cloud
from outlast.testing.simulation.history import History
from outlast.testing.simulation.machine import SimulatedMachine
from outlast.testing.simulation.options import Options
from outlast.testing.simulation.schedule import Schedule
from outlast.testing.simulation.store import Cut, SimulatedStore, Weather
from outlast.testing.simulation.trainer import Habits, Trainers
from outlast.testing.simulation.training import Training
from outlast.testing.simulation.truth import Truth
from outlast.testing.simulation.users import JOB, Users

RETRY_SECONDS_MAX = 20.0

FINAL = ("succeeded", "failed", "stopped", "expired")


class World:
    def __init__(self, options: Options, *, tracing: bool = False) -> None:
        self.options = options
        self.random = Random(f"world {options.seed}")
        self.chaos_random = Random(f"chaos {options.seed}")
        self.schedule = Schedule(Random(f"schedule {options.seed}"))
        self.history = History(lambda: self.schedule.now, tracing)
        self.bucket = Bucket(self.history)
        self.weather = Weather()
        self.keys = JobKeys(JOB)
        self.faults_on = options.fault_seconds > 0.0
        self.faults_end_at = options.fault_seconds
        self.quiet_until = 0.0
        """Until then the store itself was away."""

        self.training = Training(options.steps, options.save_every, f"salt{options.seed}", options.library)
        self.habits = Habits(
            options.step_seconds,
            options.save_seconds,
            options.ignores_notices,
            list(options.bugs),
            options.bug_for_ever_at,
            list(options.out_of_memory),
            list(options.kills),
            list(options.hangs),
        )
        self.truth = Truth(self)
        self.cloud = Cloud(self)
        self.users = Users(self)
        self.chaos = Chaos(self)
        self._trainers: dict[tuple[str, int], Trainers] = {}
        self.head: dict[str, Any] | None = None
        """As it stands in the store; kept by whoever listens to writes."""

        self.head_at = 0.0
        self.deleted = False
        self.storm_ended_at: float | None = None

    # What its parts ask of it.

    def serve(self, machine: SimulatedMachine, who: str) -> bool:
        """The agent's process."""
        random = Random(f"{self.options.seed} {who}")
        store = self.open_store(who, random, machine.clock, machine.cut)
        return serve.serve(
            folder=Folder(store, JOB, random),
            launch_id=machine.launch_id,
            rank=machine.rank,
            machine=machine.name,
            child=machine.child,
            clock=machine.clock,
            random=random,
        )

    def open_store(self, who: str, random: Random, clock: Clock, cut: Cut) -> Store:
        store = SimulatedStore(
            bucket=self.bucket,
            schedule=self.schedule,
            history=self.history,
            weather=self.weather,
            cut=cut,
            random=random,
            name=who,
            poll_seconds=self.options.poll_seconds,
            chunk_seconds=self.options.chunk_seconds,
        )
        if not self.options.retrying:
            return store
        return Retrying(store, clock, random, seconds_max=RETRY_SECONDS_MAX)

    def forget(self) -> None:
        """The job was deleted: what its trainers did is nobody's business any more."""
        self.head = None
        self.deleted = True
        self.truth.written.clear()
        self._trainers.clear()

    def trainers(self, launch_id: str, attempt: int) -> Trainers:
        key = (launch_id, attempt)
        if key not in self._trainers:
            workers = self.spec_workers()
            self._trainers[key] = Trainers(
                attempt, workers, self.training, self.habits, self.schedule, self.history, self.random
            )
        return self._trainers[key]

    def spec_workers(self) -> int:
        return int(self._spec()["workers"])

    def args(self, resumed: bool) -> tuple[str, ...]:
        args = tuple(self._spec()["args"])
        return (*args, "--resume") if resumed else args

    def _spec(self) -> dict[str, Any]:
        spec = self.bucket.peek(self.keys.spec)
        assert spec is not None
        document: dict[str, Any] = json.loads(spec)
        return document

    def happens(self, kind: str) -> bool:
        return self.faults_on and self.random.random() < self.options.chances.get(kind, 0.0)

    def capacity_missing(self, rank: int) -> bool:
        starved = self.faults_on and rank == self.options.starved_rank
        if not starved and not self.happens("no capacity"):
            return False
        self.history.fault("no capacity")
        return True

    def boot_fails(self, launch: int) -> bool:
        return self.happens("boot failed")

    def end_faults(self) -> None:
        self.faults_on = False
        self.weather.clear()
        self.storm_ended_at = self.schedule.now
        self.history.note("the faults end")

    @property
    def stormy(self) -> bool:
        """Requests fail by chance, or all of them do: nobody can be expected to be in time."""
        return self.faults_on and (self.options.stormy or self.weather.down or self.weather.full)

    def calm_since(self) -> float:
        """Since when the store has answered everybody."""
        return max(self.quiet_until, self.storm_ended_at or 0.0)

    def final_state(self) -> str:
        """Head's state if it is final; empty otherwise."""
        state = "" if self.head is None else str(self.head["state"])
        return state if state in FINAL else ""

    # Its life.

    def run(self, until: float) -> None:
        self.chaos.begin()
        self.users.begin()
        self.schedule.run(until, self.done)

    def done(self) -> bool:
        """Nothing will happen any more, or a promise is broken already."""
        if self.history.violations:
            return True
        if self.faults_on or self.users.busy or self.cloud.busy():
            return False
        if self.head is None:
            return True
        return bool(self.final_state()) and self.users.settle()

    def unfinished(self) -> str:
        state = "nothing" if self.head is None else f"{self.head['state']} (attempt {self.head['attempt']})"
        machines = ", ".join(machine.uid for machine in self.cloud.alive())
        commands = ", ".join(command.name for command in self.users.commands if not command.done)
        return f"the job is {state}, machines alive: {machines or 'none'}, commands not done: {commands or 'none'},"

    def close(self) -> None:
        self.schedule.close()
