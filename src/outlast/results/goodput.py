"""Where a job's time went: the share that was training which counts, and where the rest is."""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.folder.records import Attempt, Cause, Head


@dataclass(frozen=True)
class Goodput:
    training: float
    lost: float
    """Training that had to be done again, or never counted."""

    saving: float
    starting: float
    """Machine there, trainer not yet: unpacking, restoring."""

    waiting: float
    """Between two attempts of one launch: no machine. A job that lies stopped until somebody resumes it waits for nothing."""

    @property
    def total(self) -> float:
        return self.training + self.lost + self.saving + self.starting + self.waiting

    @property
    def ratio(self) -> float | None:
        return self.training / self.total if self.total > 0 else None

    def document(self) -> dict[str, float | None]:
        ratio = self.ratio
        return {
            "ratio": None if ratio is None else round(ratio, 4),
            "training": round(self.training, 3),
            "lost": round(self.lost, 3),
            "saving": round(self.saving, 3),
            "starting": round(self.starting, 3),
            "waiting": round(self.waiting, 3),
        }


def goodput_of(head: Head, now: float) -> Goodput:
    training = lost = saving = starting = waiting = 0.0
    previous: tuple[int, float] | None = None
    for number in sorted(head.attempts, key=int):
        attempt = head.attempts[number]
        end = attempt.ended_at if attempt.ended_at is not None else now
        if previous is not None and previous[0] == attempt.launch:
            waiting += max(0.0, attempt.started_at - previous[1])
        previous = (attempt.launch, end)
        length = max(0.0, end - attempt.started_at)
        own_starting = min(length, attempt.seconds.get("starting", 0.0) + attempt.seconds.get("restoring", 0.0))
        own_lost = min(length - own_starting, _lost(attempt, end))
        own_saving = min(length - own_starting - own_lost, attempt.seconds.get("saving", 0.0))
        starting += own_starting
        lost += own_lost
        saving += own_saving
        training += length - own_starting - own_lost - own_saving
    return Goodput(training, lost, saving, starting, waiting)


def _lost(attempt: Attempt, end: float) -> float:
    """What an ended attempt did after its last commit; nothing of it survived."""
    if attempt.cause in (None, Cause.SUCCEEDED, Cause.STOPPED) or attempt.steps_lost == 0:
        return 0.0
    since = attempt.committed_at if attempt.committed_at is not None else attempt.running_at
    return max(0.0, end - since) if since is not None else 0.0
