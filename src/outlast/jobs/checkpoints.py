"""The checkpoints of a job, and whether each is whole."""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.errors import Damaged, NewerFormat
from outlast.folder.content import download, read_manifest
from outlast.folder.records import Checkpoint
from outlast.jobs.job import Job


@dataclass(frozen=True)
class CheckpointState:
    checkpoint: Checkpoint
    files: int = 0
    problem: str = ""
    """Empty: nothing was found wrong, as far as was looked."""


def list_checkpoints(job: Job) -> list[CheckpointState]:
    """Newest last. Manifests are read, parts are not."""
    return [_state(job, checkpoint, read_parts=False) for checkpoint in job.folder.existing_head().head.checkpoints]


def verify_checkpoints(job: Job) -> list[CheckpointState]:
    """Every part of every kept checkpoint is read and compared with its sha256."""
    return [_state(job, checkpoint, read_parts=True) for checkpoint in job.folder.existing_head().head.checkpoints]


def _state(job: Job, checkpoint: Checkpoint, *, read_parts: bool) -> CheckpointState:
    try:
        manifest = read_manifest(job.folder, checkpoint.name)
        for file in manifest.files if read_parts else ():
            for _ in download(job.folder, file):
                pass
    except (Damaged, NewerFormat) as error:
        return CheckpointState(checkpoint, problem=error.message)
    return CheckpointState(checkpoint, len(manifest.files))
