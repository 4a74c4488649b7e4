"""Machines: started only for launches that head names, gone soon after the end, ended by nobody but themselves."""

from __future__ import annotations

from typing import Any

from outlast.testing.simulation.checks.check import FINAL, Check, Document
from outlast.testing.simulation.history import Event, Write

GONE_SECONDS = 120.0
GONE_SECONDS_IN_BAD_WEATHER = 600.0
"""While requests fail, an agent that waits for its store may take longer."""


class Machines(Check):
    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.named: set[str] = set()
        self.over_at: dict[str, float] = {}
        """Launch -> since when head is final, or another launch's."""

        self.current = ""

    def head_written(self, old: Document | None, new: Document, write: Write) -> None:
        launch_id = new["launch_id"]
        if launch_id != self.current:
            if self.current:
                self.over_at.setdefault(self.current, write.at)
            self.current = launch_id
            self.named.add(launch_id)
        if new["state"] in FINAL:
            self.over_at.setdefault(launch_id, write.at)

    def happened(self, event: Event) -> None:
        if event.kind == "start" and event.launch_id not in self.named:
            self.violated(f"launch {event.launch_id} was started and head never named it")
        if event.kind == "died" and event.detail.startswith("deleted by"):
            self.violated(f"{event.machine} was {event.detail}")
        if event.kind == "group ended" and "left done" in event.detail and event.launch_id not in self.over_at:
            self.violated(f"launch {event.launch_id} was ended before its end: {event.detail}")

    def look(self) -> None:
        now = self.world.schedule.now
        for machine in self.world.cloud.alive():
            over_at = self.over_at.get(machine.launch_id)
            if over_at is None or machine.up_at is None:
                continue
            since = max(over_at, machine.up_at, machine.quiet_until, self.world.quiet_until)
            limit = GONE_SECONDS
            if self.world.stormy:
                limit = GONE_SECONDS_IN_BAD_WEATHER
            elif self.world.storm_ended_at is not None:
                since = max(since, self.world.storm_ended_at)
            if now - since > limit:
                self.violated(f"{machine.uid} is alive {now - since:.0f} s after the end of its launch")

    def ended(self) -> None:
        for launch_id, group in self.world.cloud.groups.items():
            if not group.ended:
                self.violated(f"the group of launch {launch_id} would make new machines for ever")
