"""Trainers begin where head says, stop when they are fenced, and what they saved is committed soon."""

from __future__ import annotations

from typing import Any

from outlast.testing.simulation.checks.check import FINAL, Check, Document, newest
from outlast.testing.simulation.history import Event, Write

FENCED_SECONDS_MAX = 90.0
COMMIT_SECONDS_MAX = 90.0


class TrainersObey(Check):
    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.newest: dict[int, int | None] = {}
        """Attempt -> the newest committed step when it began."""

        self.head: Document | None = None
        self.changed_at = 0.0
        self.saved: tuple[float, int, int, str] | None = None
        """When, attempt, step, machine: the newest save."""

    def head_written(self, old: Document | None, new: Document, write: Write) -> None:
        if old is None or new["attempt"] != old["attempt"]:
            last = newest(new)
            self.newest[new["attempt"]] = None if last is None else last["step"]
        if old is None or new["attempt"] != old["attempt"] or new["state"] in FINAL or new["launch"] != old["launch"]:
            self.changed_at = write.at
        self.head = new

    def happened(self, event: Event) -> None:
        if event.kind == "saved":
            self.saved = (event.at, event.attempt, event.step or 0, event.machine)
        if event.kind == "begins" and not self.world.chaos.damaged and event.step != self.newest.get(event.attempt):
            self.violated(
                f"attempt {event.attempt} began after step {event.step}, head said {self.newest.get(event.attempt)}"
            )

    def look(self) -> None:
        if self.head is None or self.world.stormy:
            return
        now = self.world.schedule.now
        calm = max(self.world.quiet_until, self.world.storm_ended_at or 0.0)
        for machine in self.world.cloud.alive():
            attempt = machine.child.training_attempt
            since = max(self.changed_at, machine.quiet_until, calm, machine.up_at or 0.0)
            current = attempt == self.head["attempt"] and self.head["state"] not in FINAL
            if attempt is not None and not current and now - since > FENCED_SECONDS_MAX:
                self.violated(
                    f"the trainer of attempt {attempt} on {machine.uid} runs {now - since:.0f} s after it was fenced"
                )
            self._check_commit(machine, now, calm)

    def _check_commit(self, machine: Any, now: float, calm: float) -> None:
        if self.saved is None or self.head is None or not self.world.training.library:
            return
        at, attempt, step, name = self.saved
        if name != machine.uid or attempt != self.head["attempt"] or self.head["state"] in FINAL:
            return
        last = newest(self.head)
        if now - max(at, calm, machine.quiet_until) > COMMIT_SECONDS_MAX and (last is None or last["step"] < step):
            self.violated(f"step {step} of attempt {attempt} was saved {now - at:.0f} s ago and is not committed")
