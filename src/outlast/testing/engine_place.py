"""One user on one computer, with an engine over a program that writes down what happens to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from random import Random

from outlast.clock import SYSTEM
from outlast.engines.engine import Condition, Engine, Launch
from outlast.host import system
from outlast.spec.spec import Machine
from outlast.store.registry import open_store

PROGRAM = "outlast.testing.engine_program:boot"
PATIENCE_SECONDS = 90.0
"""How long is waited for what must happen; on a machine with nothing else to do nothing takes nearly as long."""

LOOK_SECONDS_MIN, LOOK_SECONDS_MAX = 0.005, 1.0
IDLE_PER_LOOK = 4.0
"""Where a look is dear, the most of the time is left to what is waited for."""

MakeEngine = Callable[[Path, str], Engine]
"""(the user's directory, the program of a machine as `module:function`) -> a new handle on the engine."""


class Place:
    """One user on one computer."""

    agent = ""
    """The key of what its machines fetch and run, where they have nothing."""

    queued = 50
    """How many launches there are at once, where there are many."""

    rounds = 10
    """How often what may race is tried."""

    remembers_ends = True
    """A launch that has finished by itself is not started by another `start`: whoever else calls it reads the job's head before."""

    def __init__(self, scratch: Path, make_engine: MakeEngine) -> None:
        self.scratch = scratch
        self.make_engine = make_engine
        self.home = self.make_home()
        self._numbers = itertools.count(1)

    def make_home(self) -> str:
        home = self.scratch / "home"
        home.mkdir(parents=True, exist_ok=True)
        return str(home)

    def machine(self, cpus: int) -> Machine:
        return Machine(cpus=cpus)

    def engine(self) -> Engine:
        return self.make_engine(self.scratch / "user", PROGRAM)

    def launch(
        self, do: str, *, workers: int = 1, seconds: float = 600.0, cpus: int = 1, independent: bool = False
    ) -> Launch:
        number = next(self._numbers)
        return Launch(
            home=self.home,
            job=f"job-{number}",
            launch=1,
            id=f"{Random().getrandbits(48):012x}",
            workers=workers,
            machine=self.machine(cpus),
            deadline_at=SYSTEM.now() + seconds,
            labels={"do": do},
            agent=self.agent,
            boots=f"boots/{number}/",
            independent=independent,
        )

    def events(self, launch: Launch, what: str) -> list[tuple[str, int]]:
        """(machine, process) of everything of that kind that its machines wrote down."""
        return [(words[1], int(words[2])) for words in self._lines(launch) if words[0] == what]

    def moments(self, launch: Launch) -> list[float]:
        return [float(words[3]) for words in self._lines(launch)]

    def _lines(self, launch: Launch) -> list[list[str]]:
        store = open_store(self.home)
        entries = list(store.list(f"{launch.id}.events/"))
        return [store.get(entry.key).data.decode().split() for entry in entries]

    def let_go(self, launch: Launch) -> None:
        open_store(self.home).put(f"{launch.id}.go", b"go")

    def other(self) -> Place:
        """Another user, with a home of his own."""
        return Place(self.scratch / "other", self.make_engine)

    def named(self, launch: Launch) -> Launch:
        """What a user of this place would take another place's launch for."""
        return launch

    def alive(self, machine: str, process: int) -> bool:
        """Of what a machine has written down as its own."""
        return alive(process)


def until(condition: Callable[[], object], what: str) -> None:
    give_up_at = SYSTEM.monotonic() + PATIENCE_SECONDS
    looked_at = SYSTEM.monotonic()
    while not condition():
        now = SYSTEM.monotonic()
        assert now < give_up_at, f"in vain: {what}"
        SYSTEM.sleep(min(LOOK_SECONDS_MAX, max(LOOK_SECONDS_MIN, (now - looked_at) * IDLE_PER_LOOK)))
        looked_at = SYSTEM.monotonic()


def ended(engine: Engine, launch: Launch) -> bool:
    return not engine.state(launch).alive


def running(engine: Engine, launch: Launch) -> bool:
    return engine.state(launch).condition is Condition.RUNNING


def alive(process: int) -> bool:
    """Of this computer's."""
    return bool(system.start_time(process))
