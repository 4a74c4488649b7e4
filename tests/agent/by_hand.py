"""A job in memory, and the trainer of one of its machines, on a clock that is turned by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

from outlast.agent.child import Exit, Notice, Saved
from outlast.agent.serve import serve
from outlast.agent.standing import OFFLINE_SECONDS_MAX
from outlast.folder.folder import Folder
from outlast.folder.life import begun
from outlast.folder.records import Head, LaunchRecord
from outlast.spec.spec import Machine, Provenance, Spec, Target, TargetKind
from outlast.store.memory import MemoryStore
from tests.sweep_search.parts import HandChild, HandClock

BUNDLE = "b" * 64
LAUNCH = "1a2b"


class Job:
    """One that was submitted, and whose machine has just come up."""

    def __init__(self, store: MemoryStore | None = None, *, max_run_seconds: float = 1e6, **launch: Any) -> None:
        self.clock = HandClock()
        self.store = store or MemoryStore(clock=self.clock)
        self.folder = Folder(self.store, "job", Random(1))
        self.launch = LaunchRecord(
            launch=1,
            id=LAUNCH,
            engine="local",
            launched_at=self.clock.at,
            deadline_at=self.clock.at + max_run_seconds,
            bundle=BUNDLE,
            **{"workers": 1, "machine": Machine(), **launch},
        )
        spec = Spec(
            job="job",
            name="job",
            target=Target(TargetKind.SCRIPT, "train.py"),
            bundle=BUNDLE,
            python="/usr/bin/python3",
            provenance=Provenance("0"),
            submitted_at=self.clock.at,
            workers=self.launch.workers,
        )
        self.folder.create(self.folder.keys.spec, spec)
        self.folder.create(self.folder.keys.launch(1), self.launch)
        self.folder.create(self.folder.keys.head, begun("job", self.launch, ()))

    @property
    def head(self) -> Head:
        return self.folder.read_head().head

    def serve(
        self,
        trainer: Trainer,
        *,
        rank: int = 0,
        denied_seconds_max: float = math.inf,
        offline_seconds_max: float = OFFLINE_SECONDS_MAX,
    ) -> bool:
        """Whether the launch is over when this machine leaves."""
        return serve(
            folder=self.folder,
            launch_id=LAUNCH,
            rank=rank,
            machine=f"{LAUNCH}-{rank}-1",
            child=trainer,
            clock=self.clock,
            random=self.folder.random,
            denied_seconds_max=denied_seconds_max,
            offline_seconds_max=offline_seconds_max,
        )

    def keys(self, prefix: str) -> set[str]:
        return {entry.key for entry in self.store.list(prefix)}


class File:
    """Takes `seconds` to be read, and is in no hurry between two chunks."""

    mode = 0o644

    def __init__(self, clock: HandClock, name: str, seconds: float) -> None:
        self.path = self.identity = f"checkpoint/{name}"
        self.data = name.encode().ljust(64)
        self.bytes = len(self.data)
        self._clock, self._seconds = clock, seconds

    def chunks(self, offset: int, size: int) -> Iterator[bytes]:
        for start in (offset, offset + size // 2):
            self._clock.sleep(self._seconds / 2)
            yield self.data[start : start + size // 2]


class Trainer(HandChild):
    """Makes 128 steps in 32 seconds, saves every so many of them, and leaves when it is told to."""

    def __init__(self, job: Job, *, save_steps: int = 0, upload_seconds: float = 0.0) -> None:
        super().__init__(job.clock, lambda args, step: 1.0)
        self.save_steps = save_steps
        self.upload_seconds = upload_seconds
        self.at_step: dict[int, Callable[[], object]] = {}
        """What happens in the world when it has come so far."""

        self.bundles: list[str] = []
        """What each of its attempts began with."""

        self.edits: list[tuple[str, str]] = []
        self.told: list[Notice] = []
        self.ended = 0
        self.exit_code = 0
        self.notice_seconds: float | None = None
        """When its machine is to be taken away, once that is known."""

    def clear(self, bundle: str) -> None:
        super().clear(bundle)
        self.told_at = None
        self.bundles.append(bundle)

    def restore(self, path: str, mode: int, chunks: Iterable[bytes]) -> None:
        assert b"".join(chunks)

    def edit(self, before: str, after: str) -> None:
        self.edits.append((before, after))

    def tell(self, notice: Notice) -> None:
        super().tell(notice)
        self.told.append(notice)

    def end(self) -> None:
        self.ended += 1

    def exit(self) -> Exit | None:
        ended = super().exit()
        return Exit(self.exit_code) if ended is not None and ended.code == 0 else ended

    def notice(self) -> float | None:
        return self.notice_seconds

    def saved(self, after: int, *, last: bool) -> Saved | None:
        number = self._steps() // self.save_steps if self.save_steps else 0
        if number <= after:
            return None
        file = File(self.clock, f"{self.attempt}-{number}", self.upload_seconds)
        return Saved(number, number * self.save_steps, complete=False, files=(file,))

    def wait(self, seconds: float) -> None:
        super().wait(seconds)
        for step in [step for step in self.at_step if step <= self._steps()]:
            self.at_step.pop(step)()
