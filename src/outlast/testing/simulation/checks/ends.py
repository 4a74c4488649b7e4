"""Every final state has its reason: a wish, a deadline, an exit code, a spent budget."""

from __future__ import annotations

import json
from typing import Any

from outlast.testing.simulation.checks.check import FINAL, Check, Document, machine_of
from outlast.testing.simulation.clock import EPOCH
from outlast.testing.simulation.history import Event, Write

AGENT_EARLY_SECONDS_MAX = 180.0
COMMAND_LATE_SECONDS = 300.0
BOOTS_MAX = 3
STOP_SECONDS_MAX = 120.0
"""A trainer's minute, its last upload, and some beats."""

SHARE = 0.1
"""Both are at most this share of a short launch's time."""


class Ends(Check):
    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.bugs: dict[str, set[int]] = {}
        """Launch -> attempts that ended with an exit code of the script's own."""

        self.fatal: set[int] = set()
        self.succeeded: set[int] = set()
        self.boots_spent: set[str] = set()
        self.failed_boots: dict[tuple[str, int], int] = {}
        """(launch, rank) -> boots in a row that failed."""

        self.wished_at: dict[int, float] = {}
        self.changed_at = 0.0

    def happened(self, event: Event) -> None:
        rank = (event.launch_id, event.rank)
        if event.kind == "up":
            self.failed_boots[rank] = 0
        elif event.kind == "died" and event.detail.endswith(("boot failed", "boots spent")):
            self.failed_boots[rank] = self.failed_boots.get(rank, 0) + 1
        elif event.kind == "boots spent":
            if self.failed_boots.get(rank, 0) + 1 < BOOTS_MAX:
                self.violated(
                    f"rank {event.rank} of launch {event.launch_id} has spent its boots after {self.failed_boots.get(rank, 0)}"
                )
            self.boots_spent.add(event.launch_id)
        if event.kind == "exit":
            if event.detail == "0" and event.rank == 0:
                self.succeeded.add(event.attempt)
            elif event.detail == "out of memory":
                self.fatal.add(event.attempt)
            elif event.detail == "1":
                self.bugs.setdefault(event.launch_id, set()).add(event.attempt)

    def head_written(self, old: Document | None, new: Document, write: Write) -> None:
        state = new["state"]
        if old is None or (new["attempt"], new["launch_id"]) != (old["attempt"], old["launch_id"]):
            self.changed_at = write.at
        if state not in FINAL or old is None or old["state"] == state:
            return
        if state == "stopped" and not self._wished(new["launch"]):
            self.violated(f"launch {new['launch']} was stopped and nobody had asked for that")
        if state == "expired":
            self._check_expired(new, write)
        if state == "failed":
            self._check_failed(new)
        if state == "succeeded":
            last = new["checkpoints"][-1] if new["checkpoints"] else {"step": -1, "complete": False}
            if new["attempt"] not in self.succeeded or last["step"] != self.options.steps or not last["complete"]:
                self.violated(
                    f"the job succeeded in attempt {new['attempt']} with the checkpoint of step {last['step']}"
                )

    def written(self, write: Write) -> None:
        if "-stop-" in write.key and write.data is not None:
            launch = int(write.key.rpartition("/")[2].split("-", 1)[0])
            self.wished_at.setdefault(launch, write.at)

    def look(self) -> None:
        """A wish is honoured: by rank 0 while the attempt runs, before that by any machine of the launch."""
        head, world = self.world.head, self.world
        if head is None or head["state"] in FINAL or head["launch"] not in self.wished_at or world.stormy:
            return
        for machine in world.cloud.alive():
            if machine.launch_id != head["launch_id"] or machine.up_at is None or machine.notice_seconds() is not None:
                continue
            if head["state"] == "running" and machine.rank != 0:
                continue
            since = max(
                self.wished_at[head["launch"]], self.changed_at, machine.up_at, machine.quiet_until, world.calm_since()
            )
            if world.schedule.now - since > STOP_SECONDS_MAX:
                self.violated(
                    f"launch {head['launch']} was to be stopped {world.schedule.now - since:.0f} s ago, {machine.uid} is well"
                )

    def _wished(self, launch: int) -> bool:
        prefix = f"{self.world.keys.root}requests/{launch:06d}-stop-"
        return bool(self.world.bucket.list(prefix, "", 1))

    def _check_expired(self, head: Document, write: Write) -> None:
        data = self.world.bucket.peek(self.world.keys.launch(head["launch"]))
        assert data is not None
        record = json.loads(data)
        length = record["deadline_at"] - record["launched_at"]
        late = write.sent_at + EPOCH - record["deadline_at"]
        least = (
            -min(AGENT_EARLY_SECONDS_MAX, SHARE * length)
            if machine_of(write.by)
            else min(COMMAND_LATE_SECONDS, SHARE * length)
        )
        if late < least - 1.0:
            self.violated(f"{write.by} wrote expired {-late:.0f} s before the deadline")

    def _check_failed(self, head: Document) -> None:
        bugs = len(self.bugs.get(head["launch_id"], ()))
        reasons = (
            bugs > self.options.retries,
            head["attempt"] in self.fatal,
            head["launch_id"] in self.boots_spent,
            "no progress" in head["reason"],
            bool(self.world.chaos.damaged) and "no checkpoint is whole" in head["reason"],
        )
        if not any(reasons):
            self.violated(
                f"launch {head['launch']} failed ({head['reason']!r}) after {bugs} bugs, {self.options.retries} retries"
            )
