"""`python -m outlast.testing.simulation`: many seeds, or one of them as a readable trace."""

from __future__ import annotations

import argparse
import sys

from outlast.clock import SYSTEM
from outlast.testing.simulation.draw import draw
from outlast.testing.simulation.options import FAULT_KINDS
from outlast.testing.simulation.run import Summary, run_many, run_one


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m outlast.testing.simulation", description=__doc__)
    parser.add_argument("--seed", type=lambda text: int(text, 0), help="replay this one, with a trace")
    parser.add_argument("--seeds", type=int, default=2000, help="how many")
    parser.add_argument("--first", type=lambda text: int(text, 0), default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--failures", type=int, default=10, help="how many to print")
    parser.add_argument("--planted", nargs="?", const="", help="hunt the planted bugs whose names contain this")
    asked = parser.parse_args()
    if asked.planted is not None:
        return _hunt(asked.planted, asked.jobs)
    if asked.seed is not None:
        return _replay(asked.seed)
    return _many(range(asked.first, asked.first + asked.seeds), asked.jobs, asked.failures)


def _replay(seed: int) -> int:
    result = run_one(seed, tracing=True)
    say = sys.stdout.write
    say(f"seed {seed:#x}: {draw(seed).text()}\n")
    for line in result.trace:
        say(f"{line}\n")
    say(f"ended as {result.state or 'nothing'} after {result.attempts} attempts and {result.seconds:.0f} s\n")
    if result.violations:
        say(f"{result.text()}\n")
    return 1 if result.violations else 0


def _hunt(text: str, processes: int) -> int:
    from outlast.testing.simulation.planted import ALL
    from outlast.testing.simulation.planted.hunt import hunt_many

    survivors = 0
    for hunted in hunt_many([planted for planted in ALL if text in planted.name], processes=processes):
        survivors += not hunted.caught
        sys.stdout.write(f"{hunted.name:36} {hunted.seeds:5}  {hunted.violation or 'SURVIVED'}\n")
    return 1 if survivors else 0


def _many(seeds: range, processes: int, failures_max: int) -> int:
    say = sys.stdout.write
    summary = Summary()
    began = SYSTEM.monotonic()
    for result in run_many(seeds, processes=processes):
        summary.add(result)
        if result.violations and len(summary.failures) <= failures_max:
            say(f"{result.text()}\n")
    took = SYSTEM.monotonic() - began
    say(
        f"{summary.schedules} schedules in {took:.1f} s ({summary.schedules / took:.1f} a second), {len(summary.failures)} failed\n"
    )
    say(f"virtual time {summary.seconds / 3600:.0f} h, {summary.events} events, {summary.attempts} attempts\n")
    say("ended as: " + ", ".join(f"{state} {count}" for state, count in sorted(summary.states.items())) + "\n")
    for kind in FAULT_KINDS:
        say(f"  {summary.faults[kind] / summary.schedules:6.1%}  {kind}\n")
    return 1 if summary.failures else 0


sys.exit(main())
