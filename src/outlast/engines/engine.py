"""Where a job can run. An engine knows machines, not jobs."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Protocol

from outlast.dataclass import dataclass
from outlast.spec.spec import Machine


@dataclass(frozen=True)
class Launch:
    """All that an engine is told; it hands the first three to the program that boots on each machine."""

    home: str
    job: str
    launch: int
    id: str
    workers: int
    machine: Machine
    deadline_at: float
    labels: Mapping[str, str] = field(default_factory=dict)
    asked_at: float = 0.0
    """When the engine is told this, by the clock that `deadline_at` is meant by; 0: by the engine's own."""

    agent: str = ""
    """The key in the home of the agent that its machines fetch, where they bring none."""

    boots: str = ""
    """The beginning of the keys in the home under which its machines count their boots."""

    command: str = ""
    """What it runs, in words for people."""

    independent: bool = False
    """Its workers do not need each other: each begins as soon as it can, and one that leaves as `spare` is not replaced."""

    slots: int = 1
    """How many workers share each of its machines, where the engine can do that: `workers` counts machines."""

    paid_seconds: float | None = None
    """So long its money pays for each of its machines, where each has a share of it; None: no sum limits that."""


class Condition(enum.Enum):
    ABSENT = "absent"
    """Never started, or stopped, or its command has finished: nothing of it is alive or will be."""

    WAITING = "waiting"
    """Started, and waiting for a place; `why` says for what."""

    STARTING = "starting"
    RUNNING = "running"
    REFUSED = "refused"
    """It will not get what it needs, however long it waits; `why` says what."""

    BOOT_FAILED = "boot failed"
    """Its machines died three times in a row before the agent was up; nothing of it is alive."""


@dataclass(frozen=True)
class LaunchState:
    condition: Condition
    why: str = ""
    machines: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    """Where the machines' own files are, one for each of `machines`, if they are on this computer."""

    lacks_capacity: bool = False
    """It waits for a machine that its provider has not got there."""

    lacks_workers: bool = False
    """Others are alive, but nobody replaces some that are gone: another `start` does."""

    idle: tuple[str, ...] = ()
    """`RANK-NUMBER` of machines that are not needed any more and may not leave: whoever looks, and may, sends them away."""

    over: bool = False
    """It is absent because it has ended, and another `start` is none."""

    stopped: bool = False
    """It is over because of `stop`, and not because its machines left."""

    @property
    def alive(self) -> bool:
        return self.condition in (Condition.WAITING, Condition.STARTING, Condition.RUNNING)


@dataclass(frozen=True)
class Found:
    """Something of ours at a provider, by its labels."""

    kind: str
    """`machine`, `disk`, `group`, `template`, `image`."""

    name: str
    place: str
    """The zone or region, or `global`."""

    usd_per_hour: float = 0.0
    unpriced: bool = False
    """It is paid for, and nobody here knows how much: 0 is not its price."""

    made_at: float = 0.0
    home: str = ""
    """`home_digest` of the home that it was made for; empty: it is nobody's."""

    job: str = ""
    launch: str = ""
    detail: str = ""
    """For people: what it is, and how it is doing."""

    kept: bool = False
    """Made to stay, until somebody deletes it: an image."""

    until_at: float = 0.0
    """It belongs to no launch, and may be there until then: a machine on which an image is made."""


class Auditor(Protocol):
    """What is at a provider, whoever made it."""

    def now(self) -> float:
        """The provider's time, once it has answered: `made_at` and `until_at` are by its clock."""
        ...

    def found(self) -> Iterator[Found]: ...

    def remove(self, found: Found) -> None:
        """Returns when it is gone, or cannot be any more; what is gone is no error."""
        ...


def home_digest(url: str) -> str:
    """Labels have no room for a url."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Resource:
    """Something that a launch makes at a provider."""

    kind: str
    name: str
    place: str
    url: str
    """Where a person can look at it."""

    details: tuple[str, ...] = ()
    """What else is worth knowing before it is made."""

    log_command: str = ""
    """What a person types to see what it says, where its provider keeps that too."""


@dataclass(frozen=True)
class Line:
    """Something that a machine has said, as its provider keeps it."""

    at: str
    """RFC 3339."""

    severity: str
    text: str
    machine: str = ""
    """Which of several, in the provider's words."""


@dataclass(frozen=True)
class Leftover:
    """Something on this computer's disk that an engine has left, and that nothing needs."""

    path: Path
    bytes: int
    why: str


@dataclass(frozen=True)
class Examined:
    """How an engine that keeps something on this computer is doing there."""

    supervisor: int | None
    """Its process, if one runs."""

    launches: int
    strays: tuple[int, ...]
    """Processes of launches that have ended."""

    machines: int = 0
    """How many directories of machines there are, living or dead."""

    problem: str = ""
    mend: str = ""


@dataclass(frozen=True)
class Capabilities:
    """Differences between engines, as data: no caller asks which engine it is."""

    gpus: bool
    same_machine: bool
    """Paths of the user's machine exist on the engine's machines."""

    preempts: bool
    """`preempt` works: the engine can be drilled."""

    platform: str = ""
    """What its machines are, such as `linux-x86_64`; empty: the same as this computer."""

    rents: bool = False
    """Its machines are rented by the hour: they fetch all that they need from the home, and what they are is in `Machine.rented`."""

    contained: bool = False
    """Its machines run a container image, which is built for the job and named by `Machine.rented`."""

    shares: bool = False
    """Several workers can share one of a launch's machines."""

    place: str = ""
    """Which computer this is, `name:digest`, where machines can be started and seen from it alone; empty: from everywhere."""

    keeps_ends: bool = False
    """`state` of a launch that was stopped says that it is over, and why: whoever looks knows it, also where the home does not."""


@dataclass(frozen=True)
class Room:
    workers: int
    why: str
    """What limits it, for people: `2 CPUs`."""


class Engine(Protocol):
    """Promises, kept by every engine and checked by `outlast.testing.engine_contract`:

    - `start` of a launch (by its id) that was started before does nothing, also when both calls come at once or the first was killed.
    - A machine that ends without `leave(done=True)` is replaced until the launch is stopped or its deadline has passed.
    - `stop` ends every process of the launch and waits until they are gone; what is gone or was never started is no error; a
      stopped launch cannot be started again.
    - `state` of a finished launch is ABSENT; a dead machine is never reported as running; it may block for a second, not more.
    - Two homes, and two launches of one job, never see each other.
    """

    name: str
    capabilities: Capabilities

    def check(self, machine: Machine, workers: int) -> None:
        """`NoCapacity` for what this engine does not have and will not have; asked before anything of a job is written."""
        ...

    def room(self, machine: Machine) -> Room:
        """How many workers of a launch whose workers are independent it can have at once."""
        ...

    def start(self, launch: Launch) -> None: ...

    def state(self, launch: Launch) -> LaunchState: ...

    def stop(self, launch: Launch) -> None: ...

    def enter(
        self, launch: Launch, command: tuple[str, ...], ports: tuple[int, ...], worker: int | None = None
    ) -> list[str] | None:
        """The command that brings a person to its first machine, in the job's directory; None: none runs.

        `worker`: to the machine of that one among independent workers, and to its directory there.
        """
        ...

    def preempt(self, launch: Launch, *, notice_seconds: float) -> bool:
        """Takes the launch's machines away as a cloud would, for drills and tests: a notice if it is above 0, then SIGKILL to all of
        them. Answers whether there was a machine to take; returns when it is dead. The launch itself lives on."""
        ...
