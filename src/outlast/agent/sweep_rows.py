"""The rows of the cells that this worker has ended: gathered, and written to the home in segments that are rewritten until full."""

from __future__ import annotations

from outlast.clock import Clock
from outlast.errors import Damaged, KeyMissing, NewerFormat
from outlast.folder.evaluation import last_metrics
from outlast.folder.folder import Folder
from outlast.folder.records import Attempt, Cause, Head, State
from outlast.folder.sweep import EARLY, ROWS_MAX, SweepFolder, encode_row
from outlast.folder.sweep_records import Row

WRITE_SECONDS = 0.5
"""So long rows are gathered while one cell follows another."""

TAKEN = (Cause.PREEMPTED, Cause.KILLED)


class Rows:
    def __init__(self, sweep: SweepFolder, machine: str, clock: Clock) -> None:
        self.sweep = sweep
        self.machine = machine
        self.clock = clock
        # What an earlier life of this agent has sent may arrive yet, and would undo what is written to the same segment.
        self._number = max(sweep.segment_numbers(machine), default=0) + 1
        self._rows: list[bytes] = []
        """As they are in the segment: it is rewritten again and again."""
        self._written = 0
        self._unsure = False
        """The answer to a write was lost: so much of the segment may arrive yet, and nothing else may be written to it."""

        self._written_at = clock.monotonic() - self._gap_seconds

    @property
    def _gap_seconds(self) -> float:
        return max(WRITE_SECONDS, self.sweep.store.rewrite_seconds)

    def add(self, row: Row) -> None:
        self._rows.append(encode_row(row))

    def write_if_due(self) -> None:
        if self._written < len(self._rows) and self.clock.monotonic() - self._written_at >= self._gap_seconds:
            self.write()

    def write(self) -> None:
        """All that are there by now."""
        if self._written == len(self._rows):
            return
        wait = self._written_at + self.sweep.store.rewrite_seconds - self.clock.monotonic()
        if wait > 0:
            self.clock.sleep(wait)
        if self._unsure:
            self._number, self._rows, self._written, self._unsure = (
                self._number + 1,
                self._rows[self._written :],
                0,
                False,
            )
        self._unsure = True
        self.sweep.write_encoded(self.machine, self._number, self._rows)
        self._unsure = False
        self._written, self._written_at = len(self._rows), self.clock.monotonic()
        if len(self._rows) >= ROWS_MAX:
            self._number, self._rows, self._written = self._number + 1, [], 0


def row_of(folder: Folder, cell: int, launch: int, turn: int) -> Row | None:
    """From what is committed; None: it has not ended, and is another launch's by now."""
    try:
        head = folder.read_head().head
    except (Damaged, NewerFormat) as error:
        return Row(cell, State.FAILED.value, launch, turn, reason=error.message)
    if not head.state.final:
        return None
    attempts = [head.attempts[number] for number in sorted(head.attempts, key=int)]
    return Row(
        cell=cell,
        state=EARLY if head.early else head.state.value,
        launch=launch,
        turn=turn,
        started_at=attempts[0].started_at if attempts else None,
        ended_at=head.ended_at,
        seconds=round(sum(map(seconds_of, attempts)), 3),
        attempts=len(attempts),
        preemptions=sum(1 for one in attempts if one.cause in TAKEN),
        step=_step(head),
        exit_code=head.exit_code,
        reason=head.reason,
        usd=round(sum(seconds_of(one) * one.usd_per_hour for one in attempts) / 3600, 6),
        metrics=_metrics(folder, head),
    )


def seconds_of(attempt: Attempt) -> float:
    return max(0.0, (attempt.ended_at or attempt.started_at) - attempt.started_at)


def _step(head: Head) -> int | None:
    steps = [one.step for one in head.attempts.values() if one.step is not None]
    return max([*steps, head.best_step], default=None) if steps or head.best_step >= 0 else None


def _metrics(folder: Folder, head: Head) -> dict[str, float]:
    try:
        return last_metrics(folder, head.attempt)
    except KeyMissing:
        return {}
