"""What one seed stands for: the job, its script's habits, and which faults may happen (a random few of them, not all at once)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from random import Random

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
SCRIPT = ("exit code", "out of memory", "hang", "notice ignored", "file changed while taken")
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


def draw(seed: int) -> Options:
    random = Random(f"options {seed}")
    steps = random.randint(6, 36)
    workers = random.choice((1, 1, 1, 1, 2, 2, 3))
    faults = random.random() >= 0.03  # a few schedules have none: the plain life must hold too
    fault_seconds = random.uniform(60.0, 900.0) if faults else 0.0
    people = _people(random, fault_seconds)
    return Options(
        seed=seed,
        workers=workers,
        steps=steps,
        step_seconds=random.uniform(0.5, 8.0),
        save_every=random.choice((1, 2, 3, 5)),
        save_seconds=random.uniform(0.1, 2.0 if random.random() < 0.8 else 20.0),
        library=random.random() < 0.8,
        ignores_notices=random.random() < 0.25,
        retries=random.choice((0, 0, 1, 3)),
        bugs=_some(random, 0.15, steps, 3),
        bug_for_ever_at=random.randint(1, steps) if random.random() < 0.05 else None,
        out_of_memory=_some(random, 0.1, steps, 1),
        hangs=_some(random, 0.15, steps, 2),
        stall_seconds=random.uniform(40.0, 120.0),
        max_run_seconds=random.uniform(200.0, 900.0) if random.random() < 0.15 else 24 * 3600.0,
        skew_seconds=random.choice((0.0, 30.0, 300.0, 86400.0)),
        poll_seconds=random.choice((1.0, 3.0, 5.0)),
        retrying=random.random() < 0.4,
        forgetful_engine=random.random() < 0.5,
        engine_seconds=random.choice((2.0, 2.0, 30.0)),
        chunk_seconds=random.choice((0.2, 0.2, 2.0)),
        starved_rank=random.randrange(workers) if faults and workers > 1 and random.random() < 0.2 else None,
        aim=random.choice((0.0, 0.1, 0.3)),
        fault_seconds=fault_seconds,
        blow_seconds=random.uniform(15.0, 120.0),
        chances=_chances(random, people) if faults else {},
        people=people,
    )


def _people(random: Random, fault_seconds: float) -> People:
    repeats_submit = random.random() < 0.9
    if random.random() < 0.1:
        # One person deletes the job and submits it again under the same name; others leave it alone meanwhile.
        return People(repeats_submit, deletes=(random.uniform(60.0, fault_seconds + 60.0),))
    stops = random.choice((0, 0, 0, 1, 1, 2))
    resumes = random.choice((0, 0, 1, 2, 3))
    return People(
        repeats_submit,
        second_submit=random.random() < 0.2,
        stops=tuple(_moment(random, fault_seconds) for _ in range(stops)),
        walks_away=random.random() < 0.3,
        resumes=tuple(sorted(_moment(random, fault_seconds) for _ in range(resumes))),
        resumes_at_the_end=random.random() < 0.5,
        readers=tuple(random.uniform(5.0, fault_seconds + 60.0) for _ in range(random.choice((0, 1, 2)))),
    )


def _moment(random: Random, fault_seconds: float) -> float:
    """Any time; often right after the submit, when everything is on its way."""
    return random.uniform(0.0, 10.0) if random.random() < 0.3 else random.uniform(0.0, fault_seconds + 60.0)


def _chances(random: Random, people: People) -> dict[str, float]:
    """A random few of all kinds. In two schedules of five no request fails by chance: then one can tell who is late."""
    calm = random.random() < 0.4
    kinds = (*(() if calm else WEATHER), *BLOWS, *CIRCUMSTANCES)
    chances = {kind: _chance(kind, random) for kind in kinds if random.random() < 0.35}
    if people.deletes:
        chances.pop("late write", None)
    return chances


def _chance(kind: str, random: Random) -> float:
    if kind in WEATHER:
        return random.choice((0.01, 0.05, 0.15))
    if kind == "no capacity":
        return 0.5
    if kind == "boot failed":
        return random.choice((0.2, 0.9))
    return random.uniform(0.1, 0.5) if kind in CIRCUMSTANCES else 1.0


def _some(random: Random, chance: float, steps: int, most: int) -> tuple[int, ...]:
    return tuple(random.randint(1, steps) for _ in range(random.randint(1, most))) if random.random() < chance else ()
