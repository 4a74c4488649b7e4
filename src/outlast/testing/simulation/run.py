"""Runs schedules: one with its checks, or many on several processes with what they have covered."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from outlast.dataclass import dataclass
from outlast.testing.simulation import checks
from outlast.testing.simulation.checks.check import Check
from outlast.testing.simulation.draw import draw, draw_theme
from outlast.testing.simulation.history import Event, Write
from outlast.testing.simulation.options import Options
from outlast.testing.simulation.world import World

LOOK_SECONDS = 30.0


@dataclass
class Result:
    seed: int
    violations: list[str]
    faults: list[str]
    """The kinds that happened."""

    state: str
    events: int
    writes: int
    seconds: float
    """Of virtual time."""

    attempts: int
    trace: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "\n".join(
            (
                f"seed {self.seed:#x} broke a promise:",
                *(f"  {text}" for text in self.violations),
                f"  options: {draw(self.seed).text()}",
                f"  replay: python -m outlast.testing.simulation --seed {self.seed:#x}",
            )
        )


def liveness_seconds(options: Options) -> float:
    """How long after the end of the faults everything must be over: start-up, what is left of the training, its own troubles."""
    training = 1.3 * options.steps * options.step_seconds + options.save_seconds * (
        2 + options.steps / options.save_every
    )
    troubles = len(options.bugs) + len(options.out_of_memory) + len(options.kills) + len(options.hangs) + 1
    start_up = 120.0
    grace = 200.0 * (len(options.people.stops) + 1)
    late = 420.0 if "late start" in options.chances else 0.0
    launches = 2 + len(options.people.resumes)
    return 300.0 + late + grace + launches * (training + start_up) + troubles * (options.stall_seconds + start_up)


def run_one(seed: int, *, tracing: bool = False, options: Options | None = None) -> Result:
    options = options or draw(seed)
    world = World(options, tracing=tracing)
    found = [check(world) for check in checks.ALL]
    _attach(world, found)
    limit = options.fault_seconds + liveness_seconds(options)
    try:
        world.run(limit)
        if not world.history.violations and not world.done():
            world.history.violated(
                f"liveness: {world.unfinished()} {liveness_seconds(options):.0f} s after the faults ended"
            )
        if not world.history.violations:
            for check in found:
                check.ended()
    finally:
        world.close()
    head = world.head or {"state": "", "attempt": 0}
    return Result(
        seed,
        world.history.violations,
        sorted(world.history.faults),
        str(head["state"]),
        world.schedule.events,
        len(world.history.writes),
        world.schedule.now,
        int(str(head["attempt"])),
        world.history.trace,
    )


def try_job(seed: int) -> list[str]:
    """The promises that one schedule broke."""
    return run_one(seed).violations


def try_theme(theme: str) -> Callable[[int], list[str]]:
    """The same for schedules about one theme only: for what seldom matters elsewhere."""
    return lambda seed: run_one(seed, options=draw_theme(seed, theme)).violations


def _attach(world: World, found: Sequence[Check]) -> None:
    def written(write: Write) -> None:
        if write.key == world.keys.head and write.data is None:
            world.forget()
            for check in found:
                check.forget(write)
        if write.key == world.keys.head and write.data is not None:
            old, world.head = world.head, json.loads(write.data)
            assert world.head is not None
            world.head_at = write.at
            for check in found:
                check.head_written(old, world.head, write)
        for check in found:
            check.written(write)

    def happened(event: Event) -> None:
        for check in found:
            check.happened(event)

    def look() -> None:
        for check in found:
            check.look()
        world.schedule.after(LOOK_SECONDS, look)

    world.history.listeners.append(written)
    world.history.watchers.append(happened)
    world.schedule.after(LOOK_SECONDS, look)


@dataclass
class Summary:
    schedules: int = 0
    failures: list[Result] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    events: int = 0
    seconds: float = 0.0

    def add(self, result: Result) -> None:
        self.schedules += 1
        self.faults.update(result.faults)
        self.states[result.state or "nothing"] += 1
        self.attempts += result.attempts
        self.events += result.events
        self.seconds += result.seconds
        if result.violations:
            self.failures.append(result)


def run_many(seeds: range, *, processes: int = 1) -> Iterator[Result]:
    """In the order in which they end."""
    if processes <= 1:
        yield from map(run_one, seeds)
        return
    context = multiprocessing.get_context("fork")
    with context.Pool(min(processes, os.cpu_count() or 1)) as pool:
        yield from pool.imap_unordered(run_one, seeds, chunksize=8)


def summarize(seeds: range, *, processes: int = 1) -> Summary:
    summary = Summary()
    for result in run_many(seeds, processes=processes):
        summary.add(result)
    return summary
