"""All jobs of all homes, newest first; what has ended is remembered, because it never changes."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outlast.errors import Damaged, Denied, KeyMissing, NewerFormat, NotFound, UsageError
from outlast.jobs.world import World
from outlast.spec.plain_file import read_plain

if TYPE_CHECKING:
    from outlast.folder.home import Home, Indexed
    from outlast.jobs.job import Job

Row = dict[str, Any]

FINAL_STATES = ("succeeded", "failed", "stopped", "expired")
REMEMBERED_BYTES_MAX = 256 << 20
"""Half a million jobs; a longer list is made anew each time."""


def list_jobs(
    world: World,
    *,
    home: str | None = None,
    running: bool = False,
    labels: Mapping[str, str] | None = None,
    name: str = "",
) -> list[Row]:
    """The objects of `jobs --json`. `running`: not ended.

    A job whose records cannot be read is listed as `damaged`, and it alone has a `why`: one bad job must not hide the others.
    """
    rows = list(world.each(home, lambda one: _rows(world, one)))
    wanted = [
        row
        for row in rows
        if (not running or row["state"] not in (*FINAL_STATES, "damaged"))
        and (not name or row["name"] == name)
        and all(row["labels"].get(key) == value for key, value in (labels or {}).items())
    ]
    return sorted(wanted, key=lambda row: -row["submitted_at"])


def _rows(world: World, home: Home) -> Iterator[Row]:
    remembered = _Remembered(world.cache_dir, home)
    for indexed in home.jobs():
        # With its time: a job that was deleted and submitted again under the same id is another one.
        key = f"{indexed.submitted_at:.3f}-{indexed.job}-{indexed.launch}"
        row = remembered.get(key)
        if row is None:
            row = _row(world, home, indexed)
            # A later launch has a later index row, so a final one is final for ever under this key.
            if row["state"] in FINAL_STATES:
                remembered.add(key, row)
        yield row
    remembered.keep()


def _row(world: World, home: Home, indexed: Indexed) -> Row:
    from outlast.jobs.job import Job
    from outlast.jobs.look import look

    job = Job.of(home, indexed.job)
    try:
        return look(world, job).row()
    except (NotFound, KeyMissing):
        return _half(job, indexed, "submitted", "the submit was never completed")
    except (Damaged, NewerFormat, Denied, UsageError) as error:
        return _half(job, indexed, "damaged", error.message)


def _half(job: Job, indexed: Indexed, state: str, why: str) -> Row:
    empty: Row = dict.fromkeys(("target", "step", "started_at", "ended_at", "exit_code", "sweep", "engine"))
    return {
        **empty,
        "job": job.id,
        "name": job.id.rpartition("-")[0] or job.id,
        "state": state,
        "args": [],
        "labels": {},
        "attempts": 0,
        "preemptions": 0,
        "submitted_at": indexed.submitted_at,
        "cost_usd": 0.0,
        "folder": job.folder_url,
        "why": why,
    }


class _Remembered:
    """Rows of ended jobs in the user's cache: only a cache, and rewritten whole."""

    def __init__(self, cache_dir: Path, home: Home) -> None:
        self._home = home.url
        self._path = cache_dir / f"jobs-{zlib.crc32(os.fsencode(home.url)):08x}.json"
        self._new = False
        self._seen: dict[str, Row] = {}
        self._rows: dict[str, Row] = {}
        try:
            document = json.loads(read_plain(self._path, REMEMBERED_BYTES_MAX))
            if document["home"] == home.url:
                self._rows = dict(document["rows"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return

    def get(self, key: str) -> Row | None:
        row = self._rows.get(key)
        if row is not None:
            self._seen[key] = row
        return row

    def add(self, key: str, row: Row) -> None:
        self._seen[key] = row
        self._new = True

    def keep(self) -> None:
        if not self._new and len(self._seen) == len(self._rows):
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._path.with_name(f".{self._path.name}-{os.getpid()}")
            temporary.write_text(json.dumps({"home": self._home, "rows": self._seen}))
            temporary.replace(self._path)
        except OSError:
            # Without a cache the next list is slower, nothing else.
            return
