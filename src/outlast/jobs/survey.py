"""What a home holds, in one listing: each job's size, what it has and lacks, and what lies there that no job needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import field
from typing import NamedTuple

from outlast.dataclass import dataclass
from outlast.errors import Damaged, KeyMissing, NewerFormat, OutlastError
from outlast.folder import layout
from outlast.folder.folder import Folder
from outlast.folder.home import Home
from outlast.folder.prunes import Prunes
from outlast.folder.records import Head, LaunchRecord, Pin
from outlast.folder.sweep import SweepFolder
from outlast.jobs.job import Job
from outlast.jobs.reach import SHARED, Reach, Shared
from outlast.spec.progress import OnProgress, silent
from outlast.spec.record import decode
from outlast.spec.spec import Spec
from outlast.store.store import Entry


@dataclass
class JobSeen:
    id: str
    objects: int = 0
    bytes: int = 0
    spec: Entry | None = None
    head: Entry | None = None
    pins: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    """Its keys in the index."""

    indexed_at: float = 0.0


class Unneeded(NamedTuple):
    shared: Shared
    entry: Entry


def see_jobs(home: Home, on_progress: OnProgress = silent) -> dict[str, JobSeen]:
    """Everything below `jobs/`, and the index. A foreign file there is no job."""
    jobs: dict[str, JobSeen] = {}
    for number, entry in enumerate(home.store.list(layout.JOBS)):
        on_progress("looking at jobs", number + 1, 0, "objects")
        id, _, rest = entry.key.removeprefix(layout.JOBS).partition("/")
        if not rest or not layout.JOB_ID_CHARACTERS.issuperset(id):
            continue
        seen = jobs.setdefault(id, JobSeen(id))
        seen.objects += 1
        seen.bytes += entry.bytes
        if rest == "spec.json":
            seen.spec = entry
        elif rest == "head.json":
            seen.head = entry
        elif rest.startswith("pins/"):
            seen.pins.append(entry.key)
    for row in home.store.list(layout.INDEX):
        try:
            submitted_at, id, _ = layout.index_parts(row.key)
        except ValueError:
            continue
        seen = jobs.setdefault(id, JobSeen(id))
        seen.rows.append(row.key)
        seen.indexed_at = max(seen.indexed_at, submitted_at)
    return jobs


def read_head(home: Home, seen: JobSeen) -> Head | None:
    """None: there is none, or it cannot be read."""
    try:
        return Job.of(home, seen.id).folder.read_head().head if seen.head is not None else None
    except (KeyMissing, Damaged, NewerFormat):
        return None


def read_spec(home: Home, seen: JobSeen) -> Spec | None:
    try:
        return Job.of(home, seen.id).folder.read_spec() if seen.spec is not None else None
    except (KeyMissing, Damaged, NewerFormat):
        return None


def reach_of(home: Home, jobs: Iterable[JobSeen], on_progress: OnProgress = silent) -> tuple[Reach, list[str]]:
    """What these jobs need; and the ids of those of which nobody can tell."""
    reach = Reach(home.store)
    unknown: list[str] = []
    jobs = list(jobs)
    for number, seen in enumerate(jobs):
        on_progress("finding out what jobs need", number + 1, len(jobs), "jobs")
        if seen.spec is None and seen.head is None:
            continue
        folder = Job.of(home, seen.id).folder
        try:
            head = folder.read_head().head if seen.head is not None else None
            spec = folder.read_spec()
            reach.add(spec, *([head.bundle] if head is not None else []), *_bundles_of_cells(folder, spec))
        except KeyMissing:
            continue  # it was deleted since it was listed
        except OutlastError:
            unknown.append(seen.id)
    try:
        reach.add_names()
    except OutlastError:
        unknown.append(layout.DATASET_NAMES)
    return reach, unknown


def _bundles_of_cells(folder: Folder, spec: Spec) -> Iterator[str]:
    """A sweep may go over several commits, and take other code with a later launch, whose record is there before head names it."""
    if spec.cells is None:
        return
    for grid in SweepFolder(folder).grids():
        yield from (source.bundle for source in grid.sources)
    for entry in folder.store.list(folder.keys.launches):
        if entry.key.endswith(".json") and entry.key.count("/") == folder.keys.launches.count("/"):
            yield folder.read(LaunchRecord, entry.key).bundle


def unneeded(home: Home, reach: Reach, condemned: Prunes) -> Iterator[Unneeded]:
    """What is there and is not reached, and what was condemned before and is still there."""
    for shared in SHARED:
        for entry in home.store.list(shared.prefix):
            if not reach.holds(entry.key) or condemned.condemns(entry):
                yield Unneeded(shared, entry)


def stale_pins(home: Home, jobs: Collection[JobSeen]) -> list[str]:
    now = home.store.now()
    stale = []
    for key in (key for seen in jobs for key in seen.pins):
        try:
            if decode(Pin, home.store.get(key).data, key).until < now:
                stale.append(key)
        except (Damaged, KeyMissing):
            stale.append(key)
        except NewerFormat:
            continue
    return stale
