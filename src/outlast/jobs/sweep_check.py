"""What is checked of a sweep before anything is submitted: its keys against the script's flags, and how many workers it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from outlast.errors import NoCapacity
from outlast.jobs.asked import Asked
from outlast.jobs.code import choose_code
from outlast.jobs.plan import Plan
from outlast.jobs.sweep import SweepAsked
from outlast.jobs.world import World
from outlast.spec.sweep.check import check_against_target
from outlast.spec.sweep.expand import expansion
from outlast.spec.sweep.space import space
from outlast.spec.target import parse_target


def check_flags(world: World, asked: Asked, cells: SweepAsked) -> None:
    """Keys and values that the flags of the script's `@outlast.main` do not take are refused."""
    directory = choose_code(world, asked, Path(asked.directory).absolute()).directory
    read = space if cells.cells.search else expansion
    check_against_target(
        read(cells.document, cells.where), parse_target(asked.target, directory), directory, cells.where, asked.args
    )


def with_workers(world: World, planned: Plan, asked: SweepAsked, cells: int) -> tuple[Plan, str]:
    """The plan with its number of workers, and why there are so many."""
    spec = planned.spec
    engine = world.engine(spec.engine)
    machines = -(-cells // asked.cells.per_machine)
    if asked.parallel is not None:
        workers, why = min(asked.parallel, machines), "as asked for"
    else:
        room = engine.room(spec.machine)
        if room.workers < 1:
            raise NoCapacity(f"there is no room for a single worker: {room.why}", state="nothing was started")
        workers, why = (machines, "one for each cell") if machines <= room.workers else (room.workers, room.why)
    engine.check(spec.machine, workers=workers)
    return replace(planned, spec=replace(spec, workers=workers)), why
