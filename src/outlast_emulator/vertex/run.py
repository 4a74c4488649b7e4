"""A job on its way from QUEUED to its end: one thread per job, which is told of everything by a queue.

It alone changes the job. What it has to know after the emulator was killed stands in the job's `state`.
"""

from __future__ import annotations

import queue
import sqlite3
import sys
import threading
import traceback
from typing import TYPE_CHECKING, NamedTuple

from outlast_emulator.clock import rfc3339
from outlast_emulator.vertex import outcomes
from outlast_emulator.vertex.attempt import Attempt, Refused, entry
from outlast_emulator.vertex.jobs import (
    CANCELLED,
    CANCELLING,
    FAILED,
    OVER,
    PENDING,
    QUEUED,
    RUNNING,
    SUCCEEDED,
    Job,
)
from outlast_emulator.vertex.outcomes import Outcome
from outlast_emulator.vertex.rules import seconds_of
from outlast_emulator.vertex.watch import Told, Watch

if TYPE_CHECKING:
    from outlast_emulator.vertex.model import Vertex

GRACE_SECONDS = 30.0
"""From SIGTERM to SIGKILL."""
PULL_TRIES_MAX = 4
PULL_AGAIN_SECONDS = 1.0
LOOK_SECONDS = 0.1
"""Between two looks at a quota that is used up."""
SPOT_RESTARTS_MAX, STOCKOUT_RESTARTS_MAX = 6, 3
CRASH_RESTARTS_MAX, INTERNAL_RESTARTS_MAX = 3, 2
WAIT_SECONDS_DEFAULT = 24 * 3600.0
"""Of FLEX_START."""
ENDS = {"succeeded": SUCCEEDED, "failed": FAILED, "cancelled": CANCELLED}


class Limit(NamedTuple):
    counter: str
    most: int


class Closing(Exception):
    """The emulator ends."""


class Cancelling(Exception):
    """Somebody has asked for the job's end."""


class Run:
    def __init__(self, vertex: Vertex, job: Job) -> None:
        self.job = job
        self.attempt: Attempt | None = None
        self._vertex = vertex
        self._told: queue.Queue[Told] = queue.Queue()
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._run, name=f"job-{job.id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> bool:
        """False: it is over already."""
        with self._lock:
            if self.job.is_over:
                return False
            self._say(CANCELLING)
        self.tell(Told("cancel"))
        return True

    def tell(self, told: Told) -> None:
        self._told.put(told)

    def close(self) -> None:
        self.tell(Told("close"))
        self._thread.join()

    # -------------------------------------------------------------------------------------------------------- its thread

    def _run(self) -> None:
        try:
            try:
                self._carry_out()
            except Cancelling:
                self._end(outcomes.CANCELLED)
        except Closing:
            return
        except sqlite3.ProgrammingError:
            return  # the emulator ended at the same moment
        except Exception:  # noqa: BLE001  the edge: one job. It is a bug of ours, said, and the job does not stay for ever.
            sys.stderr.write(f"bug in a job of Vertex AI: {traceback.format_exc()}")
            self._end(Outcome("failed", outcomes.INTERNAL, "Internal error: the emulator has a bug."))
        finally:
            self._vertex.forget(self)

    def _carry_out(self) -> None:
        if self.job.document["state"] == CANCELLING:
            raise Cancelling
        while True:
            self._wait_for_quota()
            self._note("Waiting for job to be provisioned.")
            self._wait(self._vertex.switches.vertex_start_seconds)
            outcome = self._attempt() if self._take_machines() else outcomes.stockout(self.job.region)
            if outcome.kind in ENDS:
                self._end(outcome)
                return
            if not self._begins_again(outcome):
                self._end(Outcome("failed", outcome.code, outcome.message))
                return
            self._say(PENDING)
            if outcome.kind == "stockout":
                self._wait(self._vertex.switches.vertex_retry_seconds)

    def _wait_for_quota(self) -> None:
        while not self._vertex.room.take_quota(self.job):
            self._say(QUEUED)
            self._look(LOOK_SECONDS)
        self._say(PENDING)

    def _take_machines(self) -> bool:
        with self._vertex.database.write():
            if not self._vertex.room.has_machines(self.job):
                return False
            self.job.state["machines"] = True
            self.job.count("attempts")
            self._vertex.jobs.save(self.job)
        return True

    def _attempt(self) -> Outcome:
        attempt = self.attempt = Attempt(
            self._vertex, self.job, lambda replica, one: self.tell(Told("exit", replica.name, one))
        )
        grace = 0.0
        try:
            self._prepare(attempt)
            self._vertex.usage.begin(self.job)
            attempt.start()
            self._begin()
            outcome = Watch(self._vertex, self.job, attempt, self._next).until_over()
            grace = self._vertex.clock.scaled(0.0 if outcome.kind == "internal" else GRACE_SECONDS)
            return outcome
        except Refused as error:
            return outcomes.no_image(error.replica, str(error))
        except OSError as error:
            return outcomes.internal(str(error))
        except Cancelling:
            grace = self._vertex.clock.scaled(GRACE_SECONDS)
            raise
        finally:
            attempt.end(grace)
            self.attempt = None
            self._vertex.usage.end(self.job)
            self.job.state["machines"] = False

    def _prepare(self, attempt: Attempt) -> None:
        """A registry that does not answer is asked again: it may be the emulator's own, which is about to end."""
        for left in range(PULL_TRIES_MAX - 1, -1, -1):
            try:
                attempt.prepare()
                return
            except Refused as error:
                if not left or not error.passing:
                    raise
            self._look(PULL_AGAIN_SECONDS)

    def _begin(self) -> None:
        with self._lock:
            if "startTime" not in self.job.document:
                self.job.document["startTime"] = self._now()
                self.job.state["started_at"] = self._vertex.clock.now()
            if self._vertex.switches.vertex_stockouts_in_a_row:
                self.job.state["stockouts"] = 0
        self._say(RUNNING)
        self._note("Job is running.")

    def _begins_again(self, outcome: Outcome) -> bool:
        """Whether there is another attempt after this one; False: there were enough."""
        job = self.job
        if outcome.kind == "again":
            return True
        if outcome.kind == "stockout" and job.strategy == "FLEX_START":
            asked = job.spec["scheduling"].get("maxWaitDuration")
            most = seconds_of(asked) if asked else WAIT_SECONDS_DEFAULT
            waited = self._vertex.clock.now() - job.created_at
            return most == 0 or waited < self._vertex.clock.scaled(most)
        if outcome.kind in ("stockout", "preempted"):
            limit = Limit("stockouts", SPOT_RESTARTS_MAX if job.strategy == "SPOT" else STOCKOUT_RESTARTS_MAX)
        elif outcome.kind == "crashed":
            limit = Limit("crashes", CRASH_RESTARTS_MAX)
        else:
            limit = Limit("internal", INTERNAL_RESTARTS_MAX)
            if job.spec.get("scheduling", {}).get("disableRetries"):
                return False
        counted = job.count(limit.counter)
        self._note(f"{outcome.message} (restart {counted} of {limit.most})", "WARNING")
        return counted <= limit.most

    # ------------------------------------------------------------------------------------------------- being told things

    def _next(self, seconds: float) -> Told | None:
        """What was said next, within so many seconds of real time."""
        try:
            told = self._told.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            return None
        if told.kind == "close":
            raise Closing
        if told.kind == "cancel":
            raise Cancelling
        return told

    def _look(self, seconds: float) -> None:
        """Nothing runs: whatever is said of replicas now comes too late."""
        ends_at = self._vertex.clock.monotonic() + seconds
        while (left := ends_at - self._vertex.clock.monotonic()) > 0:
            self._next(left)

    def _wait(self, seconds: float) -> None:
        self._look(self._vertex.clock.scaled(seconds))

    # ---------------------------------------------------------------------------------------------------------- the record

    def _say(self, state: str) -> None:
        """A job that is being cancelled stays so until it is over."""
        with self._lock:
            before = self.job.document["state"]
            if before != state and (before != CANCELLING or state in OVER):
                self.job.document["state"] = state
                self._vertex.jobs.save(self.job)

    def _end(self, outcome: Outcome) -> None:
        with self._lock:
            self.job.document["endTime"] = self._now()
            if outcome.code:
                self.job.document["error"] = {"code": outcome.code, "message": outcome.message}
                lag = self._vertex.clock.scaled(self._vertex.switches.vertex_error_seconds)
                self.job.state["error_at"] = self._vertex.clock.now() + lag
            self.job.state["holds"] = False
            self._note(
                outcome.message or "Job completed successfully.", "ERROR" if outcome.kind == "failed" else "INFO"
            )
            self._say(CANCELLED if self.job.document["state"] == CANCELLING else ENDS[outcome.kind])

    def _note(self, text: str, severity: str = "INFO") -> None:
        """What Vertex AI itself says in the job's log."""
        self._vertex.log(entry(self.job, "service", severity, {"message": text}))

    def _now(self) -> str:
        return rfc3339(int(self._vertex.clock.now() * 1e6))
