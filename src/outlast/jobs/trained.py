"""What an evaluation begins with: the trained job's checkpoint and outputs, copied into its own folder, and a link in that job's."""

from __future__ import annotations

from outlast.errors import KeyMissing, NotFound
from outlast.folder.content import named, pinned
from outlast.folder.evaluation import TRAINED, trained_folder
from outlast.folder.publish import OUTPUT
from outlast.folder.records import EvaluationLink, File, Head, Manifest
from outlast.jobs.adopt import copy_files
from outlast.jobs.job import Job
from outlast.spec.spec import Evaluation, Spec

CHECKPOINT = "checkpoint/"


def bring_trained(job: Job, spec: Spec) -> None:
    """Parts, manifest, link: each names what is there already. Repeated, it finds what the first time has left."""
    evaluation = spec.evaluation
    if evaluation is None:
        return
    trained = Job(evaluation.job, job.home, trained_folder(job.folder, evaluation))
    if _is_submitted(job):
        return
    try:
        job.folder.read_manifest(TRAINED)
    except KeyMissing:
        with pinned(trained.folder, lambda head: _wanted(head, evaluation)) as manifests:
            copy_files(job, trained, manifests[0], _files(manifests, evaluation), TRAINED)
    link = EvaluationLink(spec.job, evaluation.checkpoint, evaluation.step, evaluation.split, spec.submitted_at)
    trained.folder.create(trained.folder.keys.evaluation(spec.job), link)


def _is_submitted(job: Job) -> bool:
    """Head comes after all this: where there is one, the evaluation has begun, and may have given the copy back."""
    try:
        job.folder.read_head()
    except KeyMissing:
        return False
    return True


def _wanted(head: Head, evaluation: Evaluation) -> list[str]:
    """The checkpoint first; then the final outputs, if they are of the same end."""
    last = head.checkpoints[-1].name if head.checkpoints else ""
    names = [evaluation.checkpoint] if evaluation.checkpoint else []
    if head.outputs and evaluation.checkpoint == last:
        names.append(head.outputs)
    if not names or not set(names) <= named(head):
        raise NotFound(
            f"checkpoint `{evaluation.checkpoint}` of job `{evaluation.job}` was replaced by newer ones",
            state="nothing was started, nothing is being spent",
            hint=f"`outlast checkpoints {evaluation.job}` lists those that are kept",
        )
    return names


def _files(manifests: list[Manifest], evaluation: Evaluation) -> list[File]:
    checkpoint = [one for one in manifests[0].files if one.path.startswith(CHECKPOINT)] if evaluation.checkpoint else []
    return [*checkpoint, *(one for one in manifests[-1].files if one.path.startswith(OUTPUT))]
