"""Only an attempt's own machines write for it; who was fenced begins nothing; budgets are counted once."""

from __future__ import annotations

import json
from typing import Any

from outlast.testing.simulation.checks.check import FINAL, Check, Document, launch_id_of, machine_of, rank_of
from outlast.testing.simulation.history import Event, Write

BARREN_MAX = 5
BARREN_MAX_BEFORE_FIRST = 10


class Owners(Check):
    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.members: dict[tuple[int, int], str] = {}
        """(attempt, rank) -> the machine that took the slot, by head's `by` or by a record."""

        self.last: dict[str, int] = {}
        """Machine -> the last attempt that it was part of."""

        self.ended_by: dict[int, str] = {}
        """Attempt -> the machine that wrote its end."""

        self.nonces: set[str] = set()
        self.running: set[int] = set()
        self.progressed: set[int] = set()
        self.best_step = -1
        self.barren = 0

    def written(self, write: Write) -> None:
        if "/workers/" in write.key and write.data is not None:
            attempt = int(write.key.split("/attempts/")[1].split("/")[0])
            self._takes(attempt, json.loads(write.data)["rank"], machine_of(write.by))

    def _takes(self, attempt: int, rank: int, machine: str) -> None:
        holder = self.members.setdefault((attempt, rank), machine)
        if holder != machine:
            self.violated(f"rank {rank} of attempt {attempt} belongs to {holder}, and {machine} took it too")
        if rank_of(machine) != rank:
            self.violated(f"{machine} took rank {rank} of attempt {attempt}")
        for later in range(self.last.get(machine, attempt) + 1, attempt):
            if self.members.get((later, rank), machine) != machine:
                self.violated(
                    f"{machine} took rank {rank} of attempt {attempt}, it had been replaced in attempt {later}"
                )
        self.last[machine] = max(self.last.get(machine, 0), attempt)

    def happened(self, event: Event) -> None:
        head = self.world.head
        if self.world.deleted and (head is None or event.launch_id != head["launch_id"]):
            return  # a machine of the deleted job, which has not noticed yet
        if event.kind == "begins" and self.members.get((event.attempt, event.rank)) != event.machine:
            self.violated(f"{event.machine} runs rank {event.rank} of attempt {event.attempt}, which is not its own")
        if event.kind == "left" and event.detail == "again":
            self._check_left(event)

    def _check_left(self, event: Event) -> None:
        """A machine leaves an attempt of its own only when that has ended, or when it was told to go."""
        head = self.world.head
        if head is None or head["state"] in FINAL or self.members.get((head["attempt"], event.rank)) != event.machine:
            return
        machine = next(one for one in self.world.cloud.machines if one.uid == event.machine)
        if head["attempts"][str(head["attempt"])]["ended_at"] is None and machine.notice_seconds() is None:
            self.violated(f"{event.machine} left attempt {head['attempt']}, which is its own and has not ended")

    def head_written(self, old: Document | None, new: Document, write: Write) -> None:
        machine = machine_of(write.by)
        if old is None or new["launch_id"] != old["launch_id"]:
            self.barren = 0
            if machine:
                self.violated(f"{machine} wrote the first head of launch {new['launch']}")
            return
        if machine and launch_id_of(machine) != new["launch_id"]:
            self.violated(f"{machine} wrote head, which is launch {new['launch_id']}'s")
        if new["attempt"] > old["attempt"]:
            self._check_begin(old, new, machine)
        elif machine:
            self._check_amendment(old, new, machine)
        elif new["state"] not in FINAL:
            self.violated(f"a command ({write.by}) wrote head as {new['state']}")
        self._count(old, new)

    def _check_begin(self, old: Document, new: Document, machine: str) -> None:
        number = new["attempt"]
        if not machine or rank_of(machine) != new["by"]:
            self.violated(f"attempt {number} was begun by {machine or 'a command'}, head says rank {new['by']}")
            return
        if not new["nonce"] or new["nonce"] in self.nonces:
            self.violated(f"attempt {number} has an old nonce")
        self.nonces.add(new["nonce"])
        last = self.last.get(machine, 0)
        own_end = self.ended_by.get(old["attempt"]) == machine and last == old["attempt"]
        if last and not own_end:
            self.violated(f"{machine} was part of attempt {last}, was fenced, and began attempt {number}")
        self._takes(number, new["by"], machine)
        self._check_budget(old, new)

    def _check_budget(self, old: Document, new: Document) -> None:
        previous = new["attempts"].get(str(old["attempt"]))
        if previous is not None and previous["launch"] == new["launch"] and old["attempt"] in self.running:
            self.barren = 0 if old["attempt"] in self.progressed else self.barren + 1
        if new["barren"] != self.barren:
            self.violated(f"head counts {new['barren']} attempts without progress, there were {self.barren}")

    def _check_amendment(self, old: Document, new: Document, machine: str) -> None:
        """A member of the attempt, or anybody of the launch who ends it because that was wished or its budget is spent."""
        if new["state"] in ("stopped", "failed") and new["checkpoints"] == old["checkpoints"]:
            return
        if self.members.get((new["attempt"], rank_of(machine))) != machine:
            self.violated(f"{machine} wrote head and is no part of attempt {new['attempt']}")
        if new["checkpoints"] != old["checkpoints"] and rank_of(machine) != 0:
            self.violated(f"{machine} committed a checkpoint, only rank 0 does")
        if old["state"] == "gathering" and new["state"] == "running":
            workers = self.world.spec_workers()
            missing = [rank for rank in range(workers) if (new["attempt"], rank) not in self.members]
            if missing:
                self.violated(f"attempt {new['attempt']} runs without the ranks {missing}")

    def _count(self, old: Document, new: Document) -> None:
        number = new["attempt"]
        if new["state"] == "running":
            self.running.add(number)
        step = new["checkpoints"][-1]["step"] if new["checkpoints"] else -1
        if step > self.best_step:
            self.best_step = step
            self.progressed.add(number)
        before, after = old["attempts"].get(str(old["attempt"])), new["attempts"].get(str(old["attempt"]))
        if (
            before
            and after
            and before["ended_at"] is None
            and after["ended_at"] is not None
            and number == old["attempt"]
        ):
            self.ended_by[number] = self.members.get((number, 0), "")
        if new["state"] == "failed" and new["state"] != old["state"] and "no progress" in new["reason"]:
            patience = BARREN_MAX if self.best_step >= 0 else BARREN_MAX_BEFORE_FIRST
            previous = 0 if old["attempt"] in self.progressed else 1 if old["attempt"] in self.running else 0
            if self.barren + previous < patience:
                self.violated(
                    f"the job was given up after {self.barren + previous} attempts without progress, not {patience}"
                )
