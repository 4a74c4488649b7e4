"""A sweep in memory, whose cells train on a clock that is turned by hand, and somebody who advises as the test has written down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from outlast.agent.bench import Held, Leaving
from outlast.agent.child import Exit, Notice, Saved, Start
from outlast.agent.study import SearchStudy
from outlast.agent.sweep import work
from outlast.folder.folder import Folder
from outlast.folder.layout import SweepKeys
from outlast.folder.life import begun
from outlast.folder.records import LaunchRecord, SweepLaunch
from outlast.folder.sweep import SweepFolder
from outlast.folder.sweep_records import Grid, Row, as_text
from outlast.spec.spec import Machine, Provenance, Spec, Sweep, Target, TargetKind
from outlast.store.memory import MemoryStore

SWEEP = "lr"
DOCUMENT = {"x": {"float": [0, 1]}, "kind": ["a", "b"]}


class HandClock:
    def __init__(self) -> None:
        self.at = 1000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += max(seconds, 0.001)


Answerer = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


class Scripted:
    """An adviser that answers what it is told to; None: it never answers."""

    def __init__(self, answerer: Answerer) -> None:
        self.answerer = answerer
        self.questions: list[Mapping[str, Any]] = []
        self.problem = "the adviser is away"
        self.closed = self.prepared = False

    def prepare(self) -> None:
        self.prepared = True

    def ask(self, question: Mapping[str, Any]) -> None:
        self.questions.append(json.loads(json.dumps(question)))

    def answer(self) -> Mapping[str, Any] | None:
        return self.answerer(self.questions[-1])

    def close(self) -> None:
        self.closed = True


class Home:
    """A sweep that was submitted."""

    def __init__(self, sweep: Sweep, cells: int, document: Any = None, store: MemoryStore | None = None) -> None:
        self.clock = HandClock()
        self.store = store or MemoryStore(clock=self.clock)
        self.asked = sweep
        self.folder = Folder(self.store, SWEEP, Random(1))
        self.sweep = SweepFolder(self.folder)
        self.keys = SweepKeys(SWEEP)
        self.folder.create(self.keys.grid(1), Grid(1, 1, cells, as_text(DOCUMENT if document is None else document)))
        self.launch = LaunchRecord(
            launch=1,
            id="1a2b",
            engine="local",
            workers=2,
            machine=Machine(),
            launched_at=self.clock.at,
            deadline_at=self.clock.at + 1e6,
            bundle="b" * 64,
            cells=SweepLaunch(1),
        )
        self.spec = Spec(
            job=SWEEP,
            name=SWEEP,
            target=Target(TargetKind.SCRIPT, "train.py"),
            bundle="b" * 64,
            python="/usr/bin/python3",
            provenance=Provenance("0"),
            submitted_at=self.clock.at,
            cells=sweep,
            workers=2,
        )
        self.folder.create(self.folder.keys.spec, self.spec)
        self.folder.create(self.folder.keys.launch(1), self.launch)
        self.folder.create(self.folder.keys.head, begun(SWEEP, self.launch, ()))

    def study(self, adviser: Any) -> SearchStudy:
        cells = self.sweep.cells(self.asked)
        return SearchStudy(self.sweep, self.asked, cells, 1, adviser, self.clock)

    def put_rows(self, rows: Iterable[Row], machine: str = "m-0-1") -> None:
        self.sweep.write_rows(machine, 1, list(rows))

    def names(self, prefix: str) -> list[str]:
        return [entry.key.removeprefix(prefix) for entry in self.store.list(prefix)]

    def work(self, study: SearchStudy, train: Train, *, worker: int = 0, machine: str = "1a2b-0-1") -> Leaving:
        return work(
            folder=self.folder,
            spec=self.spec,
            launch=self.launch,
            worker=worker,
            machine=machine,
            bench=HandBench(self.clock, train),
            clock=self.clock,
            random=self.folder.random,
            study=study,
        )


Train = Callable[[Mapping[str, str], int], float]
"""What a cell logs as `loss`: by its arguments and its step."""

STEPS = 128
STEP_SECONDS = 0.25


class HandBench:
    def __init__(self, clock: HandClock, train: Train) -> None:
        self.clock = clock
        self.train = train
        self.paid: float | None = None
        self._held: Held | None = None

    def held(self) -> Held | None:
        return self._held

    def take_up(self, held: Held) -> None:
        self._held = held

    def put_down(self) -> None:
        self._held = None

    def child(self, spec: Spec, launch: LaunchRecord) -> HandChild:
        return HandChild(self.clock, self.train)

    def close(self, child: Any) -> None:
        pass

    def paid_until(self) -> float | None:
        return self.paid

    def note_paid(self, until: float) -> None:
        self.paid = until

    def notice(self) -> float | None:
        return None


class HandChild:
    """Makes a step every quarter of a second, and leaves when it is told to."""

    def __init__(self, clock: HandClock, train: Train) -> None:
        self.clock = clock
        self.train = train
        self.note: bytes | None = None
        self.said: list[str] = []
        self.attempt: int | None = None
        self.begun_at = 0.0
        self.told_at: float | None = None
        self.args: dict[str, str] = {}
        self.log = b""

    def _steps(self) -> int:
        until = self.clock.at if self.told_at is None else self.told_at
        return min(STEPS, int((until - self.begun_at) / STEP_SECONDS))

    def recall(self) -> bytes | None:
        return self.note

    def remember(self, note: bytes) -> None:
        self.note = note

    def clear(self, bundle: str) -> None:
        self.attempt = None

    def edit(self, before: str, after: str) -> None:
        raise AssertionError("no other code comes")

    def restore(self, path: str, mode: int, chunks: Iterable[bytes]) -> None:
        raise AssertionError("nothing was saved")

    def start(self, start: Start) -> None:
        self.attempt, self.begun_at = start.attempt, self.clock.at
        words = list(start.args)
        self.args = {words[at].removeprefix("--"): words[at + 1] for at in range(0, len(words) - 1, 2)}

    def started(self, attempt: int) -> bool:
        return self.attempt == attempt

    def exit(self) -> Exit | None:
        if self.attempt is None or (self._steps() < STEPS and self.told_at is None):
            return None
        return Exit(0 if self._steps() == STEPS else 75)

    def tell(self, notice: Notice) -> None:
        self.told_at = self.clock.at

    def end(self) -> None:
        pass

    def saved(self, after: int, *, last: bool) -> Saved | None:
        return None

    def outputs(self) -> Saved:
        return Saved(0, self._steps(), complete=True, files=())

    def step(self) -> int | None:
        return self._steps()

    def paused(self) -> str:
        return ""

    def unwanted(self) -> str:
        return ""

    def say(self, text: str) -> None:
        self.said.append(text)
        self.log += f"{text}\n".encode()

    def stream_bytes(self, stream: str) -> int:
        return len(self._stream(stream))

    def stream_read(self, stream: str, offset: int, size: int) -> bytes:
        return self._stream(stream)[offset : offset + size]

    def _stream(self, stream: str) -> bytes:
        if stream == "log" or self.attempt is None:
            return self.log
        lines = ({"step": step, "at": 0.0, "loss": self.train(self.args, step)} for step in range(self._steps()))
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    def stream_drop(self, stream: str, before: int) -> None:
        pass

    def wait(self, seconds: float) -> None:
        self.clock.sleep(max(seconds, STEP_SECONDS))

    def notice(self) -> float | None:
        return None

    def steps_total(self) -> int | None:
        return None

    def timings(self) -> Mapping[str, float]:
        return {}
