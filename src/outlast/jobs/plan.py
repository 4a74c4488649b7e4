"""A request, checked: everything that can be known before anything is started, and the bundle packed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outlast import __version__
from outlast.bundle.pack import Packed
from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.folder.home import Home
from outlast.folder.prunes import newest_prune
from outlast.folder.sound import legal_path
from outlast.jobs import secrets
from outlast.jobs.adopt import choose_source
from outlast.jobs.asked import Asked
from outlast.jobs.code import choose_code, ship_code
from outlast.jobs.contain import contain
from outlast.jobs.environment import Equipment, equip, equipment_like
from outlast.jobs.inputs import Inputs, check_inputs, datasets_of, ship_datasets
from outlast.jobs.machine import find_machine
from outlast.jobs.notify import checked_notify
from outlast.jobs.world import World
from outlast.spec.names import check_job_id, job_id, name_of_target, shown
from outlast.spec.notify import is_reference
from outlast.spec.progress import OnProgress, silent
from outlast.spec.spec import Provenance, Spec, Target, TargetKind
from outlast.spec.target import parse_target, path_inside
from outlast.store.registry import Prepared

if TYPE_CHECKING:
    from outlast.engines.engine import Engine
    from outlast.jobs.containers import Image
    from outlast.jobs.datasets import Given

ENGINE_DEFAULT = "local"
SHELL = Target(TargetKind.MODULE, "outlast.training.shell")
"""What a machine runs that is there to be worked on: it is the library's, and in no bundle."""


@dataclass(frozen=True)
class Plan:
    """A checked request: everything but the writes of the job itself. What it ships is in the home."""

    spec: Spec
    home: Home
    packed: Packed
    asked: Asked
    prune: int
    """The home's newest prune before anything was shipped."""

    prepared: Prepared
    """Where the home is, and what there is to say about its bucket."""

    equipment: Equipment
    """Its Python and its packages."""

    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Reference -> value, as it was read here; kept privately when the job is submitted."""

    given: tuple[Given, ...] = ()
    """The datasets, and what is worth saying about them."""

    notes: tuple[str, ...] = ()
    """What is worth saying about the machine."""

    image: Image | None = None
    """That its containers run, where it runs in any."""


@dataclass(frozen=True)
class Checked:
    """What needs no code and no home to be checked: where it runs, what it is given, who is told."""

    engine: Engine
    inputs: Inputs
    secrets: Mapping[str, str] = field(repr=False)
    """Reference -> value."""

    fields: Mapping[str, Any]
    """Those of the spec that are as they were asked for, whatever the job's code is."""

    notes: tuple[str, ...] = ()
    """About the machine."""

    image_python: str = ""
    """Of the environment that its image brings along."""


def check(world: World, asked: Asked, here: Path, code: Path) -> Checked:
    engine = world.engine(asked.on or ENGINE_DEFAULT)
    found = find_machine(world, asked, engine)
    engine.check(found.machine, workers=1)
    inputs = check_inputs(asked, here, engine, code)
    references = secrets.checked(asked.secrets, asked.env, here, engine)
    notify = checked_notify(asked.notify, here, world, engine)
    fields = {
        "args": asked.args,
        "engine": engine.name,
        "machine": found.machine,
        "labels": dict(asked.labels),
        "env": dict(asked.env),
        "retries": asked.retries,
        "max_run_seconds": asked.max_run_seconds,
        "max_cost_usd": asked.max_cost_usd,
        "stall_seconds": asked.stall_seconds,
        "resume_args": asked.resume_args,
        "secrets": references,
        "notify": notify,
    }
    values = secrets.read_values(world, [*references.values(), *filter(is_reference, notify)])
    return Checked(engine, inputs, values, fields, found.notes, found.image_python)


def plan(world: World, asked: Asked, *, shipped: Plan | None = None, on_progress: OnProgress = silent) -> Plan:
    """Checks all that can be checked before anything is started, and packs the bundle, unless `shipped` has just done so."""
    here = Path(asked.directory).absolute()
    code = choose_code(world, asked, here)
    directory = code.directory
    target = SHELL if asked.shell else parse_target(asked.target, directory)
    name = asked.name or ("shell" if asked.shell else name_of_target(asked.target))
    where = _where(world, asked)
    checked = check(world, asked, here, directory)
    source = choose_source(world, asked.from_job, continue_steps=asked.continue_steps)
    prepared = shipped.prepared if shipped else _prepared(world, asked)
    if where.capabilities.rents:
        from outlast.engines.renting import check_reach

        check_reach(prepared.url)
    home = world.home(prepared.url)
    prune = shipped.prune if shipped else newest_prune(home.store)
    equipment = equipment_like(shipped.equipment, shipped.asked, asked) if shipped else None
    equipment = equipment or equip(
        world, asked, home, where, directory, target, on_progress, image_python=checked.image_python
    )
    packed = (
        shipped.packed if shipped else ship_code(world, home.store, code, asked, target, checked.inputs, on_progress)
    )
    container, made = None, None
    if where is not checked.engine:
        from outlast.jobs.contain_local import contain_here

        container, made = contain_here(world, asked, home.store, directory, packed, equipment, on_progress)
    given = ship_datasets(world, home.store, checked.inputs, asked, here, on_progress)
    spec = Spec(
        job=check_job_id(asked.job_id) if asked.job_id else job_id(name, world.random),
        name=name,
        target=target,
        bundle=packed.digest,
        python=equipment.python,
        provenance=Provenance(
            tool_version=__version__,
            python_version=equipment.interpreter.version,
            commit=packed.commit,
            dirty=packed.dirty,
            directory=code.shown,
            beside=tuple(str(Path(one).absolute()) for one in asked.extra_dirs),
        ),
        submitted_at=home.store.now(),
        checkpoint_dir=_inside(asked.checkpoint_dir, "--checkpoint-dir", directory),
        output_dir=_inside(asked.output_dir, "--output-dir", directory),
        from_job=source.job,
        from_checkpoint=source.checkpoint,
        continue_steps=asked.continue_steps,
        environment=equipment.environment,
        setup=asked.setup,
        container=container,
        datasets=datasets_of(given),
        config=checked.inputs.config,
        links=checked.inputs.links,
        drill=asked.drill,
        cells=asked.cells,
        workers=asked.workers,
        **checked.fields,
    )
    spec, image = contain(world, spec, asked, checked.engine, home.store, directory, packed, equipment, on_progress)
    notes = (*checked.notes, *_label_notes(spec), *_python_notes(spec, checked.image_python))
    return Plan(spec, home, packed, asked, prune, prepared, equipment, checked.secrets, given, notes, image or made)


def _where(world: World, asked: Asked) -> Engine:
    """The engine, or what it is from inside a container that is to run on it."""
    engine = world.engine(asked.on or ENGINE_DEFAULT)
    if not asked.container.run or engine.capabilities.contained:
        return engine
    from outlast.jobs.contain_local import check_container, inside
    from outlast.jobs.study import check_beside

    check_container(world, asked, engine)
    check_beside(asked.cells)
    return inside(engine)


def _label_notes(spec: Spec) -> tuple[str, ...]:
    """Labels that a cloud does not allow as they were typed."""
    if spec.machine.rented is None or not spec.labels:
        return ()
    from outlast.spec.sweep.labels import changed_labels

    changed = changed_labels(spec.labels)
    words = [f"{shown(typed)} {f'is {shown(there)}' if there else 'cannot be'}" for typed, there in changed.items()]
    return (f"on what is rented, by Google's rules of labels, {', '.join(words)}",) if words else ()


def _python_notes(spec: Spec, image_python: str) -> tuple[str, ...]:
    """A machine that must fetch its Python needs time, and a way to the internet: said before it is paid for."""
    rented, wanted = spec.machine.rented, spec.environment.python_version if spec.environment else ""
    if rented is None or not wanted or spec.container is not None:
        return ()
    from outlast.catalog.pythons import python_of

    minor = ".".join(wanted.split(".")[:2])
    brought = image_python or python_of(rented.image)
    if not brought or ".".join(brought.split(".")[:2]) == minor:
        return ()
    way = "" if rented.external_ip else ", which without an address of its own takes Cloud NAT"
    return (
        f"its image brings Python {brought}: at each boot the machine fetches {minor} from the package index{way}; "
        f"`outlast image build FAMILY --python {minor}` makes one that has it",
    )


def _prepared(world: World, asked: Asked) -> Prepared:
    """A bucket is made in the first region."""
    return world.prepare_home(asked.home, asked.project, asked.region.partition(",")[0])


def _inside(path: str, option: str, directory: Path) -> str:
    """A directory of the script's own, inside its working directory, which the machine can make."""
    if not path:
        return ""
    parts = Path(path).parts
    such = f"`{option.removeprefix('--').removesuffix('-dir')}s`"
    here = path_inside(Path(path), directory) if Path(path).is_absolute() else None
    if here not in (None, "."):
        raise UsageError(
            f"`{option} {path}` is on this machine, and a job runs in a copy of its directory",
            hint=f"`{option} {here}`",
        )
    if Path(path).is_absolute() or ".." in parts or not parts or parts == (".",):
        raise UsageError(
            f"`{option} {path}` is not inside the working directory",
            hint=f"name a directory below the one the script runs in, such as {such}",
        )
    if not legal_path(f"checkpoint/{Path(path).as_posix()}"):
        raise UsageError(f"`{option} {path[:60]}...` is too long", hint=f"name it shortly, such as {such}")
    for one in (directory / path, *(directory / path).parents):
        if one.is_relative_to(directory) and os.path.lexists(one) and not one.is_dir():
            raise UsageError(f"`{option} {path}`: `{one.relative_to(directory)}` is a file", hint="name a directory")
    return Path(path).as_posix()
