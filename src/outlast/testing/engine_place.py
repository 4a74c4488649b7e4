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

PROGRAM = "outlast.testing.engine_program:boot"
PATIENCE_SECONDS = 30.0
"""How long is waited for what must happen; nothing takes nearly as long."""

MakeEngine = Callable[[Path, str], Engine]
"""(the user's directory, the program of a machine as `module:function`) -> a new handle on the engine."""


class Place:
    """One user on one computer."""

    def __init__(self, scratch: Path, make_engine: MakeEngine) -> None:
        self.scratch = scratch
        self.make_engine = make_engine
        self.home = scratch / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self._numbers = itertools.count(1)

    def engine(self) -> Engine:
        return self.make_engine(self.scratch / "user", PROGRAM)

    def launch(self, do: str, *, workers: int = 1, seconds: float = 600.0, cpus: int = 1) -> Launch:
        number = next(self._numbers)
        return Launch(
            home=str(self.home),
            job=f"job-{number}",
            launch=1,
            id=f"{Random().getrandbits(48):012x}",
            workers=workers,
            machine=Machine(cpus=cpus),
            deadline_at=SYSTEM.now() + seconds,
            labels={"do": do},
        )

    def events(self, launch: Launch, what: str) -> list[tuple[str, int]]:
        """(machine, process) of everything of that kind that its machines wrote down."""
        try:
            lines = (self.home / f"{launch.id}.events").read_text().splitlines()
        except FileNotFoundError:
            return []
        split = [line.split() for line in lines]
        return [(words[1], int(words[2])) for words in split if words[0] == what]

    def let_go(self, launch: Launch) -> None:
        (self.home / f"{launch.id}.go").touch()


def until(condition: Callable[[], object], what: str) -> None:
    give_up_at = SYSTEM.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert SYSTEM.monotonic() < give_up_at, f"in vain: {what}"
        SYSTEM.sleep(0.005)


def ended(engine: Engine, launch: Launch) -> bool:
    return not engine.state(launch).alive


def running(engine: Engine, launch: Launch) -> bool:
    return engine.state(launch).condition is Condition.RUNNING


def alive(process: int) -> bool:
    return bool(system.start_time(process))
