"""Trainers begin where head says, stop when they are fenced, and what they saved is committed soon."""

from __future__ import annotations

from typing import Any

from outlast.testing.simulation.checks.check import FINAL, Check, Document, newest
from outlast.testing.simulation.history import Event, Write

FENCED_SECONDS_MAX = 90.0
COMMIT_SECONDS_MAX = 90.0
NOTICE_RESERVE_SECONDS = 18.0
"""What the agent holds back of a notice, and some answers of the store."""

UPLOAD_CHUNKS = 24
"""Of an upload in flight and of the last one."""


class TrainersObey(Check):
    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.newest: dict[int, int | None] = {}
        """Attempt -> the newest committed step when it began."""

        self.head: Document | None = None
        self.changed_at = 0.0
        self.saved: tuple[float, int, int, str] | None = None
        """When, attempt, step, machine: the newest save."""

        self.noticed: dict[str, tuple[float, float, int, int]] = {}
        """Machine -> when it got its notice, until when, its attempt, and the step that its trainer had reached."""

    def head_written(self, old: Document | None, new: Document, write: Write) -> None:
        if old is None or new["attempt"] != old["attempt"]:
            last = newest(new)
            self.newest[new["attempt"]] = None if last is None else last["step"]
        if old is None or new["attempt"] != old["attempt"] or new["state"] in FINAL or new["launch"] != old["launch"]:
            self.changed_at = write.at
        self.head = new

    def happened(self, event: Event) -> None:
        if event.kind == "notice":
            self._noticed(event)
        if event.kind in ("died", "left"):
            self._check_notice(event)
        if event.kind == "saved":
            self.saved = (event.at, event.attempt, event.step or 0, event.machine)
        if event.kind == "begins" and not self.world.chaos.damaged and event.step != self.newest.get(event.attempt):
            self.violated(
                f"attempt {event.attempt} began after step {event.step}, head said {self.newest.get(event.attempt)}"
            )

    def _noticed(self, event: Event) -> None:
        """Remembers the step at which a well machine was told to go, if its script could leave in time."""
        world = self.world
        machine = next(one for one in world.cloud.machines if one.uid == event.machine)
        attempt = machine.child.training_attempt
        well = not world.stormy and max(machine.quiet_until, world.calm_since()) < event.at
        options = self.options
        quiet = not (options.bugs or options.out_of_memory or options.kills or options.bug_for_ever_at)
        able = quiet and world.training.library and not self.options.ignores_notices and self.options.workers == 1
        slow = (
            2 * self.options.step_seconds + 2 * self.options.save_seconds + UPLOAD_CHUNKS * self.options.chunk_seconds
        )
        quick = slow + NOTICE_RESERVE_SECONDS < event.seconds
        if attempt is not None and well and able and quick and not world.trainers(machine.launch_id, attempt).hung:
            self.noticed[event.machine] = (
                event.at,
                event.at + event.seconds,
                attempt,
                world.trainers(machine.launch_id, attempt).step,
            )

    def _check_notice(self, event: Event) -> None:
        """A preemption with enough notice costs nothing but the start-up."""
        if event.machine not in self.noticed or self.head is None:
            return
        at, until, attempt, step = self.noticed.pop(event.machine)
        machine = next(one for one in self.world.cloud.machines if one.uid == event.machine)
        well = not self.world.stormy and max(machine.quiet_until, self.world.calm_since()) < at
        well = well and not self.world.trainers(machine.launch_id, attempt).hung
        if well and event.kind == "died" and event.at >= until and machine.child.training_attempt is not None:
            self.violated(
                f"{event.machine} had {event.at - at:.0f} s notice, and its trainer ran until it was taken away"
            )
        last = newest(self.head)
        own_time = event.kind == "left" or event.at >= until
        if well and own_time and self.head["attempt"] == attempt and (last is None or last["step"] < step):
            self.violated(
                f"{event.machine} had {event.at - at:.0f} s notice at step {step} and committed {last and last['step']}"
            )

    def look(self) -> None:
        if self.head is None or self.world.stormy:
            return
        now = self.world.schedule.now
        calm = self.world.calm_since()
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
