"""Half a submit is either nothing or a job that can be submitted again.

The order of writes: bundle, spec, index, launch record, head, then the engine's start. Each names only what is there already. All but
head are create-only, and who finds one there uses it: the second submit of a job never mixes its own flags with the first one's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from outlast import __version__
from outlast.bundle.pack import Packed, pack
from outlast.bundle.python import Interpreter, choose_python
from outlast.errors import KeyMissing, NotFound, PreconditionFailed, UsageError
from outlast.folder import layout, life
from outlast.folder.content import download, pinned, select
from outlast.folder.folder import nonce
from outlast.folder.home import Home
from outlast.folder.publish import publish
from outlast.folder.records import Checkpoint, File, Head, LaunchRecord, Manifest, Part, State
from outlast.folder.sound import legal_path
from outlast.jobs.asked import Asked
from outlast.jobs.job import Job, as_launch
from outlast.jobs.world import World
from outlast.spec.names import check_job_id, job_id, name_of_target
from outlast.spec.record import decode, encode
from outlast.spec.spec import Machine, Provenance, Spec
from outlast.spec.target import parse_target

ENGINE_DEFAULT = "local"


@dataclass(frozen=True)
class Plan:
    """A checked request: everything but the writes of the job itself. Its bundle is packed."""

    spec: Spec
    home: Home
    packed: Packed
    interpreter: Interpreter


@dataclass(frozen=True)
class Submitted:
    job: Job
    plan: Plan
    spec: Spec
    resubmitted: bool
    """The job was there already, whole or half."""


def plan(world: World, asked: Asked, *, shipped: Plan | None = None) -> Plan:
    """Checks all that can be checked before anything is started, and packs the bundle, unless `shipped` has just done so."""
    directory = Path(asked.directory).absolute()
    target = parse_target(asked.target, directory)
    name = asked.name or name_of_target(asked.target)
    job = check_job_id(asked.job_id) if asked.job_id else job_id(name, world.random)
    engine = world.engine(asked.on or ENGINE_DEFAULT)
    engine.check(Machine(asked.cpus, asked.gpus), workers=1)
    interpreter = shipped.interpreter if shipped else choose_python(directory, world.environ, cache=world.cache_dir)
    home = world.home(asked.home)
    packed = (
        shipped.packed
        if shipped
        else pack(
            home.store,
            directory,
            extra=[Path(one).absolute() for one in asked.extra_dirs],
            cache=world.cache_dir,
            clock=world.clock,
            target=target,
        )
    )
    spec = Spec(
        job=job,
        name=name,
        target=target,
        bundle=packed.digest,
        python=interpreter.path,
        provenance=Provenance(
            tool_version=__version__,
            python_version=interpreter.version,
            commit=packed.commit,
            dirty=packed.dirty,
            directory=str(directory),
        ),
        submitted_at=home.store.now(),
        args=asked.args,
        engine=engine.name,
        machine=Machine(asked.cpus, asked.gpus),
        labels=dict(asked.labels),
        env=dict(asked.env),
        retries=asked.retries,
        max_run_seconds=asked.max_run_seconds,
        stall_seconds=asked.stall_seconds,
        checkpoint_dir=_inside(asked.checkpoint_dir, "--checkpoint-dir", directory),
        output_dir=_inside(asked.output_dir, "--output-dir", directory),
        resume_args=asked.resume_args,
        from_job=asked.from_job,
        drill=asked.drill,
    )
    return Plan(spec, home, packed, interpreter)


def submit(world: World, asked: Asked) -> Submitted:
    return carry_out(world, plan(world, asked))


def submit_many(world: World, many: Iterable[Asked]) -> list[Submitted]:
    """The bundle is packed once for all that ship the same directories."""
    packed: dict[tuple[str, tuple[str, ...], str | None], Plan] = {}
    submitted: list[Submitted] = []
    for asked in many:
        key = (asked.directory, asked.extra_dirs, asked.home)
        planned = plan(world, asked, shipped=packed.get(key))
        packed[key] = planned
        submitted.append(carry_out(world, planned))
    return submitted


def carry_out(world: World, planned: Plan) -> Submitted:
    job = Job.of(planned.home, planned.spec.job)
    world.remember_home(planned.home)
    spec, there = _spec(job, planned.spec)
    adopted = _adopt(world, job, spec)
    record = launch_record(job, 1, spec.engine, spec, job.home.store.now())
    index(job, spec, record)
    head = begin(job, life.begun(job.id, record, adopted))
    if head.state.final:
        raise UsageError(
            f"there is a job `{job.id}` already, and it has {head.state.value}",
            state="nothing was started, nothing is being spent",
            hint=(f"`--from {job.id}`" if head.state is State.SUCCEEDED else f"`outlast resume {job.id}`")
            + ", or another `--job-id`",
        )
    start(world, job, spec, head)
    return Submitted(job, planned, spec, there)


def _spec(job: Job, spec: Spec) -> tuple[Spec, bool]:
    try:
        job.folder.store.put(job.folder.keys.spec, encode(spec), if_generation=0)
    except PreconditionFailed:
        return job.folder.read_spec(), True
    return spec, False


def launch_record(job: Job, number: int, engine: str, spec: Spec, now: float, **changes: object) -> LaunchRecord:
    """The record with the first free number from `number` on, written; of the first launch, the one that is there already."""
    record = LaunchRecord(
        launch=number,
        id=nonce(job.folder.random),
        engine=engine,
        workers=spec.workers,
        machine=spec.machine,
        launched_at=now,
        deadline_at=now + spec.max_run_seconds,
        bundle=spec.bundle,
    )
    while True:
        record = replace(record, **changes)  # type: ignore[arg-type]
        key = job.folder.keys.launch(record.launch)
        try:
            job.folder.store.put(key, encode(record), if_generation=0)
        except PreconditionFailed:
            there = decode(LaunchRecord, job.folder.store.get(key).data, key)
            if there.id == record.id or number == 1:
                return there
            record = replace(record, launch=record.launch + 1)
        else:
            return record


def index(job: Job, spec: Spec, record: LaunchRecord) -> None:
    """From the launch's own time, so that a submit that is repeated writes the same name again."""
    try:
        job.folder.store.put(layout.index(record.launched_at, job.id, record.launch), b"", if_generation=0)
    except PreconditionFailed:
        return


def begin(job: Job, head: Head) -> Head:
    """Creates head; who comes second takes what is there."""
    try:
        job.folder.store.put(job.folder.keys.head, encode(head), if_generation=0)
    except PreconditionFailed:
        return job.folder.read_head().head
    return head


def start(world: World, job: Job, spec: Spec, head: Head) -> None:
    """Starts head's launch from its record; undone if the job has ended or moved on meanwhile."""
    record = job.folder.read_launch(head.launch)
    launch = as_launch(job, record, spec)
    engine = world.engine(record.engine)
    engine.start(launch)
    try:
        now = job.folder.read_head().head
    except KeyMissing:
        engine.stop(launch)
        return
    if now.state.final or now.launch_id != record.id:
        publish(job.folder, record.id)
        engine.stop(launch)


def _adopt(world: World, job: Job, spec: Spec) -> tuple[Checkpoint, ...]:
    """`--from JOB`: that job's last checkpoint, copied into this one's own folder, so that it lives on by itself."""
    if not spec.from_job:
        return ()
    from outlast.jobs.find import find

    source = find(world, spec.from_job)
    name = "000000-000001"
    try:
        manifest = job.folder.read_manifest(name)
    except KeyMissing:
        with pinned(source.folder, lambda head: [select(head, "last").name]) as (original,):
            manifest = _copy(job, source, original, name)
    return (
        Checkpoint(
            name=manifest.name,
            step=manifest.step,
            bytes=manifest.bytes,
            attempt=0,
            committed_at=manifest.created_at,
            complete=False,
            adopted=True,
        ),
    )


def _copy(job: Job, source: Job, original: Manifest, name: str) -> Manifest:
    """Only the checkpoint itself: outputs belong to the job that made them."""
    files: list[File] = []
    mine = nonce(job.folder.random)
    for number, file in enumerate(one for one in original.files if one.path.startswith("checkpoint/")):
        key = job.folder.keys.part(0, mine, number + 1)
        job.folder.store.upload(key, download(source.folder, file))
        files.append(replace(file, path=_adopted_path(file.path), parts=(Part(key, file.bytes, file.sha256),)))
    if not files:
        raise NotFound(f"the last checkpoint of `{source.id}` holds no files")
    manifest = replace(original, name=name, attempt=0, files=tuple(files), created_at=job.folder.store.now())
    if not job.folder.create(job.folder.keys.manifest(name), manifest):
        return job.folder.read_manifest(name)
    return manifest


def _adopted_path(path: str) -> str:
    """The library's checkpoints stand apart from those of the new job; a script's own files stand where the script looks for them."""
    return path.replace("checkpoint/step-", "checkpoint/adopted/step-", 1)


def _inside(path: str, option: str, directory: Path) -> str:
    """A directory of the script's own, inside its working directory, which the machine can make."""
    if not path:
        return ""
    parts = Path(path).parts
    if Path(path).is_absolute() or ".." in parts or not parts or parts == (".",):
        raise UsageError(
            f"`{option} {path}` is not inside the working directory",
            hint="name a directory below the one the script runs in, such as `checkpoints`",
        )
    if not legal_path(f"checkpoint/{Path(path).as_posix()}"):
        raise UsageError(f"`{option} {path[:60]}...` is too long", hint="name it shortly, such as `checkpoints`")
    for one in (directory / path, *(directory / path).parents):
        if one.is_relative_to(directory) and os.path.lexists(one) and not one.is_dir():
            raise UsageError(f"`{option} {path}`: `{one.relative_to(directory)}` is a file", hint="name a directory")
    return Path(path).as_posix()
