"""What one worker of a job gets: a share of the engine's machines, or a machine that is rented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.spec.machine import parse_gpus
from outlast.spec.spec import Machine

if TYPE_CHECKING:
    from outlast.engines.engine import Engine
    from outlast.jobs.asked import Asked
    from outlast.jobs.world import World


@dataclass(frozen=True)
class Found:
    """The machine, and what is worth saying about it."""

    machine: Machine
    notes: tuple[str, ...] = ()
    image_python: str = ""
    """Of the environment that its image brings along; empty: it brings none."""


def find_machine(world: World, asked: Asked, engine: Engine) -> Found:
    if asked.managed.no_gpu and parse_gpus(str(asked.gpus))[0] and not asked.force:
        raise UsageError(f"`--nogpu` and `--gpus {asked.gpus}` contradict each other", hint="leave one of them out")
    if engine.capabilities.contained:
        from outlast.jobs.rent_contained import rent_contained

        return rent_contained(world, asked)
    if asked.managed.said:
        raise UsageError(
            f"`{asked.managed.said[0]}` is about jobs that a service runs, and `--on {engine.name}` has no such",
            hint=f"`--on vertex`, or leave `{asked.managed.said[0]}` out",
        )
    if asked.container.said and not asked.container.run:
        raise UsageError(
            f"`{asked.container.said[0]}` is about container images, and `--on {engine.name}` runs none",
            hint=f"`--on local --container`, `--on vertex`, or leave `{asked.container.said[0]}` out",
        )
    if engine.capabilities.rents:
        from outlast.jobs.rent import rent  # the catalog costs those nothing who rent nothing

        return rent(world, asked)
    gpus, gpu_type = parse_gpus(str(asked.gpus))
    if gpu_type:
        raise UsageError(
            f"`--gpus {asked.gpus}` names a type, and `--on {engine.name}` has the GPUs that it has",
            hint=f"`--gpus {gpus}`, or `--on` an engine that rents machines",
        )
    if asked.said:
        raise UsageError(
            f"`{asked.said[0]}` is about machines that are rented, and `--on {engine.name}` rents none",
            hint="leave it out, or name `--on` an engine that rents machines",
        )
    return Found(Machine(asked.cpus or 1, gpus))


def first_region(machine: Machine) -> Machine:
    """As a launch has it: of one region only."""
    if machine.rented is None:
        return machine
    from outlast.jobs.rent import in_region

    return in_region(machine, machine.rented.regions[0])
