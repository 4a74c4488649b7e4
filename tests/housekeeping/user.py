"""A user whose home is in memory, and an engine that only writes down what it was told: for tests of what stands in the home."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from outlast.clock import SYSTEM
from outlast.engines.engine import Capabilities, Condition, Launch, LaunchState, Room
from outlast.folder import life
from outlast.folder.records import State
from outlast.jobs.asked import Asked
from outlast.jobs.job import Job
from outlast.jobs.submit import submit
from outlast.jobs.world import World
from outlast.spec.spec import Machine
from outlast.store.memory import MemoryStore
from outlast.store.store import Store

DAY = 86400.0


class NoMachines:
    name = "local"
    capabilities = Capabilities(gpus=False, same_machine=True, preempts=False)

    def __init__(self) -> None:
        self.started: set[str] = set()
        self.stopped: set[str] = set()

    def room(self, machine: Machine) -> Room:
        return Room(1, "there is none")

    def check(self, machine: Machine, workers: int) -> None:
        return

    def start(self, launch: Launch) -> None:
        self.started.add(launch.id)

    def state(self, launch: Launch) -> LaunchState:
        return LaunchState(Condition.WAITING if launch.id in self.started else Condition.ABSENT)

    def stop(self, launch: Launch) -> None:
        self.stopped.add(launch.id)

    def enter(
        self, launch: Launch, command: tuple[str, ...], ports: tuple[int, ...], worker: int | None = None
    ) -> list[str] | None:
        return None

    def preempt(self, launch: Launch, *, notice_seconds: float) -> bool:
        return False


@dataclass
class User:
    directory: Path
    store: MemoryStore = field(default_factory=MemoryStore)
    engine: NoMachines = field(default_factory=NoMachines)
    datasets: tuple[str, ...] = ()

    @property
    def work(self) -> Path:
        return self.directory / "work"

    def world(self, wrap: Callable[[Store], Store] = lambda store: store, user: str = "user") -> World:
        user_dir = self.directory / user
        user_dir.mkdir(mode=0o700, exist_ok=True)
        return World(
            clock=SYSTEM,
            random=Random(os.urandom(8)),
            user_dir=user_dir,
            open_store=lambda url: wrap(self.store),
            make_engine=lambda name: self.engine,
            environ=os.environ,
        )

    def asked(self, job_id: str) -> Asked:
        return Asked(target="train.py", directory=str(self.work), job_id=job_id, datasets=self.datasets)

    def job(self, job_id: str) -> Job:
        return Job.of(self.world().home(), job_id)

    def finished(self, job_id: str, *, days_ago: float = 100.0, state: State = State.SUCCEEDED) -> Job:
        """Submitted, and over since then."""
        job = submit(self.world(), self.asked(job_id)).job
        at = job.folder.read_head()
        final = replace(
            life.final(at.head, state, self.store.now() - days_ago * DAY), ended_at=self.store.now() - days_ago * DAY
        )
        assert job.folder.swap(at, final, "end") is not None
        return job


def make_user(tmp_path: Path) -> User:
    user = User(tmp_path)
    user.work.mkdir()
    (user.work / "train.py").write_text("print('hello')\n")
    (user.work / "other.py").write_text("# " + "x" * 2000 + "\n")
    return user
