"""Themes: a few faults that seldom do harm but together, and a job on which they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from outlast.testing.simulation.options import Options, People


def draw(random: Random, options: Options) -> Options:
    name = random.choice(sorted(THEMES))
    drawn = THEMES[name](random, options)
    also = {"damaged part": 1.0} if random.random() < 0.3 else {}
    return replace(drawn, theme=name, chances={**drawn.chances, **also})


def _agents(random: Random, options: Options) -> Options:
    """Agents die and are stopped around the end of their trainer."""
    return replace(
        options,
        chances={
            "agent killed": 1.0,
            "preempted 30 s": 1.0,
            **({"agent stopped": 1.0} if random.random() < 0.3 else {}),
        },
        aim=0.6,
        ignores_notices=random.random() < 0.6,
        hangs=tuple(random.randint(1, options.steps) for _ in range(2)),
        retries=0,
    )


def _zombies(random: Random, options: Options) -> Options:
    """Machines come back after they were replaced; uploads take long, so that many are in flight."""
    return replace(
        options,
        workers=random.choice((1, 2, 3)),
        chances={"machine suspended": 1.0, "network cut": 1.0, "agent stopped": 1.0, "preempted 0 s": 1.0},
        aim=0.4,
        replaced=0.9,
        blow_seconds=random.uniform(15.0, 60.0),
        fault_seconds=random.uniform(400.0, 900.0),
        save_every=1,
        chunk_seconds=2.0,
        step_seconds=random.uniform(4.0, 10.0),
    )


def _gathering(random: Random, options: Options) -> Options:
    """One rank has no place; meanwhile others die, and somebody wishes that it all stopped."""
    return replace(
        options,
        workers=random.choice((2, 3)),
        starved_rank=random.randrange(2),
        chances={"preempted 0 s": 1.0, "machine suspended": 1.0, "agent killed": 1.0},
        fault_seconds=random.uniform(300.0, 900.0),
        blow_seconds=random.choice((40.0, 400.0)),
        people=People(True, stops=(random.uniform(0.0, 200.0),) if random.random() < 0.5 else (), walks_away=True),
    )


def _notices(random: Random, options: Options) -> Options:
    return replace(
        options,
        workers=1,
        chances={"preempted 120 s": 1.0, "preempted 30 s": 1.0, "preempted 5 s": 1.0},
        blow_seconds=random.uniform(20.0, 60.0),
        aim=0.0,
        library=True,
        ignores_notices=random.random() < 0.2,
        hangs=(),
        people=replace(options.people, stops=(), deletes=()),
    )


def _wishes(random: Random, options: Options) -> Options:
    """A long training, a short deadline, a stop whose user walks away."""
    return replace(
        options,
        workers=1,
        chances={"agent killed": 1.0, "preempted 0 s": 1.0},
        blow_seconds=300.0,
        steps=40,
        step_seconds=random.uniform(8.0, 14.0),
        stall_seconds=120.0,
        fault_seconds=60.0,
        max_run_seconds=random.uniform(300.0, 500.0) if random.random() < 0.5 else 24 * 3600.0,
        people=People(True, stops=(random.uniform(0.0, 60.0),) if random.random() < 0.6 else (), walks_away=True),
    )


def _silence(random: Random, options: Options) -> Options:
    """Answers are lost and requests arrive late, while agents die."""
    return replace(
        options,
        chances={"answer lost": 0.1, "late write": 0.25, "agent killed": 1.0, "preempted 0 s": 1.0},
        retrying=random.random() < 0.4,
        storm_at=15.0,
        workers=random.choice((1, 2, 3)),
    )


def _launches(random: Random, options: Options) -> Options:
    """Submits, stops and resumes at once, with an engine that takes its time."""
    return replace(
        options,
        chances={"late start": 0.3, "laptop killed": 1.0, "machine suspended": 1.0, "engine call failed": 0.1},
        aim=0.2,
        engine_seconds=30.0,
        people=People(
            True,
            second_submit=True,
            stops=tuple(random.uniform(0.0, 90.0) for _ in range(2)),
            resumes=tuple(sorted(random.uniform(0.0, 180.0) for _ in range(3))),
            resumes_at_the_end=True,
        ),
    )


def _again(random: Random, options: Options) -> Options:
    """A short job is deleted and submitted again under the same name, while its past is still on its way."""
    return replace(
        options,
        chances={"late start": 0.3, "machine suspended": 1.0, "laptop killed": 1.0},
        aim=0.1,
        steps=6,
        step_seconds=1.0,
        save_seconds=0.2,
        bugs=(),
        bug_for_ever_at=None,
        out_of_memory=(),
        kills=(),
        hangs=(),
        fault_seconds=random.uniform(100.0, 300.0),
        people=People(True, deletes=(random.uniform(60.0, 200.0),)),
    )


THEMES: dict[str, Callable[[Random, Options], Options]] = {
    "again": _again,
    "agents": _agents,
    "gathering": _gathering,
    "launches": _launches,
    "notices": _notices,
    "silence": _silence,
    "wishes": _wishes,
    "zombies": _zombies,
}
