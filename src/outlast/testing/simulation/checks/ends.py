"""Every final state has its reason: a wish, a deadline, an exit code, a spent budget."""

from __future__ import annotations

import json
from typing import Any

from outlast.testing.simulation.checks.check import FINAL, Check, Document, machine_of
from outlast.testing.simulation.clock import EPOCH
from outlast.testing.simulation.history import Event, Write

AGENT_EARLY_SECONDS_MAX = 180.0
COMMAND_LATE_SECONDS = 300.0
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

    def happened(self, event: Event) -> None:
        if event.kind == "boots spent":
            self.boots_spent.add(event.launch_id)
        if event.kind == "exit":
            if event.detail == "0" and event.rank == 0:
                self.succeeded.add(event.attempt)
            elif event.detail == "out of memory":
                self.fatal.add(event.attempt)
            elif event.detail in ("1", "143"):
                self.bugs.setdefault(event.launch_id, set()).add(event.attempt)

    def head_written(self, old: Document | None, new: Document, write: Write) -> None:
        state = new["state"]
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
