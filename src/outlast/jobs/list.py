"""All jobs of all homes, newest first; what has ended is remembered, because it never changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from outlast.errors import Damaged, Denied, KeyMissing, NewerFormat, NotFound, StoreError, UsageError
from outlast.jobs.job_names import NAMES_MAX, keep_cells, keep_names
from outlast.jobs.remembered import Listed, Remembered, Row, listed
from outlast.jobs.world import World
from outlast.pattern import pattern
from outlast.spec.progress import OnProgress, silent

if TYPE_CHECKING:
    from outlast.folder.home import Home, Indexed
    from outlast.jobs.adrift import Adrift

FINAL_STATES = ("succeeded", "failed", "stopped", "expired")
YOUNG_SECONDS = 300.0
ADRIFT_NAMED_MAX = 8
ENDED = frozenset((*FINAL_STATES, "damaged"))
_SWEEP = b'"total": '
_NO_LABELS = pattern(rb'"labels": ?\{\}')


def list_jobs(
    world: World,
    *,
    home: str | None = None,
    running: bool = False,
    labels: Mapping[str, str] | None = None,
    name: str = "",
) -> list[Row]:
    """The objects of `jobs --json`. `running`: not ended; half a submit has not begun.

    A job whose records cannot be read is listed as `damaged`, with a `why`: one bad job must not hide the others. So has one that is on
    this computer and whose home is not there.
    """
    return [one.row() for one in list_all_jobs(world, home=home, running=running, labels=labels, name=name)]


def list_all_jobs(
    world: World,
    *,
    home: str | None = None,
    running: bool = False,
    states: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    name: str = "",
    on_progress: OnProgress = silent,
) -> list[Listed]:
    """The same, each with its row undecoded."""
    try:
        found = list(world.each(home, lambda one: _all(world, one, on_progress)))
    except (StoreError, Denied) as error:
        error.state = error.state or _adrift_words(world, home)
        raise
    if world.missing or world.away:
        found += _adrift(world, home)
    wanted = [one for one in found if not running or not (one.state in ENDED or is_half(one))]
    if states:
        wanted = [one for one in wanted if one.state in states]
    if name or labels:
        wanted = [one for one in wanted if _fits(one, labels or {}, name)]
    wanted.sort(key=lambda one: -one.submitted_at)
    if not (home or running or states or labels or name):
        keep_names(world.cache_dir, [one.job for one in wanted[:NAMES_MAX]])
        sweeps = [one.row() for one in wanted[:NAMES_MAX] if _SWEEP in one.raw]
        keep_cells(world.cache_dir, {row["job"]: row["cells"]["total"] for row in sweeps if row["cells"]})
    return wanted


def is_half(one: Listed) -> bool:
    """A submit that was never completed, or is not yet: nothing of it runs or waits."""
    return one.state == "submitted" and one.row()["target"] is None


def _fits(one: Listed, labels: Mapping[str, str], name: str) -> bool:
    """What has no label, or does not even contain the name, need not be decoded."""
    if (name and json.dumps(name)[1:-1].encode() not in one.raw) or (labels and _NO_LABELS.search(one.raw)):
        return False
    row = one.row()
    return (not name or name in (row["name"], row["job"])) and all(_has(row["labels"], *one) for one in labels.items())


def _has(labels: Mapping[str, str], key: str, value: str) -> bool:
    """In the words in which it was typed, or as the cloud has it."""
    if labels.get(key) == value:
        return True
    from outlast.spec.sweep.labels import same_label

    return any(same_label((key, value), each) for each in labels.items())


def _all(world: World, home: Home, on_progress: OnProgress) -> Iterator[Listed]:
    remembered = Remembered(world.cache_dir, home.url)
    seen: set[str] = set()
    for number, key in enumerate(home.index_keys()):
        one = remembered.get(key)
        if one is not None:
            if one.job not in seen:
                seen.add(one.job)
                yield one
            continue
        indexed = home.indexed(key)
        if indexed is None or indexed.job in seen:
            continue
        seen.add(indexed.job)
        on_progress("looking at jobs", number, 0, "jobs")
        row = _row(world, home, indexed)
        one = listed(row)
        if one.state in FINAL_STATES and not (row["cells"] and _is_young(row, home.store.now())):
            remembered.add(key, one)
        yield one
    remembered.keep()


def _row(world: World, home: Home, indexed: Indexed) -> Row:
    from outlast.jobs.job import Job
    from outlast.jobs.look import look
    from outlast.results.sweep_status import with_cells

    job = Job.of(home, indexed.job)
    try:
        status = with_cells(job.folder, look(world, job))
    except (NotFound, KeyMissing):
        return row_unread(job.id, job.folder_url, indexed.submitted_at, "submitted", "the submit was never completed")
    except (Damaged, NewerFormat, Denied, UsageError) as error:
        return row_unread(job.id, job.folder_url, indexed.submitted_at, "damaged", error.message)
    if status.state == "running" and status.why:
        world.ailing[status.job] = status.why
    return status.row()


def _is_young(row: Row, now: float) -> bool:
    """The last words of a sweep that was stopped come from machines that may need a moment."""
    return now - float(row["ended_at"] or 0.0) < YOUNG_SECONDS


def _adrift(world: World, home: str | None) -> Iterator[Listed]:
    """What is on this computer and in none of the homes that are there."""
    from outlast.jobs.adrift import adrift

    gone = {*world.missing, *world.away} if home is None else {*world.away}
    for one in adrift(world, lambda one: one.launch.home in gone):
        found = world.engine(one.engine).state(one.launch)
        if found.alive:
            world.adrift[one.folder_url] = found.directories
            yield listed(row_adrift(one, found.condition.value))


def _adrift_words(world: World, home: str | None) -> str:
    """For whoever asked for a home that is away; empty: nothing of it is here."""
    from outlast.jobs.adrift import adrift

    url = world.home_url(home)
    here = [one.id for one in adrift(world, lambda one: one.launch.home == url)]
    if not here:
        return ""
    named = " ".join(here[:ADRIFT_NAMED_MAX])
    are, them = (f"job `{here[0]}` is", "it") if len(here) == 1 else (f"{len(here):,} of its jobs are", "them")
    return f"{are} on this computer all the same; `outlast stop {named}` ends {them}"


def row_adrift(one: Adrift, state: str) -> Row:
    why = f"its home `{one.launch.home}` is not there"
    row = row_unread(one.id, one.folder_url, one.launch.asked_at, state, why)
    return {**row, "engine": one.engine, "target": one.launch.command}


def row_unread(job: str, folder_url: str, submitted_at: float, state: str, why: str) -> Row:
    """Of a job of whose records nothing is known."""
    empty: Row = dict.fromkeys(("target", "step", "started_at", "ended_at", "exit_code", "sweep", "cells", "engine"))
    return {
        **empty,
        "job": job,
        "name": job.rpartition("-")[0] or job,
        "state": state,
        "args": [],
        "labels": {},
        "attempts": 0,
        "preemptions": 0,
        "submitted_at": submitted_at,
        "cost_usd": 0.0,
        "usd_per_hour": 0.0,
        "folder": folder_url,
        "why": why,
    }
