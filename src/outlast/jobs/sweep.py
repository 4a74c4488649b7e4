"""Submitting a sweep: its cells are one record, and the same sweep submitted again begins only what is missing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from outlast.bundle.record import read_bundle
from outlast.dataclass import dataclass, replace
from outlast.errors import KeyMissing, UsageError
from outlast.folder.cells import Cells
from outlast.folder.layout import SweepKeys
from outlast.folder.records import LaunchRecord, SweepLaunch
from outlast.folder.sweep import GOOD, SweepFolder
from outlast.folder.sweep_records import Grid, Row, Source, as_text
from outlast.jobs.job import Job
from outlast.jobs.launch import start
from outlast.jobs.plan import Plan
from outlast.jobs.resume import relaunch
from outlast.jobs.settle import settle, settle_sources
from outlast.jobs.study import check_study
from outlast.jobs.submit import Submitted, carry_out
from outlast.jobs.world import World
from outlast.spec.record import plain
from outlast.spec.spec import Spec, Sweep
from outlast.spec.sweep.expand import expansion
from outlast.spec.sweep.flags import to_flags
from outlast.spec.sweep.space import space

CELLS_MAX = 999_999
GRID = Sweep()
REF = "ref"
"""The parameter by which cells of several commits are told apart."""

OPTIONS = {"per_machine": "--cells-per-machine"}
RERUNS = ("failed", "all", "none")
MAY_DIFFER = frozenset(
    {"args", "bundle", "submitted_at", "provenance", "machine", "workers", "labels", "max_run_seconds", "max_cost_usd"}
)
"""What a later submit of the same sweep may have otherwise; the rest is what its cells have in common."""


@dataclass(frozen=True)
class SweepAsked:
    """The cells, before they are checked."""

    document: Any
    where: str
    """What the document is called in an error."""

    cells: Sweep = GRID
    trials: int | None = None
    """How many cells a search has."""

    sources: tuple[Source, ...] = ()
    parallel: int | None = None
    rerun: str = ""
    """Which of the cells that have ended are begun again: `failed`, `all`, `none`; empty: `failed`, if the code is the same."""


@dataclass(frozen=True)
class Again:
    """What a sweep that is there already would do when it is submitted again."""

    job: Job
    spec: Spec
    previous: LaunchRecord
    running: bool
    changed: tuple[str, ...]
    """Files of its code that are not as they were."""

    new: tuple[int, ...]
    """Cells of the document that the sweep does not have yet, from 0."""

    rows: Mapping[int, Row]
    missing: int
    """Cells that never ended."""

    @property
    def cells(self) -> int:
        """With the new ones."""
        return len(self.rows) + self.missing + len(self.new)

    @property
    def failed(self) -> int:
        return sum(1 for row in self.rows.values() if row.state not in GOOD)

    def to_do(self, rerun: str) -> int:
        again = {"all": len(self.rows), "failed": self.failed, "none": 0}[rerun]
        return len(self.new) + self.missing + again


def count_cells(asked: SweepAsked) -> int:
    """Checked: every mistake in the document is found here."""
    check_study(asked.cells)
    names: Iterable[str]
    if asked.cells.search:
        names = space(asked.document, asked.where).names()
        cells = asked.trials or 0
        if cells < 1:
            raise UsageError(
                f"`--search {asked.cells.search}` needs to know how many cells to try", hint="`--trials 50`"
            )
    else:
        if asked.trials is not None:
            raise UsageError("`--trials` says how many cells a search has", hint="add `--search random`")
        expanded = expansion(asked.document, asked.where)
        names, cells = expanded.names() if asked.sources else (), expanded.cell_count
    if asked.sources and REF in names:
        raise UsageError(
            f"`{asked.where}`, key `{REF}`: that is what the commits of `--git` are called in this sweep",
            hint="call the script's flag otherwise, or submit a sweep for each commit",
        )
    cells *= len(asked.sources) or 1
    if not 1 <= cells <= CELLS_MAX:
        problem = "has no cell: a list in it is empty" if not cells else f"has {cells:,} cells"
        raise UsageError(f"`{asked.where}` {problem}", hint=f"a sweep has between 1 and {CELLS_MAX:,}")
    return cells


def first_grid(asked: SweepAsked, args: tuple[str, ...], now: float) -> Grid:
    return Grid(1, 1, count_cells(asked), as_text(asked.document), args, sources=asked.sources, submitted_at=now)


def submit_sweep(world: World, planned: Plan, asked: SweepAsked) -> Submitted:
    """One that is not there yet."""
    return carry_out(world, planned, first_grid(asked, planned.spec.args, planned.spec.submitted_at))


def look_again(planned: Plan, asked: SweepAsked) -> Again | None:
    """What is there under the sweep's name; None: nothing, or half a submit, which is submitted again."""
    job = Job.of(planned.home, planned.spec.job)
    try:
        head = job.folder.read_head().head
    except KeyMissing:
        return None
    spec = job.folder.read_spec()
    _check_alike(spec, planned.spec)
    assert spec.cells is not None
    folder = SweepFolder(job.folder)
    cells = folder.cells(spec.cells)
    previous = job.folder.read_launch(head.launch)
    turn = previous.cells.turn if previous.cells is not None else 1
    rows = folder.rows(turn)
    return Again(
        job,
        spec,
        previous,
        running=not head.state.final,
        changed=_changed(planned, head.bundle, asked.where),
        new=_new(cells, planned.spec.args, asked, count_cells(asked)),
        rows=rows,
        missing=len(cells) - len(rows),
    )


def _changed(planned: Plan, before: str, where: str) -> tuple[str, ...]:
    """The file that says which cells there are may lie beside the code, and is none of it."""
    if planned.spec.bundle == before:
        return ()
    path = Path(where).absolute()
    root = Path(planned.asked.directory).absolute()
    own = os.fsencode(path.relative_to(root)) if path.is_relative_to(root) else b""
    old, new = (read_bundle(planned.home.store, digest).files for digest in (before, planned.spec.bundle))
    differ = [path for path in sorted({*old, *new}) if path != own and old.get(path) != new.get(path)]
    return tuple(os.fsdecode(path) for path in differ)


def submit_again(world: World, planned: Plan, asked: SweepAsked, again: Again, rerun: str) -> None:
    """Grid, then a new launch."""
    job, spec, previous = again.job, again.spec, again.previous
    written = not again.new
    while True:
        at = job.folder.existing_head()
        if not at.head.state.final:
            start(world, job, spec, at.head)
            return
        grids = SweepFolder(job.folder).grids()
        if not written:
            last = grids[-1]
            count = count_cells(asked)
            grid = Grid(
                last.number + 1,
                last.first + last.cells,
                len(again.new),
                as_text(asked.document),
                planned.spec.args,
                only=None if len(again.new) == count else again.new,
                sources=asked.sources,
                submitted_at=job.folder.store.now(),
            )
            if not job.folder.create(SweepKeys(job.id).grid(grid.number), grid):
                raise UsageError(
                    f"sweep `{job.id}` was given other cells at this moment",
                    state="nothing was started",
                    hint="the same command again sees them",
                )
            grids.append(grid)
            written = True
        turn = previous.cells.turn if previous.cells is not None else 1
        cells = SweepLaunch(grids=len(grids), turn=turn + 1 if rerun == "all" else turn, failed_too=rerun != "none")
        wanted = replace(planned.spec, workers=planned.spec.workers)

        def settled(record: LaunchRecord) -> None:
            settle(world, job, replace(spec, bundle=record.bundle), planned, there=True)
            settle_sources(world, job, spec, planned, asked.sources)

        if relaunch(world, job, spec, at, previous, wanted, settled=settled, bundle=planned.spec.bundle, cells=cells):
            return


def _new(cells: Cells, args: tuple[str, ...], asked: SweepAsked, count: int) -> tuple[int, ...]:
    """By what they are: arguments and parameters, whatever their order in the file."""
    if asked.cells.search:
        return tuple(range(len(cells), count))
    known = {_identity(cells.args(cell), cells.params(cell)) for cell in cells}
    grid = Grid(1, 1, count, as_text(asked.document), args, sources=asked.sources)
    asked_for = Cells([grid], asked.cells)
    return tuple(
        number - 1 for number in asked_for if _identity(asked_for.args(number), asked_for.params(number)) not in known
    )


def _identity(args: tuple[str, ...], params: Mapping[str, Any]) -> str:
    """The script's own arguments, and the flags of each parameter in whatever order; a commit too, which is none."""
    each = (to_flags({name: value}) for name, value in params.items() if name != "ref")
    flags = sorted(one for one in each if one)
    own = len(args) - sum(len(one) for one in flags)
    return json.dumps([args[:own], flags, params.get("ref")])


def _check_alike(there: Spec, asked: Spec) -> None:
    if there.cells is None:
        raise UsageError(
            f"there is a job `{there.job}` already, and it is no sweep",
            state="nothing was started, nothing is being spent",
            hint="name the sweep otherwise: `--name`, or `--job-id`",
        )
    before, now = (_with_options(plain(one)) for one in (there, asked))
    differ = [name for name in before if name not in MAY_DIFFER and before[name] != now.get(name)]
    if differ:
        raise UsageError(
            f"sweep `{there.job}` is there already, with {_words(differ, before)}",
            state="nothing was started, nothing is being spent",
            hint="submit it as it was, or under another name: what its cells have in common does not change",
        )


def _with_options(document: dict[str, Any]) -> dict[str, Any]:
    """What a search is asked for by option, each by its own name."""
    cells = document.pop("cells") or {}
    return {**document, **{OPTIONS.get(name, f"--{name}"): value for name, value in cells.items()}}


def _words(names: list[str], before: Mapping[str, Any]) -> str:
    """An option as it was given, or that it was not; of all else only its name."""
    named = [
        f"another `{name}` of its own"
        if not name.startswith("--")
        else f"`{name} {before[name]}`"
        if before[name]
        else f"no `{name}`"
        for name in names
    ]
    return ", ".join(named[:-1]) + (" and " if len(named) > 1 else "") + named[-1]
