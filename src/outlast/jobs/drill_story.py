"""What happened to one job of a drill: noted while it ran, judged afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from outlast.dataclass import dataclass
from outlast.folder.records import Head, State
from outlast.jobs.drill_plan import Kill
from outlast.jobs.drill_watch import Torn
from outlast.jobs.job import Job
from outlast.results.status import Status

LEFT_SECONDS_MAX = 5.0


@dataclass(frozen=True)
class Commit:
    """A checkpoint as it was committed."""

    attempt: int
    step: int
    seconds: float
    """Since its attempt began to train."""

    files: Mapping[str, str]
    """Path in the checkpoint directory -> sha256."""


@dataclass(frozen=True)
class Killed:
    kill: Kill
    step: int | None
    """The last step that the trainer was seen at."""

    seconds: float
    """Since its attempt began to train."""

    leaving_seconds: float
    """From the notice, or the kill, until the machine was gone."""

    @property
    def ran_on(self) -> bool:
        """Whoever leaves when told to does so within this time, if its steps are not very long."""
        return self.leaving_seconds > LEFT_SECONDS_MAX


@dataclass(frozen=True)
class Seen:
    """A file in an unmodified script's checkpoint directory that was seen to be written, or at the start: restored."""

    attempt: int
    path: str
    digest: str
    """Empty: there was nothing in it, or it was gone again."""

    seconds: float
    """Since its attempt began to train; 0: it was restored."""


@dataclass
class Story:
    """What happened to one job."""

    job: Job
    status: Status
    commits: list[Commit] = field(default_factory=list)
    killed: list[Killed] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    torn: Torn | None = None
    sizes: dict[str, set[int]] = field(default_factory=dict)
    """Path in the checkpoint directory -> the sizes that were committed."""

    by_library: bool = False
    missed: Kill | None = None
    """The first kill that it ended before."""

    @property
    def head(self) -> Head:
        return self.status.head

    @property
    def seconds(self) -> float:
        """Of the last attempt, from its start to its end."""
        last = self.head.attempts[str(self.head.attempt)]
        began_at = last.running_at if last.running_at is not None else last.started_at
        return (last.ended_at or began_at) - began_at

    @property
    def succeeded(self) -> bool:
        return self.head.state is State.SUCCEEDED
