"""A drill of what a job was submitted with."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path

from outlast.bundle.environment.record import EnvironmentManifest, read_manifest
from outlast.bundle.environment.setup_digest import setup_digest
from outlast.bundle.environment.ship import copy_environment
from outlast.dataclass import replace
from outlast.jobs.asked import Asked
from outlast.jobs.find import find
from outlast.jobs.job import Job
from outlast.jobs.sweep_parts import refuse_sweep
from outlast.jobs.world import World
from outlast.spec.dataset import is_url, split_dataset
from outlast.spec.spec import Dataset, Machine, Spec
from outlast.store.store import Store


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


def with_inputs(world: World, asked: Asked, like: str | None, directory: Path) -> Asked:
    """A drill has a home of its own: what others are given by their home comes from paths of this computer."""
    if like is not None:
        asked = _inputs_like(world, asked, find(world, like), directory)
    return replace(asked, datasets=tuple(_here(world, asked, text) for text in asked.datasets))


def _inputs_like(world: World, asked: Asked, like: Job, directory: Path) -> Asked:
    spec = like.spec()
    if spec.environment is not None and _fits_here(
        asked, spec, read_manifest(like.home.store, spec.environment.digest)
    ):
        copy_environment(like.home.store, world.home(str(directory / "home")).store, spec.environment)
        asked = replace(asked, equipped_like=spec)
    if spec.config is not None:
        config = directory / "config.json"
        config.write_text(json.dumps(spec.config))
        asked = replace(asked, config_files=(str(config), *asked.config_files))
    if asked.datasets or not spec.datasets:
        return asked
    given = {name: _source(world, like.home.store, dataset) for name, dataset in spec.datasets.items()}
    modes = {dataset.mode for dataset in spec.datasets.values() if is_url(dataset.url)}
    return replace(
        asked,
        datasets=tuple(f"{name}={source}" if name else source for name, source in given.items()),
        dataset_mode=modes.pop() if modes else asked.dataset_mode,
    )


def _fits_here(asked: Asked, spec: Spec, environment: EnvironmentManifest) -> bool:
    """That job's environment, where nothing else is asked for, both run on this computer, and its setup script is still the same."""
    if asked.requirements or asked.extras or asked.python or asked.on != spec.engine or spec.machine.rented is not None:
        return False
    setup = setup_digest(Path(asked.directory).absolute(), asked.setup) if asked.setup else ""
    return setup == environment.setup and os.access(spec.python, os.X_OK)


def _here(world: World, asked: Asked, text: str) -> str:
    """What was pushed under a name is in the home that would be used without a drill."""
    from outlast.jobs.datasets import pushed_as

    store = world.home(asked.home).store
    digest = pushed_as(store, text, Path(asked.directory).absolute())
    if not digest:
        return text
    name, _ = split_dataset(text)
    path = _source(world, store, Dataset(digest=digest))
    return f"{name}={path}" if name else path


def _source(world: World, store: Store, dataset: Dataset) -> str:
    """Where it came from, if that is still there; else it is copied to where this computer's machines keep theirs."""
    from outlast.machine.datasets import Datasets

    if is_url(dataset.url) or (dataset.url and os.path.exists(dataset.url)):
        return dataset.url
    datasets = Datasets(store, world.cache_dir, world.open_store, world.clock, say=lambda line: None)
    return str(datasets.place(dataset))


def _asked_for(spec: Spec) -> dict[str, object]:
    submitted_from = Path(spec.provenance.directory)
    return {
        "target": spec.target.value,
        "directory": str(submitted_from) if spec.provenance.directory and submitted_from.is_dir() else ".",
        "extra_dirs": tuple(path for path in spec.provenance.beside if os.path.isdir(path)),
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
        "setup": spec.setup,
        "links": spec.links,
    }


def _machine(machine: Machine) -> dict[str, object]:
    if machine.rented is None:
        return {"cpus": machine.cpus, "gpus": machine.gpus}
    from outlast.jobs.rent_again import as_before

    return as_before(machine, machine.rented, {})
