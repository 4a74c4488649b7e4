"""A job that goes on at another engine: what it rents there, and the image that it may need."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outlast.bundle.pack import Packed
from outlast.bundle.python import Interpreter
from outlast.dataclass import replace
from outlast.engines.engine import Condition
from outlast.errors import UsageError
from outlast.jobs.asked import Asked
from outlast.jobs.contain import image_of, workers_of
from outlast.jobs.environment import Equipment
from outlast.jobs.job import Job, as_launch
from outlast.jobs.machine import find_machine, first_region
from outlast.spec.containing import Containing
from outlast.spec.managing import Managing
from outlast.spec.spec import Machine, Spec

if TYPE_CHECKING:
    from outlast.engines.engine import Engine
    from outlast.folder.records import LaunchRecord
    from outlast.jobs.world import World


def check_goes(world: World, job: str, record: LaunchRecord, name: str, *, resized: bool = False) -> Engine:
    """The engine that it is to go to, if it can: only where machines fetch all that they need from the home.

    `resized`: another machine is asked for, which need not be what it had.
    """
    engine = world.engine(name)
    before = world.engine(record.engine)
    if not (before.capabilities.rents and engine.capabilities.rents):
        raise UsageError(
            f"job `{job}` runs on `{record.engine}`, and cannot go on on `{name}`: what it needs is not all in its home",
            state="nothing was started, nothing is being spent",
            hint=f"`outlast run --from {job} --on {name} ...` begins a new job with its weights",
        )
    rented = record.machine.rented
    tpu = tpu_words(record.machine)
    if rented is not None and (rented.pools or tpu) and not resized and not engine.capabilities.contained:
        what = "several pools of machines" if rented.pools else f"a TPU, {tpu}"
        raise UsageError(
            f"job `{job}` has {what}, and `{name}` has no such",
            state="nothing was started, nothing is being spent",
            hint=f"`outlast resume {job}` goes on on `{record.engine}`"
            + f", and `outlast resume {job} --on {name} "
            + (f"--machine-type {rented.machine_type}` on one machine" if rented.pools else "--gpus L4` on a GPU"),
        )
    return engine


def machine_at(world: World, record: LaunchRecord, engine: Engine, changes: Mapping[str, Any]) -> Machine:
    """As large as it was, unless something else is asked for; its image is not there yet."""
    machine, rented = record.machine, record.machine.rented
    assert rented is not None
    asked: dict[str, Any] = {
        "project": rented.project,
        "region": ",".join(rented.regions),
        "spot": rented.spot,
        "service_account": rented.service_account,
        "linger_seconds": rented.linger_seconds,
        "cpus": machine.cpus,
        "gpus": f"{machine.gpus}x{rented.accelerator}" if rented.accelerator else 0,
    }
    managed: Managing = changes.get("managed", Managing())
    if "machine_type" in changes or managed.tpu or managed.older:
        del asked["cpus"]
    if managed.tpu or managed.older or managed.no_gpu or tpu_words(machine):
        del asked["gpus"]
    asked |= {name: value for name, value in changes.items() if name not in ("on", "max_cost_usd", "container")}
    if "project" in changes and "service_account" not in changes:
        del asked["service_account"]
    found = first_region(find_machine(world, Asked(target="", **asked), engine).machine)
    engine.check(found, workers=record.workers)
    return found


def tpu_words(machine: Machine) -> str:
    """`8xV2`, as it is asked for; empty: it is no TPU."""
    from outlast.jobs.rent_tpu import slice_of

    tpu = slice_of(machine)
    return f"{tpu.count}x{tpu.kind}" if tpu is not None else ""


def with_image(
    world: World,
    job: Job,
    spec: Spec,
    record: LaunchRecord,
    machine: Machine,
    bundle: str,
    wanted: Containing | None = None,
) -> Machine:
    """Where containers are run: with the image of the launch before, else with one that is made of what the home has.

    `wanted`: what the image is to begin with, or which one it is.
    """
    rented, before = machine.rented, record.machine.rented
    assert rented is not None
    if wanted is None and before is not None and before.service == rented.service and before.image:
        return replace(machine, rented=replace(rented, image=before.image))
    interpreter = Interpreter(spec.python, "as it was", spec.provenance.python_version)
    equipment = Equipment(interpreter, spec.python, spec.environment)
    image = image_of(
        world,
        Asked(target="", name=spec.name, container=wanted or Containing()),
        rented,
        job.folder.store,
        Path.cwd(),
        Packed(bundle, 0, 0, 0),
        equipment,
        engine=world.engine(rented.service),
    )
    return replace(machine, rented=replace(rented, image=image.reference))


def workers_at(machine: Machine, record: LaunchRecord) -> int:
    """Independent workers stay as many; those of pools go with them."""
    had_pools = record.machine.rented is not None and bool(record.machine.rented.pools)
    return workers_of(machine, 1 if had_pools else record.workers)


def check_gone(world: World, job: Job, spec: Spec, record: LaunchRecord, name: str) -> None:
    """A launch that works is not taken away from under its job: whoever wants that stops it first."""
    state = world.engine(record.engine).state(as_launch(job, record, spec))
    if state.condition in (Condition.RUNNING, Condition.STARTING):
        raise UsageError(
            f"job `{job.id}` runs on `{record.engine}`: it cannot go to `{name}` now",
            state="it goes on as it was",
            hint=f"`outlast stop {job.id}`, then the same again",
        )
