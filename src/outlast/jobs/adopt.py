"""`--from JOB`: that job's checkpoint, copied into the new one's own folder, so that it lives on by itself."""

from __future__ import annotations

from collections.abc import Callable

from outlast.dataclass import dataclass, replace
from outlast.errors import Damaged, KeyMissing, NotFound, UsageError
from outlast.folder.content import download, pinned, read_manifest, select
from outlast.folder.folder import nonce
from outlast.folder.records import Checkpoint, File, Head, Manifest, Part
from outlast.jobs.find import find
from outlast.jobs.job import Job
from outlast.jobs.sweep_parts import is_sweep, refuse_sweep
from outlast.jobs.world import World
from outlast.pattern import pattern
from outlast.spec.spec import Spec

NAME = "000000-000001"
"""No attempt of the job's own has the number 0."""

_CHECKPOINT = pattern(r"last|best|\d+|\d{6}-\d{6}(?:-[0-9a-f]{8})?")


@dataclass(frozen=True)
class Source:
    job: str = ""
    checkpoint: str = ""


def split_source(text: str) -> tuple[str, str]:
    """(job, checkpoint) of `JOB@STEP`. A folder's path may hold an `@` too: what follows must look like a checkpoint."""
    job, at, checkpoint = text.rpartition("@")
    if not at or "/" in checkpoint:
        return text, ""
    if not job or not _CHECKPOINT.fullmatch(checkpoint):
        raise UsageError(f"`--from {text}`: `{checkpoint}` is no checkpoint", hint="`JOB@best`, or `JOB@STEP`")
    return job, checkpoint


def choose_source(world: World, text: str, *, continue_steps: bool) -> Source:
    """Seen to be there, before anything of the new job is written."""
    if not text:
        if continue_steps:
            raise UsageError(
                "`--continue-steps` says nothing without `--from JOB`", hint="`--from JOB --continue-steps`"
            )
        return Source()
    job, choice = split_source(text)
    source = find(world, job)
    if is_sweep(source):
        refuse_sweep(
            source,
            source.spec(),
            "which of its cells to begin with is not said",
            f"`--from {source.id}.1`; `outlast results {source.id}` lists the best first",
        )
    try:
        chosen = select(source.folder.existing_head().head, choice or "last").name
    except NotFound as error:
        error.state = error.state or "nothing was started, nothing is being spent"
        raise
    if not _checkpoint_files(read_manifest(source.folder, chosen)):
        raise NotFound(f"checkpoint `{chosen}` of job `{source.id}` holds no files but outputs")
    named = source.folder_url if "/" in job else source.id
    return Source(named, "" if choice in ("", "last") else chosen)


def anew_words(job: str, head: Head) -> str:
    """How a new job is begun in the place of one that has ended: with its weights, if it kept any."""
    if head.checkpoints:
        return f"`outlast run --from {job} ...` begins a new job with its weights"
    return "`outlast run` begins a new job; this one kept no checkpoint to begin it with"


def adopt(world: World, job: Job, spec: Spec) -> tuple[Checkpoint, ...]:
    """What the job's head begins with: nothing, or the copy. Repeated, it finds the copy there."""
    if not spec.from_job:
        return ()
    try:
        manifest = job.folder.read_manifest(NAME)
    except KeyMissing:
        choose = _choose(spec.from_checkpoint or "last")
        source = find(world, spec.from_job)
        try:
            with pinned(source.folder, choose) as (original,):
                manifest = copy_files(job, source, original, _checkpoint_files(original), NAME)
        except Damaged as error:
            raise Damaged(
                error.message,
                state=f"job `{job.id}` was not started, nothing is being spent",
                hint=f"`outlast checkpoints {source.id} --verify` tells which are whole, `--from {source.id}@STEP` begins with one",
            ) from error
    return (
        Checkpoint(
            name=manifest.name,
            step=manifest.step,
            bytes=manifest.bytes,
            attempt=0,
            committed_at=manifest.created_at,
            complete=False,
            adopted=True,
            continued=spec.continue_steps,
        ),
    )


def _choose(choice: str) -> Callable[[Head], list[str]]:
    return lambda head: [select(head, choice).name]


def _checkpoint_files(manifest: Manifest) -> list[File]:
    """Only the checkpoint itself: outputs belong to the job that made them."""
    return [one for one in manifest.files if one.path.startswith("checkpoint/")]


def copy_files(job: Job, source: Job, original: Manifest, chosen: list[File], name: str) -> Manifest:
    """Parts, then the manifest, which is create-only: who comes second uses what is there."""
    files: list[File] = []
    mine = nonce(job.folder.random)
    for number, file in enumerate(chosen):
        key = job.folder.keys.part(0, mine, number + 1)
        job.folder.store.upload(key, download(source.folder, file))
        files.append(replace(file, path=adopted_path(file.path), parts=(Part(key, file.bytes, file.sha256),)))
    manifest = replace(original, name=name, attempt=0, files=tuple(files), created_at=job.folder.store.now())
    if not job.folder.create(job.folder.keys.manifest(name), manifest):
        return job.folder.read_manifest(name)
    return manifest


def adopted_path(path: str) -> str:
    """The library's checkpoints stand apart from those of the new job; a script's own files stand where the script looks for them."""
    return path.replace("checkpoint/step-", "checkpoint/adopted/step-", 1)
