"""Delete: head first, so that whatever still runs finds no job and leaves; then the rest, in any order and as often as it takes."""

from __future__ import annotations

from collections.abc import Iterable

from outlast.errors import Damaged, KeyMissing, NewerFormat, PreconditionFailed, StoreFull, UsageError
from outlast.folder import layout
from outlast.folder.records import Pin
from outlast.jobs.job import Job, as_launch
from outlast.jobs.secrets import forget
from outlast.jobs.sweep_parts import refuse_cell
from outlast.jobs.world import World
from outlast.spec.record import decode


class Pinned(Exception):
    """Somebody is reading: the job is gone, its files stay until the pin's end."""


def delete(world: World, job: Job, *, spare_pinned: bool = False, rows: Iterable[str] | None = None) -> int:
    """Answers how many objects were removed. Killed half-way it can be called again; a job that runs is refused.

    A job whose records are damaged is removed too: what is left of it on a machine finds no head, and leaves. `rows`: its keys in
    the index, where the caller knows them. `spare_pinned`: after head, what a reader holds is left, and `Pinned` raised.
    """
    refuse_cell(job, "delete")
    try:
        at = job.folder.read_head()
    except KeyMissing:
        return _remove(job, spare_pinned, rows)
    except Damaged:
        generation = job.folder.store.get(job.folder.keys.head).generation
    else:
        generation = at.generation
        if not at.head.state.final:
            raise UsageError(
                f"job `{job.id}` has not ended: it is {at.head.state.value}",
                state="nothing was deleted",
                hint=f"`outlast stop {job.id}` first",
            )
        _stop(world, job, at.head.launch)
    try:
        _delete_head(job, generation)
    except PreconditionFailed:
        raise UsageError(
            f"job `{job.id}` was changed at this moment", hint=f"look at it: `outlast show {job.id}`"
        ) from None
    return 1 + _remove(job, spare_pinned, rows)


def _delete_head(job: Job, generation: int) -> None:
    """On a full disk what is large goes first: people delete jobs to make room. It has ended, and its head says so until then."""
    try:
        job.folder.store.delete(job.folder.keys.head, if_generation=generation)
    except StoreFull:
        large = [entry.key for entry in job.folder.store.list(job.folder.keys.attempts)]
        if not large or is_pinned(job):
            raise
        job.folder.store.purge(large)
        job.folder.store.delete(job.folder.keys.head, if_generation=generation)


def _stop(world: World, job: Job, launch: int) -> None:
    try:
        record = job.folder.read_launch(launch)
        spec = job.folder.read_spec()
    except (Damaged, KeyMissing):
        return  # nobody could have started it without them
    world.engine(record.engine).stop(as_launch(job, record, spec))
    forget(world, spec, record.id)


def _remove(job: Job, spare_pinned: bool, rows: Iterable[str] | None) -> int:
    """The index last: until then the job is still found, and can be deleted again."""
    if spare_pinned and is_pinned(job):
        raise Pinned
    keys = [entry.key for entry in job.folder.store.list(job.folder.keys.root) if entry.key != job.folder.keys.head]
    job.folder.store.purge(keys)
    if rows is None:
        rows = [entry.key for entry in job.folder.store.list(layout.INDEX) if _is_of(job.id, entry.key)]
    rows = list(rows)
    job.folder.store.purge(rows)
    return len(keys) + len(rows)


def is_pinned(job: Job) -> bool:
    """Whether a reader's hold has not ended. It was made before the reader looked at head again: after head is gone, none comes."""
    store = job.folder.store
    for entry in store.list(job.folder.keys.pins):
        try:
            if decode(Pin, store.get(entry.key).data, entry.key).until > store.now():
                return True
        except (KeyMissing, Damaged, NewerFormat):
            continue
    return False


def size_of(job: Job) -> tuple[int, int]:
    """(objects, bytes) of its folder."""
    sizes = [entry.bytes for entry in job.folder.store.list(job.folder.keys.root)]
    return len(sizes), sum(sizes)


def _is_of(job: str, key: str) -> bool:
    try:
        return layout.index_parts(key)[1] == job
    except ValueError:
        return False
