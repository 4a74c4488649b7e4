"""Killed before and after every write: the points, and the programs that die there.

A command is run in a process of its own whose store and engine kill it at the nth call. An agent is killed by name of what it writes
(`AGENT_POINTS`), because how often it beats depends on the machine; a recording tells whether the list knows every kind of write.
"""

from __future__ import annotations

import json
import os
import re
import signal
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from outlast.dataclass import dataclass
from outlast.engines.engine import Capabilities, Engine, Launch, LaunchState
from outlast.host.machine_dir import MachineDir
from outlast.jobs.world import World
from outlast.machine.boot import boot as boot_machine
from outlast.machine.boot import open_home
from outlast.store.mortal import Hook, Mortal
from outlast.store.store import Store

BOOT = "outlast.testing.crash:boot"
PLAN = "crash.json"
DONE = "crash.done"
SEEN = "crash.seen"

KINDS = {
    "head": r"head\.json$",
    "worker": r"attempts/\d+/workers/",
    "beat": r"attempts/\d+/beat\.json$",
    "part": r"attempts/\d+/parts/",
    "log": r"attempts/\d+/log/\d+/\d+$",
    "metrics": r"attempts/\d+/metrics/\d+/\d+$",
    "tail": r"\.tail$",
    "manifest": r"checkpoints/",
    "output": r"outputs/",
    "published": r"published\.json$",
    "result": r"evaluations/[^/]+/result\.json$",
    "notify": r"notify/",
    "request": r"requests/\d",
    "bell": r"requests/bell$",
    "pin": r"pins/",
}

AGENT_POINTS = (
    ("put", "head", 1),  # the attempt begins
    ("put", "beat", 1),
    ("upload", "part", 1),
    ("chunk", "part", 1),
    ("upload", "part", 2),
    ("put", "manifest", 1),
    ("put", "head", 2),  # the first commit
    ("put", "manifest", 2),
    ("put", "head", 3),  # the next commit, or the end
    ("purge", "part", 1),
    ("purge", "manifest", 1),
    ("put", "log", 1),
    ("put", "metrics", 1),
    ("upload", "output", 1),
    ("chunk", "output", 1),
    ("put", "published", 1),
)


@dataclass(frozen=True)
class Point:
    operation: str
    kind: str
    occurrence: int
    when: str
    """`before` or `after`."""

    victim: str
    """`agent`: it alone, init starts another; `machine`: all of it, without a word."""


def kind_of(key: str) -> str:
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, key)), key)


def agent_points() -> list[Point]:
    """A chunk is seen before it is sent, never after."""
    return [
        Point(operation, kind, occurrence, when, victim)
        for operation, kind, occurrence in AGENT_POINTS
        for when in (("before",) if operation == "chunk" else ("before", "after"))
        for victim in ("agent", "machine")
    ]


# The agent's side.


def plan(user_dir: Path, point: Point | None) -> None:
    """None: nobody dies, but every kind of write is recorded."""
    (user_dir / PLAN).write_text(json.dumps(vars(point) if point else None))


def seen(user_dir: Path) -> set[tuple[str, str]]:
    lines = (user_dir / SEEN).read_text().splitlines()
    return {(operation, kind) for operation, kind in (line.split(" ", 1) for line in lines)}


def boot(directory: str) -> int:
    """The machine's program, with a store that knows when to die."""
    user_dir = MachineDir(directory).user_dir
    planned = json.loads((user_dir / PLAN).read_text())
    point = Point(**planned) if planned else None
    return boot_machine(directory, lambda url: _mortal(open_home(url), user_dir, point))


def _mortal(store: Store, user_dir: Path, point: Point | None) -> Store:
    counted: Counter[tuple[str, str, str]] = Counter()

    def hook(when: str) -> Hook:
        def look(operation: str, key: str) -> None:
            kind = kind_of(key)
            if when == "before":
                with (user_dir / SEEN).open("a") as record:
                    record.write(f"{operation} {kind}\n")
            counted[when, operation, kind] += 1
            here = (when, operation, kind, counted[when, operation, kind])
            planned = point and (point.when, point.operation, point.kind, point.occurrence)
            if point and here == planned and _first(user_dir):
                die(point.victim)

        return look

    return Mortal(store, hook("before"), hook("after"))


def _first(user_dir: Path) -> bool:
    try:
        os.close(os.open(user_dir / DONE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


def die(victim: str) -> None:
    """The machine is its init, the agent's parent: all else of it goes with that."""
    os.kill(os.getppid() if victim == "machine" else os.getpid(), signal.SIGKILL)
    if victim == "machine":
        signal.pause()


# The commands' side.


class Counting:
    """Counts the calls that change something, and dies at the one that it was told."""

    def __init__(self, point: int | None) -> None:
        self.point = point
        self.count = 0

    def __call__(self, operation: str, key: str) -> None:
        if operation == "chunk":
            return
        if self.count == self.point:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1


class MortalEngine:
    """Every call that changes something is a point before and a point after."""

    def __init__(self, engine: Engine, hook: Hook) -> None:
        self._engine = engine
        self._hook = hook
        self.name = engine.name
        self.capabilities: Capabilities = engine.capabilities
        self.check = engine.check
        self.room = engine.room

    def start(self, launch: Launch) -> None:
        self._hook("start", launch.id)
        self._engine.start(launch)
        self._hook("start", launch.id)

    def state(self, launch: Launch) -> LaunchState:
        return self._engine.state(launch)

    def stop(self, launch: Launch) -> None:
        self._hook("stop", launch.id)
        self._engine.stop(launch)
        self._hook("stop", launch.id)

    def enter(
        self, launch: Launch, command: tuple[str, ...], ports: tuple[int, ...], worker: int | None = None
    ) -> list[str] | None:
        return self._engine.enter(launch, command, ports, worker)

    def preempt(self, launch: Launch, *, notice_seconds: float) -> bool:
        return self._engine.preempt(launch, notice_seconds=notice_seconds)


def killed_at(world: World, verb: Callable[[World], object], point: int | None) -> int:
    """Runs the verb in a process of its own that dies at this point; answers how many points it came past, or -1 if it died."""
    hook = Counting(point)
    mortal = world.over(lambda store: Mortal(store, hook, hook), lambda engine: MortalEngine(engine, hook))
    return forked(lambda: verb(mortal), hook)


def forked(verb: Callable[[], object], hook: Counting) -> int:
    """The same for any points that the hook is told of."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            verb()
            os.write(write, str(hook.count).encode())
        except BaseException:  # noqa: BLE001  the edge of a process: it must not go on as a second copy of its parent
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        counted = answer.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return -1
    if not counted:
        raise AssertionError("the command failed before it reached its point")
    return int(counted)
