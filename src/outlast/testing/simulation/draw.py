"""From a seed to its options: a random few faults, not all at once."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from outlast.testing.simulation import themes
from outlast.testing.simulation.options import BLOWS, CIRCUMSTANCES, WEATHER, Options, People


def draw(seed: int) -> Options:
    """Half of the seeds are about one theme: faults that are seldom harmful but together."""
    random = Random(f"options {seed}")
    options = _anything(random, seed)
    if options.chances and random.random() < 0.5:
        return themes.draw(random, options)
    return options


def draw_theme(seed: int, theme: str) -> Options:
    """The schedule of that seed if it had to be about this theme."""
    random = Random(f"options {seed}")
    return replace(themes.THEMES[theme](random, _anything(random, seed)), theme=theme)


def _anything(random: Random, seed: int) -> Options:
    steps = random.randint(6, 36)
    workers = random.choice((1, 1, 1, 1, 2, 2, 3))
    faults = random.random() >= 0.03  # a few schedules have none: the plain life must hold too
    fault_seconds = random.uniform(60.0, 900.0) if faults else 0.0
    people = _people(random, fault_seconds)
    return Options(
        seed=seed,
        theme="",
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
        kills=_some(Random(f"kills {seed}"), 0.15, steps, 3),
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
        replaced=0.5,
        storm_at=random.choice((0.0, 20.0)),
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
    calm = random.random() < 0.35
    kinds = (*(() if calm else WEATHER), *BLOWS, *CIRCUMSTANCES)
    chances = {kind: _chance(kind, random) for kind in kinds if random.random() < 0.4}
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
