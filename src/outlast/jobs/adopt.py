"""`--from JOB`: that job's last checkpoint, copied into the new one's own folder, so that it lives on by itself."""

from __future__ import annotations

from dataclasses import replace

from outlast.errors import KeyMissing, NotFound
from outlast.folder.content import download, pinned, select
from outlast.folder.folder import nonce
from outlast.folder.records import Checkpoint, File, Manifest, Part
from outlast.jobs.find import find
from outlast.jobs.job import Job
from outlast.jobs.world import World
from outlast.spec.spec import Spec

NAME = "000000-000001"
"""No attempt of the job's own has the number 0."""


def adopt(world: World, job: Job, spec: Spec) -> tuple[Checkpoint, ...]:
    """What the job's head begins with: nothing, or the copy. Repeated, it finds the copy there."""
    if not spec.from_job:
        return ()
    try:
        manifest = job.folder.read_manifest(NAME)
    except KeyMissing:
        source = find(world, spec.from_job)
        with pinned(source.folder, lambda head: [select(head, "last").name]) as (original,):
            manifest = _copy(job, source, original, NAME)
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
