"""What one seed stands for: the job, its script's habits, the people, and which faults may happen."""

from __future__ import annotations

from dataclasses import asdict

from outlast.dataclass import dataclass

WEATHER = ("error before", "answer lost", "late write", "slow request")
"""Faults of single requests; each has a chance."""

BLOWS = (
    "preempted 120 s",
    "preempted 30 s",
    "preempted 5 s",
    "preempted 0 s",
    "agent killed",
    "agent stopped",
    "machine suspended",
    "network cut",
    "store outage",
    "store full",
    "damaged part",
    "laptop killed",
    "laptop suspended",
)
"""Faults that come at a moment."""

CIRCUMSTANCES = ("boot failed", "no capacity", "late start", "engine call failed")
SCRIPT = ("exit code", "out of memory", "trainer killed", "hang", "notice ignored", "file changed while taken")
CONSEQUENCES = (
    "412 after own lost answer",
    "duplicate machine",
    "exit 75",
    "command repeated",
    "clock skew",
    "two commands at once",
)

FAULT_KINDS = (*WEATHER, *BLOWS, *CIRCUMSTANCES, *SCRIPT, *CONSEQUENCES)
"""All that is counted; each must have happened in one schedule of twenty at least."""


@dataclass(frozen=True)
class Options:
    seed: int
    theme: str
    workers: int
    steps: int
    step_seconds: float
    save_every: int
    save_seconds: float
    library: bool
    ignores_notices: bool
    retries: int
    bugs: tuple[int, ...]
    bug_for_ever_at: int | None
    out_of_memory: tuple[int, ...]
    kills: tuple[int, ...]
    """Steps after which somebody kills the trainer alone."""

    hangs: tuple[int, ...]
    stall_seconds: float
    max_run_seconds: float
    skew_seconds: float
    poll_seconds: float
    retrying: bool
    forgetful_engine: bool
    engine_seconds: float
    """The longest that a call of the engine takes."""

    chunk_seconds: float
    """The longest that a piece of an upload takes."""

    starved_rank: int | None
    """There is no capacity for this one as long as there are faults."""

    aim: float
    """The chance of a blow right after a write of head, or after the trainer's end: where it hurts most."""

    replaced: float
    """The chance that the engine takes a machine that does not answer for dead, and makes another one."""

    storm_at: float
    """When requests begin to fail by chance."""

    fault_seconds: float
    blow_seconds: float
    """The mean time between two blows."""

    chances: dict[str, float]
    """Of each fault that may happen at all."""

    people: People

    @property
    def stormy(self) -> bool:
        return any(kind in self.chances for kind in WEATHER)

    def text(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in asdict(self).items())


@dataclass(frozen=True)
class People:
    """What is typed, and when (seconds from the beginning)."""

    repeats_submit: bool
    second_submit: bool = False
    stops: tuple[float, ...] = ()
    walks_away: bool = False
    """Whoever stops the job closes the laptop at once, for good."""

    resumes: tuple[float, ...] = ()
    resumes_at_the_end: bool = False
    readers: tuple[float, ...] = ()
    deletes: tuple[float, ...] = ()
