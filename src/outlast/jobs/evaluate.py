"""A job that evaluates another one: its code, its data, its checkpoint; not its machine."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from outlast import __version__
from outlast.bundle.pack import Packed
from outlast.bundle.python import Interpreter, choose_python
from outlast.bundle.record import read_bundle
from outlast.dataclass import dataclass, replace
from outlast.engines.compute.told import ENVIRONMENT_PYTHON
from outlast.errors import NotFound, OutlastError, UsageError
from outlast.folder.content import select
from outlast.folder.prunes import newest_prune
from outlast.folder.records import Head
from outlast.jobs.asked import Asked
from outlast.jobs.contain import contain
from outlast.jobs.environment import Equipment, as_trained
from outlast.jobs.inputs import datasets_of, ship_datasets
from outlast.jobs.job import Job
from outlast.jobs.plan import Plan, check, plan
from outlast.jobs.submit import Submitted, carry_out
from outlast.jobs.sweep_parts import refuse_sweep
from outlast.jobs.world import World
from outlast.spec.config_file import merge
from outlast.spec.names import JOB_ID_LENGTH_MAX, check_job_id, job_id, legal_name
from outlast.spec.spec import Evaluation, Spec, Target, TargetKind
from outlast.spec.target import SUFFIXES
from outlast.store.registry import Prepared

NAME_END = "-eval"
DIGEST_LENGTH = 6
STEP_LENGTH_MAX = 12


@dataclass(frozen=True)
class Wanted:
    """What was asked for, before the trained job is looked at. `asked.target` empty: the trained job's own."""

    asked: Asked
    checkpoint: str = "last"
    split: str = ""
    rebuild: bool = False


def evaluate(world: World, trained: Job, wanted: Wanted) -> Submitted:
    return carry_out(world, plan_evaluation(world, trained, wanted))


def plan_evaluation(world: World, trained: Job, wanted: Wanted) -> Plan:
    """Machine, limits and notifications are as asked for now, never as the trained job had them: they may cost money."""
    trained = Job.of(world.home(trained.home.url), trained.id)
    of = trained.spec()
    refuse_sweep(
        trained,
        of,
        "which of its cells to evaluate is not said",
        f"`outlast evaluate {trained.id}.1`; `outlast results {trained.id}` lists the best first",
    )
    if of.evaluation is not None:
        raise UsageError(
            f"job `{trained.id}` is an evaluation itself, of job `{of.evaluation.job}`",
            hint=f"`outlast evaluate {of.evaluation.job}`",
        )
    head = trained.folder.existing_head().head
    evaluation = _choose(trained, head, wanted)
    asked = replace(
        wanted.asked,
        args=_args(trained, of, head, wanted),
        env={**of.env, **wanted.asked.env},
        secrets={**of.secrets, **wanted.asked.secrets},
        name=wanted.asked.name or legal_name(of.name)[: 33 - len(NAME_END)] + NAME_END,
        home=trained.home.url,
        from_job="",
    )
    planned = _rebuilt(world, of, asked) if wanted.rebuild else _as_trained(world, trained, of, head, asked)
    return replace(planned, spec=replace(planned.spec, evaluation=evaluation))


def _choose(trained: Job, head: Head, wanted: Wanted) -> Evaluation:
    if not head.checkpoints and head.outputs and wanted.checkpoint in ("last", "best"):
        return Evaluation(trained.id, "", None, wanted.split)
    if not head.checkpoints:
        raise NotFound(
            f"job `{trained.id}` has no checkpoint yet, and no outputs",
            state="nothing was started, nothing is being spent",
            hint=f"`outlast evaluate {trained.id} --follow` waits for its checkpoints"
            if not head.state.final
            else f"`outlast show {trained.id}` says how it ended",
        )
    chosen = select(head, wanted.checkpoint)
    return Evaluation(trained.id, chosen.name, chosen.step, wanted.split)


def _args(trained: Job, of: Spec, head: Head, wanted: Wanted) -> tuple[str, ...]:
    args = wanted.asked.args
    if not wanted.asked.target:
        launch = trained.folder.read_launch(head.launch)
        args = (*(launch.args if launch.args is not None else of.args), "--mode", "evaluate", *args)
    return (*args, "--split", wanted.split) if wanted.split else args


def _rebuilt(world: World, of: Spec, asked: Asked) -> Plan:
    """The directory as it is now; data and configuration as the trained job had them, unless others are given."""
    planned = plan(
        world,
        replace(
            asked,
            target=asked.target or of.target.value,
            checkpoint_dir=asked.checkpoint_dir or of.checkpoint_dir,
            output_dir=asked.output_dir or of.output_dir,
            links=asked.links or of.links,
        ),
    )
    spec = planned.spec
    config = _config(of, spec.config)
    return replace(planned, spec=replace(spec, datasets=spec.datasets or of.datasets, config=config))


def _as_trained(world: World, trained: Job, of: Spec, head: Head, asked: Asked) -> Plan:
    """The very bundle and environment that trained, whatever has become of the directory."""
    _refuse_code(asked, trained)
    here = Path(asked.directory).absolute()
    checked = check(world, asked, here, here)
    store = trained.home.store
    prune = newest_prune(store)
    target = _target(trained, head.bundle, asked.target) if asked.target else of.target
    given = ship_datasets(world, store, checked.inputs, asked, here)
    spec = replace(
        of,
        job=check_job_id(asked.job_id) if asked.job_id else job_id(asked.name or of.name, world.random),
        name=asked.name or of.name,
        target=target,
        bundle=head.bundle,
        provenance=replace(of.provenance, tool_version=__version__),
        submitted_at=store.now(),
        checkpoint_dir=asked.checkpoint_dir or of.checkpoint_dir,
        output_dir=asked.output_dir or of.output_dir,
        from_job="",
        from_checkpoint="",
        continue_steps=False,
        datasets=datasets_of(given) or of.datasets,
        config=_config(of, checked.inputs.config),
        links=checked.inputs.links or of.links,
        drill=None,
        sweep="",
        workers=1,
        **checked.fields,
    )
    interpreter = _interpreter(world, of, asked, image_python=checked.image_python)
    packed = Packed(head.bundle, 0, 0, 0, commit=of.provenance.commit, dirty=of.provenance.dirty)
    spec = replace(spec, python=interpreter.path)
    equipment = Equipment(interpreter, interpreter.path, of.environment)
    prepared = Prepared(trained.home.url)
    spec, image = contain(world, spec, asked, checked.engine, store, here, packed, equipment)
    return Plan(
        spec, trained.home, packed, asked, prune, prepared, equipment, checked.secrets, given, checked.notes, image
    )


def _interpreter(world: World, of: Spec, asked: Asked, *, image_python: str) -> Interpreter:
    """What trained in an image's environment is evaluated in one here, where there is no such image."""
    if of.python != ENVIRONMENT_PYTHON or image_python:
        return as_trained(of).interpreter
    return choose_python(Path(asked.directory).absolute(), world.environ, cache=world.cache_dir, asked=asked.python)


def _refuse_code(asked: Asked, trained: Job) -> None:
    """What would be ignored is said: without `--rebuild` nothing is shipped."""
    given = {
        "--dir": asked.extra_dirs,
        "--git": asked.git,
        "--requirements": asked.requirements,
        "--extras": asked.extras,
        "--setup": asked.setup,
    }
    named = [option for option, value in given.items() if value]
    if named:
        raise UsageError(
            f"`{named[0]}` says how code is shipped, and an evaluation uses what job `{trained.id}` was trained with",
            hint="`--rebuild` ships the directory that you stand in",
        )


def _target(trained: Job, bundle: str, text: str) -> Target:
    """A script or module of the bundle that trained."""
    paths = {path.decode(errors="surrogateescape") for path in read_bundle(trained.home.store, bundle).files}
    name = Path(text).as_posix()
    if name in paths and name.endswith(SUFFIXES):
        return Target(TargetKind.SCRIPT if name.endswith(".py") else TargetKind.SHELL, name)
    module = text.replace(".", "/")
    if f"{module}.py" in paths or f"{module}/__main__.py" in paths:
        return Target(TargetKind.MODULE, text)
    raise NotFound(
        f"`{text}` is not in what job `{trained.id}` was trained with",
        state="nothing was started, nothing is being spent",
        hint="`--rebuild` ships the directory that you stand in",
    )


def _config(of: Spec, given: Any) -> Any:
    """What is given now, over what the trained job had."""
    if given is None or of.config is None:
        return given if given is not None else of.config
    config = dict(of.config)
    merge(config, given)
    return config


def id_for(trained: Job, checkpoint: str, step: int, wanted: Wanted) -> str:
    """One id for one checkpoint and one question: whoever asks it again finds the same job."""
    asked = wanted.asked
    question = (trained.folder_url, checkpoint, asked.target, *asked.args, wanted.split)
    digest = hashlib.sha256("\0".join(question).encode(errors="surrogateescape")).hexdigest()[:DIGEST_LENGTH]
    tail = f"-{str(step)[:STEP_LENGTH_MAX]}-{digest}"
    return legal_name(asked.name or trained.id, JOB_ID_LENGTH_MAX - len(tail)) + tail


def newest_trained(world: World, home: str | None) -> Job:
    """The newest job that is no evaluation itself."""
    for one in world.homes(home):
        for row in one.jobs():
            job = Job.of(one, row.job)
            try:
                if job.spec().evaluation is None:
                    return job
            except OutlastError:
                continue
    raise NotFound("there is no job yet that could be evaluated", hint="`outlast run TARGET` makes one")
