"""Prune: old jobs that have ended, halves of submits, and what no job needs any more. Safe against whatever runs meanwhile.

The order: jobs, each head first by its generation; then what is condemned is written down (folder/prunes.py says why that is safe); then
halves of submits, each spec first by its generation; then, found out anew, what is condemned and still not needed. Killed
anywhere, the next prune does the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from outlast.dataclass import dataclass, replace
from outlast.engines.registry import LEFTOVERS
from outlast.errors import KeyMissing, PreconditionFailed, UsageError
from outlast.folder.home import Home
from outlast.folder.prunes import Prunes, condemn, read_prunes
from outlast.host.files import remove
from outlast.jobs.data_caches import unused_caches
from outlast.jobs.delete import Pinned, delete, is_pinned
from outlast.jobs.environment_caches import is_environment, remove_environment, unused_environments
from outlast.jobs.job import Job
from outlast.jobs.secrets import secrets_unneeded
from outlast.jobs.survey import JobSeen, Unneeded, reach_of, read_head, read_spec, see_jobs, stale_pins, unneeded
from outlast.jobs.world import World
from outlast.spec.progress import OnProgress, silent
from outlast.store.store import Entry

HALF_SECONDS_MIN = 86400.0
"""A submit that began less than a day ago may still be under way, whatever was asked for."""

PURGED_AT_ONCE = 500


@dataclass(frozen=True)
class Item:
    """One thing that goes, as people and `--json` see it."""

    kind: str
    """`job`, `half submit`, `bundle`, `pack`, `dataset`, `environment`, `pin`, `cache`, `machine`, `secret`."""

    name: str
    home: str
    bytes: int
    state: str = ""
    ended_at: float | None = None


@dataclass
class Found:
    """What a prune of one home would remove."""

    home: Home
    before: Prunes
    """Read before all else."""

    jobs: list[JobSeen] = field(default_factory=list)
    halves: list[JobSeen] = field(default_factory=list)
    others: list[Unneeded] = field(default_factory=list)
    pins: list[str] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Jobs of which nobody can tell what they need: while there is one, nothing that jobs share is removed."""


@dataclass
class Pruned:
    items: list[Item] = field(default_factory=list)
    spared: list[str] = field(default_factory=list)
    """What was found and then left: in use after all, or changed at that moment."""

    @property
    def bytes(self) -> int:
        return sum(item.bytes for item in self.items)


def find_unneeded(
    home: Home, *, older_than_seconds: float, with_jobs: bool = True, on_progress: OnProgress = silent
) -> Found:
    """Only looks."""
    found = Found(home, read_prunes(home.store))
    seen = see_jobs(home, on_progress)
    now = home.store.now()
    kept = []
    for number, job in enumerate(seen.values()):
        on_progress("finding old jobs", number + 1, len(seen), "jobs")
        head = read_head(home, job) if with_jobs and job.head is not None else None
        ended_at = head.ended_at if head is not None and head.state.final else None
        if head is not None and ended_at is not None and ended_at <= now - older_than_seconds:
            found.jobs.append(job)
            found.items.append(Item("job", job.id, home.url, job.bytes, head.state.value, ended_at))
        elif job.head is None and _is_old_half(home, job, now - max(older_than_seconds, HALF_SECONDS_MIN)):
            found.halves.append(job)
            found.items.append(Item("half submit", job.id, home.url, job.bytes))
        else:
            kept.append(job)
    found.pins = stale_pins(home, kept)
    found.items += [Item("pin", key, home.url, 0) for key in found.pins]
    reach, found.unknown = reach_of(home, kept, on_progress)
    if not found.unknown:
        found.others = list(unneeded(home, reach, found.before))
    found.items += [_item(home, one) for one in found.others]
    return found


def _is_old_half(home: Home, job: JobSeen, before: float) -> bool:
    if is_pinned(Job.of(home, job.id)):
        return False  # deleted while somebody copies from it
    spec = read_spec(home, job)
    return (spec.submitted_at if spec is not None else job.indexed_at) <= before


def _item(home: Home, one: Unneeded) -> Item:
    return Item(one.shared.word, one.entry.key.removeprefix(one.shared.prefix), home.url, one.entry.bytes)


def prune(world: World, found: Found, on_progress: OnProgress = silent) -> Pruned:
    """Removes what was found, as far as it is still so."""
    pruned = Pruned()
    _remove_jobs(world, found, pruned, on_progress)
    found.home.store.purge(found.pins)
    pruned.items += [item for item in found.items if item.kind == "pin"]
    if not found.halves and not found.others:
        return pruned
    while not _condemn_and_remove(found, pruned, on_progress):
        again = find_unneeded(found.home, older_than_seconds=0.0, with_jobs=False, on_progress=on_progress)
        found = replace(found, before=again.before, others=again.others, unknown=again.unknown)
    return pruned


def _remove_jobs(world: World, found: Found, pruned: Pruned, on_progress: OnProgress) -> None:
    items = {item.name: item for item in found.items if item.kind == "job"}
    for number, seen in enumerate(found.jobs):
        on_progress("deleting jobs", number + 1, len(found.jobs), "jobs")
        try:
            delete(world, Job.of(found.home, seen.id), spare_pinned=True, rows=seen.rows)
        except (UsageError, Pinned):
            pruned.spared.append(seen.id)
        else:
            pruned.items.append(items[seen.id])


def _condemn_and_remove(found: Found, pruned: Pruned, on_progress: OnProgress) -> bool:
    """False: another prune came first, and all that is shared is to be looked at anew."""
    home, others = found.home, found.others
    records = {one.entry.key: one.entry.generation for one in others if one.shared.is_record(one.entry.key)}
    masses = [one.entry.key for one in others if one.entry.key not in records]
    if found.unknown:  # what was condemned before stays so: this record takes the place of that one
        records, masses = dict(found.before.records), sorted(found.before.masses)
    if condemn(home.store, found.before, records, masses) is None:
        return False
    for half in found.halves:
        _remove_half(home, half, pruned)
    reach, unknown = reach_of(home, see_jobs(home, on_progress).values(), on_progress)
    gone = [] if unknown else [one for one in others if not reach.holds(one.entry.key)]
    pruned.spared += [one.entry.key for one in others if unknown or reach.holds(one.entry.key)]
    _remove_others(home, gone, pruned, on_progress)
    return True


def _remove_half(home: Home, half: JobSeen, pruned: Pruned) -> None:
    """Its spec first, by its generation: a submit that goes on from here sees a newer prune, and writes it anew."""
    job = Job.of(home, half.id)
    try:
        job.folder.store.get(job.folder.keys.head)
    except KeyMissing:
        pass
    else:
        pruned.spared.append(half.id)
        return
    listed = list(home.store.list(job.folder.keys.root))
    if half.spec is not None:
        try:
            home.store.delete(half.spec.key, if_generation=half.spec.generation)
        except PreconditionFailed:
            pruned.spared.append(half.id)
            return
    # From here on a submit of the same id may begin anew: what it writes has other generations, or other names.
    for entry in listed:
        if entry.key.startswith(job.folder.keys.launches):
            _delete(home, entry)
    apart = (job.folder.keys.spec, job.folder.keys.head)
    home.store.purge(
        [one.key for one in listed if one.key not in apart and not one.key.startswith(job.folder.keys.launches)]
    )
    home.store.purge(half.rows)
    pruned.items.append(Item("half submit", half.id, home.url, half.bytes))


def _delete(home: Home, entry: Entry) -> bool:
    try:
        home.store.delete(entry.key, if_generation=entry.generation)
    except PreconditionFailed:
        return False
    return True


def _remove_others(home: Home, gone: list[Unneeded], pruned: Pruned, on_progress: OnProgress) -> None:
    """Records by their generation, one by one; masses, whose names never come back, many at once."""
    total = sum(one.entry.bytes for one in gone)
    done = 0
    masses: list[str] = []
    for one in gone:
        if one.shared.is_record(one.entry.key):
            if not _delete(home, one.entry):
                pruned.spared.append(one.entry.key)  # somebody wrote it anew, or another prune was here
                continue
        else:
            masses.append(one.entry.key)
            if len(masses) >= PURGED_AT_ONCE:
                home.store.purge(masses)
                masses.clear()
        done += one.entry.bytes
        on_progress("removing", done, total)
        pruned.items.append(_item(home, one))
    home.store.purge(masses)


def find_local(world: World, *, older_than_seconds: float) -> Iterator[tuple[Item, Path]]:
    """What lies in the user's own directory: caches that are old or of homes that are gone, and what dead machines left."""
    now = world.clock.now()
    for directory in (world.cache_dir, world.cache_dir / "bundles"):
        for entry in _entries(directory):
            if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime <= (
                now - older_than_seconds
            ):
                yield _local("cache", Path(entry.path), entry.stat(follow_symlinks=False).st_size)
    for cached in unused_caches(world, older_than_seconds=older_than_seconds):
        for path in cached.paths:
            yield _local("cache", path, cached.bytes if path == cached.paths[-1] else 0)
    for link, bytes_ in unused_environments(world, older_than_seconds=older_than_seconds):
        yield _local("environment", link, bytes_)
    for path in secrets_unneeded(world):
        yield _local("secret", path, 0)
    for find_leftovers in LEFTOVERS.values():
        for leftover in find_leftovers(world.user_dir):
            yield _local("machine", leftover.path, leftover.bytes)


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _local(kind: str, path: Path, bytes_: int) -> tuple[Item, Path]:
    return Item(kind, str(path), "", bytes_), path


def prune_local(world: World, items: list[tuple[Item, Path]]) -> Pruned:
    pruned = Pruned()
    for item, path in items:
        if is_environment(world, path):
            remove_environment(world, path)
        else:
            remove(path)
        if os.path.lexists(path):
            pruned.spared.append(str(path))
        else:
            pruned.items.append(item)
    return pruned
