"""A drill of what a job was submitted with."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from outlast.dataclass import replace
from outlast.jobs.asked import Asked
from outlast.jobs.find import find
from outlast.jobs.sweep_parts import refuse_sweep
from outlast.jobs.world import World
from outlast.spec.spec import Machine, Spec


def asked_like(world: World, asked: Asked, like: str | None) -> Asked:
    """What was asked for now counts; all else is taken from that job's spec."""
    if like is None:
        return asked
    found = find(world, like)
    spec = found.spec()
    refuse_sweep(found, spec, "a drill is of one training", f"`outlast drill --like {found.id}.1`")
    untouched = {field.name: field.default for field in fields(Asked)}
    changes = {
        name: value for name, value in _asked_for(spec).items() if getattr(asked, name) in (untouched.get(name), {}, "")
    }
    return replace(asked, **changes)  # type: ignore[arg-type]


def _asked_for(spec: Spec) -> dict[str, object]:
    submitted_from = Path(spec.provenance.directory)
    return {
        "target": spec.target.value,
        "directory": str(submitted_from) if spec.provenance.directory and submitted_from.is_dir() else ".",
        "args": spec.args,
        "on": spec.engine,
        "name": spec.name,
        "env": dict(spec.env),
        "secrets": dict(spec.secrets),
        **_machine(spec.machine),
        "stall_seconds": spec.stall_seconds,
        "checkpoint_dir": spec.checkpoint_dir,
        "output_dir": spec.output_dir,
        "resume_args": spec.resume_args,
    }


def _machine(machine: Machine) -> dict[str, object]:
    if machine.rented is None:
        return {"cpus": machine.cpus, "gpus": machine.gpus}
    from outlast.jobs.rent_again import as_before

    return as_before(machine, machine.rented, {})
