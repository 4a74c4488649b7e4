"""Machines: started only for launches that head names, gone soon after the end, ended by nobody but themselves."""

from __future__ import annotations

import json
from typing import Any

from outlast.testing.simulation.checks.check import FINAL, Check, Document, launch_id_of, machine_of
from outlast.testing.simulation.history import Event, Write

GONE_SECONDS = 120.0
GONE_SECONDS_IN_BAD_WEATHER = 600.0
"""While requests fail, an agent that waits for its store may take longer."""

DEADLINE_SECONDS = 240.0
"""An agent that was well for so long has had time to end by itself before the deadline."""


class Machines(Check):
    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.named: set[str] = set()
        self.over_at: dict[str, float] = {}
        """Launch -> since when head is final, or another launch's."""

        self.current = ""
        self.late_starts: dict[str, set[str]] = {}
        """Command -> the launches that it started although they were over: it must undo that before it returns."""

    def head_written(self, old: Document | None, new: Document, write: Write) -> None:
        launch_id = new["launch_id"]
        if launch_id != self.current:
            if self.current:
                self.over_at.setdefault(self.current, write.at)
            self.current = launch_id
            self.named.add(launch_id)
        if new["state"] in FINAL:
            self.over_at.setdefault(launch_id, write.at)

    def forget(self, write: Write) -> None:
        """The job was deleted: its launch is over, its machines must go."""
        self.over_at.setdefault(self.current, write.at)
        self.current = ""

    def written(self, write: Write) -> None:
        machine = machine_of(write.by)
        published = write.key.startswith(self.world.keys.outputs) and write.data is not None
        if published and machine and launch_id_of(machine) not in self.over_at:
            self.violated(f"{machine} wrote {write.key} before the end of its launch")

    def happened(self, event: Event) -> None:
        launch_id = event.launch_id
        if event.kind == "start":
            if launch_id not in self.named:
                self.violated(f"launch {launch_id} was started and head never named it")
            if launch_id in self.over_at:
                self.late_starts.setdefault(event.detail, set()).add(launch_id)
        elif event.kind == "died":
            self._check_death(event)
        elif event.kind == "group ended":
            for launches in self.late_starts.values():
                launches.discard(launch_id)  # undone; whoever starts it after this undoes that himself
            if "left done" in event.detail:
                self._check_end(event)
        elif event.kind == "command done":
            for started in self.late_starts.pop(event.machine, ()):
                group = self.world.cloud.groups.get(started)
                if group is not None and not group.ended:
                    self.violated(f"{event.machine} started launch {started} after its end and did not undo it")

    def _check_death(self, event: Event) -> None:
        if event.detail.startswith("deleted by"):
            self.violated(f"{event.machine} was {event.detail}")
        machine = next(one for one in self.world.cloud.machines if one.uid == event.machine)
        well_since = max(machine.up_at or event.at, machine.quiet_until, self.world.calm_since())
        left_to_timer = event.detail.endswith("deadline") and event.launch_id not in self.over_at
        alone = self.options.workers == 1
        if left_to_timer and alone and event.at - well_since > DEADLINE_SECONDS and not self.world.stormy:
            self.violated(f"{machine.uid} was well, and left it to the cloud's timer to end it at its deadline")

    def _check_end(self, event: Event) -> None:
        """Only a machine that saw the end ends its group, and first it publishes what is missing of the outputs."""
        if event.launch_id not in self.over_at:
            self.violated(f"launch {event.launch_id} was ended before its end: {event.detail}")
        head = self.world.head
        if head is not None and head["launch_id"] == event.launch_id and head["state"] in FINAL and head["outputs"]:
            data = self.world.bucket.peek(self.world.keys.published)
            if data is None or json.loads(data)["manifest"] != head["outputs"]:
                self.violated(f"launch {event.launch_id} was ended before its outputs were published: {event.detail}")

    def look(self) -> None:
        now = self.world.schedule.now
        for machine in self.world.cloud.alive():
            over_at = self.over_at.get(machine.launch_id)
            if over_at is None or machine.up_at is None:
                continue
            since = max(over_at, machine.up_at, machine.quiet_until, self.world.calm_since())
            limit = GONE_SECONDS_IN_BAD_WEATHER if self.world.stormy else GONE_SECONDS
            if now - since > limit:
                self.violated(f"{machine.uid} is alive {now - since:.0f} s after the end of its launch")

    def ended(self) -> None:
        for launch_id, group in self.world.cloud.groups.items():
            if not group.ended:
                self.violated(f"the group of launch {launch_id} would make new machines for ever")
