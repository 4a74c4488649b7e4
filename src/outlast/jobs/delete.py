"""Delete: head first, so that whatever still runs finds no job and leaves; then the rest, in any order and as often as it takes."""

from __future__ import annotations

from outlast.errors import KeyMissing, PreconditionFailed, UsageError
from outlast.folder import layout
from outlast.jobs.job import Job, as_launch
from outlast.jobs.secrets import forget
from outlast.jobs.world import World


def delete(world: World, job: Job) -> int:
    """Answers how many objects were removed. Killed half-way it can be called again; a job that runs is refused."""
    try:
        at = job.folder.read_head()
    except KeyMissing:
        return _remove(job)
    if not at.head.state.final:
        raise UsageError(
            f"job `{job.id}` has not ended: it is {at.head.state.value}",
            state="nothing was deleted",
            hint=f"`outlast stop {job.id}` first",
        )
    record = job.folder.read_launch(at.head.launch)
    spec = job.folder.read_spec()
    world.engine(record.engine).stop(as_launch(job, record, spec))
    forget(world, spec, record.id)
    try:
        job.folder.store.delete(job.folder.keys.head, if_generation=at.generation)
    except PreconditionFailed:
        raise UsageError(
            f"job `{job.id}` was changed at this moment", hint=f"look at it: `outlast show {job.id}`"
        ) from None
    return 1 + _remove(job)


def _remove(job: Job) -> int:
    """The index last: until then the job is still found, and can be deleted again."""
    keys = [entry.key for entry in job.folder.store.list(job.folder.keys.root) if entry.key != job.folder.keys.head]
    job.folder.store.purge(keys)
    rows = [entry.key for entry in job.folder.store.list(layout.INDEX) if _is_of(job.id, entry.key)]
    job.folder.store.purge(rows)
    return len(keys) + len(rows)


def _is_of(job: str, key: str) -> bool:
    try:
        return layout.index_parts(key)[1] == job
    except ValueError:
        return False
