"""What is checked of a sweep before anything is submitted: its keys against the script's flags, and how many workers it has."""

from __future__ import annotations

from pathlib import Path

from outlast.dataclass import replace
from outlast.engines.engine import Engine
from outlast.errors import NoCapacity, UsageError
from outlast.jobs.asked import Asked
from outlast.jobs.code import choose_code
from outlast.jobs.plan import Plan
from outlast.jobs.sweep import SweepAsked
from outlast.jobs.sweep_money import check_shares, machines_paid_for
from outlast.jobs.world import World
from outlast.spec.spec import Spec
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
    _check_sharing(engine, spec, asked.cells.per_machine)
    machines = -(-cells // asked.cells.per_machine)
    every = "one for each cell" if asked.cells.per_machine == 1 else "room for each cell"
    if asked.parallel is not None:
        workers, why = (asked.parallel, "as asked for") if asked.parallel <= machines else (machines, every)
    else:
        room = engine.room(spec.machine)
        if room.workers < 1:
            raise NoCapacity(f"there is no room for a single worker: {room.why}", state="nothing was started")
        workers, why = (machines, every) if machines <= room.workers else (room.workers, room.why)
        paid = machines_paid_for(spec.machine, spec.max_cost_usd)
        if paid is not None and paid < workers:
            workers, why = paid, f"more would not be worth their boots, with ${spec.max_cost_usd:,.2f} to share"
    check_shares(spec.machine, workers, spec.max_cost_usd)
    workers, why = _fitting(engine, spec, workers, why)
    return replace(planned, spec=replace(spec, workers=workers)), why


def _fitting(engine: Engine, spec: Spec, workers: int, why: str) -> tuple[int, str]:
    """As many as will ever fit: here the other cells just wait, of rented machines the user chooses how many fewer."""
    try:
        engine.check(spec.machine, workers=workers)
    except NoCapacity as error:
        room = engine.room(spec.machine)
        if not 0 < room.workers < workers:
            raise
        if spec.machine.rented is None:
            return room.workers, f"{room.why}, although {workers:,} are asked for"
        raise NoCapacity(
            f"{workers:,} machines: {error.message}", state=error.state, hint=f"`--parallel {room.workers}`"
        ) from error
    return workers, why


def _check_sharing(engine: Engine, spec: Spec, per_machine: int) -> None:
    if per_machine == 1:
        return
    if not engine.capabilities.shares:
        raise UsageError(
            f"`--cells-per-machine {per_machine}` is about machines that are rented whole, and `--on {engine.name}` has none",
            state="nothing was started, nothing is being spent",
            hint="`--parallel` says how many cells run side by side; `--cpus` and `--gpus` what each of them has",
        )
    if per_machine > spec.machine.cpus:
        raise UsageError(
            f"{per_machine} cells cannot share the {spec.machine.cpus} CPUs of a machine",
            state="nothing was started, nothing is being spent",
            hint=f"`--cells-per-machine {spec.machine.cpus}`, or `--cpus {per_machine}`",
        )
