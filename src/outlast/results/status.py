"""A job's status is computed, never stored: a pure function of its records and of what its engine says."""

from __future__ import annotations

from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import EXIT_CAPACITY, EXIT_DONE, EXIT_FAILED, EXIT_LIMIT, EXIT_STOPPED
from outlast.folder import cost
from outlast.folder.records import Attempt, Beat, Cause, Checkpoint, Head, LaunchRecord, State
from outlast.results.goodput import Goodput, goodput_of
from outlast.spec.record import plain
from outlast.spec.spec import Spec

EXIT_OF_STATE = {
    State.SUCCEEDED.value: EXIT_DONE,
    State.FAILED.value: EXIT_FAILED,
    State.STOPPED.value: EXIT_STOPPED,
    State.EXPIRED.value: EXIT_LIMIT,
}
PREEMPTIONS = (Cause.PREEMPTED, Cause.KILLED)


@dataclass(frozen=True)
class Status:
    spec: Spec
    head: Head
    launch: LaunchRecord
    state: str
    """`submitted`, `waiting`, `starting`, `running`, `stopping`, or final: `succeeded`, `failed`, `stopped`, `expired`."""

    why: str
    """What it waits for, or why it ended so."""

    step: int | None
    doing: str
    machines: tuple[str, ...]
    folder: str
    now: float
    store_writes: int = 0
    """Writes and lists by its machines that the store bills by number."""

    silent_seconds: float = 0.0
    """Since its machine was heard of last, while it is thought to run."""

    steps_total: int | None = None
    """The step at which it will be done, while it runs and if it has said so."""

    left_seconds: float | None = None
    """Until then, at the speed of this attempt."""

    def __repr__(self) -> str:
        """What a prompt shows of `job.wait()`; all that is known is in `document()`."""
        step = "" if self.step is None else f", step {self.step:,}"
        return f"<outlast job {self.job}: {self.state}{step}>"

    @property
    def job(self) -> str:
        return self.spec.job

    @property
    def final(self) -> bool:
        return self.head.state.final

    @property
    def outcome_code(self) -> int:
        """The exit code that a command which waited for this job ends with."""
        return EXIT_CAPACITY if self.head.refused else EXIT_OF_STATE.get(self.state, EXIT_DONE)

    @property
    def attempts(self) -> list[tuple[int, Attempt]]:
        return [(int(number), self.head.attempts[number]) for number in sorted(self.head.attempts, key=int)]

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        return self.head.checkpoints

    @property
    def preemptions(self) -> int:
        return sum(1 for _, attempt in self.attempts if attempt.cause in PREEMPTIONS)

    @property
    def started_at(self) -> float | None:
        return self.attempts[0][1].started_at if self.attempts else None

    @property
    def cost_usd(self) -> float:
        """Machines and disks of all attempts, each at the price that it was rented for; and what has lingered."""
        return round(cost.spent_usd(self.head, self.now) + self._lingered_usd, 4)

    @property
    def cost_usd_on_demand(self) -> float | None:
        """What the same work would have cost on machines that nobody takes away: what was lost would not have been. None: no price."""
        paid = cost.on_demand_usd(self.head, self.now)
        hourly = cost.rent_of(self.launch).usd_per_hour_on_demand
        if not paid or not hourly:
            return None
        return round(max(0.0, paid - self.goodput.lost / 3600 * hourly) + self._lingered_usd, 4)

    @property
    def _lingered_usd(self) -> float:
        """Counted whole as soon as it is certain, so that an ended job's cost does not change any more."""
        return cost.rent_of(self.launch).after_usd if self.final else 0.0

    @property
    def goodput(self) -> Goodput:
        return goodput_of(self.head, self.now)

    def row(self) -> dict[str, Any]:
        """The object of `jobs --json`."""
        return {
            "job": self.spec.job,
            "name": self.spec.name,
            "state": self.state,
            "engine": self.launch.engine,
            "target": self.spec.target.value,
            "args": list(self.launch.args if self.launch.args is not None else self.spec.args),
            "labels": dict(self.spec.labels),
            "attempts": len(self.head.attempts),
            "preemptions": self.preemptions,
            "step": self.step,
            "submitted_at": self.spec.submitted_at,
            "started_at": self.started_at,
            "ended_at": self.head.ended_at,
            "exit_code": self.head.exit_code,
            "cost_usd": self.cost_usd,
            "usd_per_hour": self.launch.usd_per_hour * self.launch.workers,
            "folder": self.folder,
            "sweep": self.spec.sweep or None,
            "cells": None,
        }

    def document(self) -> dict[str, Any]:
        """The object of `show --json`."""
        return {
            **self.row(),
            "why": self.why or None,
            "spec": plain(self.spec),
            "attempt_list": [_attempt_row(number, attempt) for number, attempt in self.attempts],
            "checkpoints": [_checkpoint_row(checkpoint) for checkpoint in self.checkpoints],
            "goodput": self.goodput.document(),
            "cost_usd_on_demand": self.cost_usd_on_demand,
            "max_cost_usd": self.launch.max_cost_usd,
            "store_writes": self.store_writes,
            "edited_at_step": self.head.edited_at_step,
        }


def _attempt_row(number: int, attempt: Attempt) -> dict[str, Any]:
    return {
        "attempt": number,
        "launch": attempt.launch,
        "machine": attempt.machine,
        "cause": attempt.cause.value if attempt.cause else None,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "exit_code": attempt.exit_code,
        "resumed_from_step": attempt.resumed_from_step,
        "steps_lost": attempt.steps_lost,
    }


def _checkpoint_row(checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "name": checkpoint.name,
        "step": checkpoint.step,
        "bytes": checkpoint.bytes,
        "attempt": checkpoint.attempt,
        "committed_at": checkpoint.committed_at,
    }


def status_of(
    spec: Spec,
    head: Head,
    launch: LaunchRecord,
    *,
    alive: str,
    why: str,
    machines: tuple[str, ...],
    stopping: bool,
    beat: Beat | None,
    now: float,
    folder_url: str,
) -> Status:
    """`alive`: what the engine says of the launch (`waiting`, `starting`, `running`), empty if nothing of it is. `why`: what it waits for;
    of one that has ended, what is to be said beside its reason."""
    step = head.best_step if head.best_step >= 0 else None
    attempt = head.attempts.get(str(head.attempt))
    if attempt is not None and attempt.step is not None:
        step = max(attempt.step, step or 0)
    if beat is not None and beat.step is not None and not head.state.final:
        step = beat.step
    steps_total = beat.steps_total if beat and alive == "running" and not head.state.final else None
    return Status(
        spec=spec,
        head=head,
        launch=launch,
        state=_state(head, alive, stopping),
        why="\n".join(filter(None, (head.reason, why))) if head.state.final else why,
        step=step,
        doing=beat.doing if beat and not head.state.final else "",
        machines=machines,
        folder=folder_url,
        now=now,
        store_writes=_store_writes(head, beat),
        silent_seconds=max(0.0, now - beat.at) if beat and alive == "running" and not head.state.final else 0.0,
        steps_total=steps_total,
        left_seconds=_left_seconds(beat, attempt, steps_total) if beat is not None else None,
    )


def _left_seconds(beat: Beat, attempt: Attempt | None, steps_total: int | None) -> float | None:
    """By what this attempt has made, which began where it resumed."""
    if attempt is None or attempt.running_at is None or beat.step is None or steps_total is None:
        return None
    made = beat.step - (attempt.resumed_from_step or 0)
    seconds = beat.at - attempt.running_at
    return (steps_total - beat.step) * seconds / made if made > 0 and seconds > 0 else None


def _store_writes(head: Head, beat: Beat | None) -> int:
    """The last attempt's beat knows more than head, which hears of it at the next commit."""
    earlier = sum(one.store_writes for number, one in head.attempts.items() if number != str(head.attempt))
    last = head.attempts.get(str(head.attempt))
    told = beat.store_writes if beat is not None and beat.attempt == head.attempt else 0
    return earlier + max(told, last.store_writes if last is not None else 0)


def _state(head: Head, alive: str, stopping: bool) -> str:
    if head.state.final:
        return head.state.value
    if stopping:
        return "stopping"
    if alive == "waiting":
        return "waiting"
    if head.state is State.RUNNING:
        return "running" if alive != "starting" else "starting"
    return "starting" if alive else "submitted"
