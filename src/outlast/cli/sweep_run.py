"""`outlast run --sweep`: what will be done is said, asked about where it is much, submitted and followed."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from outlast.cli.confirm import confirmed
from outlast.cli.progress import shown_progress
from outlast.cli.run_words import say_plan
from outlast.cli.sweep_again import check_running, chosen_rerun, ended_words
from outlast.cli.sweep_follow import follow_sweep
from outlast.cli.sweep_options import SWEEP_ONLY
from outlast.cli.sweep_plan import check_every_commit, rehearse_sweep, say_cells, sources_of
from outlast.cli.target_options import asked
from outlast.cli.terminal import put_json, say
from outlast.cli.words import count
from outlast.errors import EXIT_DONE, EXIT_INTERRUPTED, UsageError
from outlast.pattern import pattern

if TYPE_CHECKING:
    from outlast.jobs.asked import Asked
    from outlast.jobs.job import Job
    from outlast.jobs.plan import Plan
    from outlast.jobs.sweep import SweepAsked
    from outlast.jobs.world import World

CELLS_ASKED_ABOVE = 200
USD_PER_HOUR_ASKED_ABOVE = 10.0
_REFS = pattern(r"(?P<url>.+)@\{(?P<refs>[^{}]+)\}(?P<below>:.*)?", re.DOTALL)


def is_sweep(given: dict[str, Any]) -> bool:
    """A file of cells, several commits, or one more cell of a group; options that mean nothing without are refused."""
    if given["sweep"] is not None or given["xgroup"] is not None or _REFS.fullmatch(given.get("git") or ""):
        return True
    said = [name for name in SWEEP_ONLY if given.get(name) is not None]
    if said:
        raise UsageError(f"`--{said[0].replace('_', '-')}` is a sweep's", hint="add `--sweep FILE`")
    return False


def run_sweep(world: World, target: str, given: dict[str, Any], *, detach: bool, dry_run: bool, as_json: bool) -> int:
    cells = _cells(given)
    request = _request(world, target, given, cells)
    if dry_run:
        return rehearse_sweep(world, request, cells, _refs(given), as_json=as_json)
    try:
        job = _submit(world, request, cells, yes=given["yes"], at=_refs(given))
    except KeyboardInterrupt:
        say("interrupted while submitting; `outlast jobs` says whether there is a sweep")
        return EXIT_INTERRUPTED
    if job is None:
        return EXIT_DONE
    if detach:
        if as_json:
            from outlast.jobs.look import look

            put_json({"job": job.id, "folder": job.folder_url, "state": look(world, job).state})
        return EXIT_DONE
    return follow_sweep(world, job, as_json=as_json)


def _cells(given: dict[str, Any]) -> SweepAsked:
    from outlast.jobs.sweep import SweepAsked
    from outlast.spec.spec import Sweep
    from outlast.spec.sweep.read import read_document

    _check(given)
    source = given["sweep"]
    return SweepAsked(
        document=read_document(source, sys.stdin) if source is not None else {},
        where=source if source is not None else "--git" if _refs(given) else "--xgroup",
        cells=Sweep(
            per_machine=given["cells_per_machine"] or 1,
            search=given["search"] or "",
            seed=given["seed"] or 0,
            metric=given["metric"] or "",
            goal=given["goal"] or "",
            early=given["early"] or "",
        ),
        trials=given["trials"],
        parallel=given["parallel"],
        rerun=given["rerun"] or "",
    )


def _check(given: dict[str, Any]) -> None:
    """What would be passed over, because what it belongs to is not asked for."""
    if given.get("shell"):
        raise UsageError(
            "`--shell` runs no script, and a sweep's cells are one with other arguments each time", hint="leave one out"
        )
    if given["seed"] is not None and not given["search"]:
        raise UsageError("`--seed` belongs to a search: a grid has all cells", hint="`--search random --trials 50`")
    if given["goal"] is not None and given["metric"] is None:
        raise UsageError(
            "`--goal` says which way a metric is better, and none was named",
            hint=f"`--metric loss --goal {given['goal']}`",
        )


def _request(world: World, target: str, given: dict[str, Any], cells: SweepAsked) -> Asked:
    """A sweep's name is its id: the same one again is the same sweep."""
    refs = _refs(given)
    if refs:
        given = {**given, "git": next(iter(refs.values()))}
    given = {**given, **_named(given)}
    return replace(asked(world, target, given), cells=cells.cells)


def _named(given: dict[str, Any]) -> dict[str, Any]:
    """The sweep's name and id: both are the same, unless both are said."""
    from outlast.spec.names import NAME_LENGTH_MAX, check_job_id

    name, id, group = given.get("name"), given.get("job_id"), given["xgroup"]
    if group is None:
        return {"name": name, "job_id": name if id is None else id}
    if id not in (None, group):
        raise UsageError(
            f"`--xgroup {group}` and `--job-id {id}` are two names of one sweep", hint="choose one of them"
        )
    check_job_id(group, "--xgroup")
    return {"name": group if name is None and len(group) <= NAME_LENGTH_MAX else name, "job_id": group}


def _refs(given: dict[str, Any]) -> dict[str, str]:
    """Of `URL@{A,B}`: each commit's name, and where it is to be had."""
    found = _REFS.fullmatch(given.get("git") or "")
    if found is None:
        return {}
    names = [name.strip() for name in found["refs"].split(",") if name.strip()]
    if not names:
        raise UsageError(f"`--git {given['git']}` names no commit", hint=f"`--git '{found['url']}@{{main,v1.2}}'`")
    return {name: f"{found['url']}@{name}{found['below'] or ''}" for name in names}


def _submit(world: World, request: Asked, cells: SweepAsked, *, yes: bool, at: dict[str, str]) -> Job | None:
    """The sweep, also where nothing of it is missing; None: nobody wanted it."""
    from outlast.jobs.plan import plan
    from outlast.jobs.sweep import count_cells, look_again, submit_again, submit_sweep
    from outlast.jobs.sweep_check import with_workers

    count_cells(cells)
    begun_at = world.clock.monotonic()
    check_every_commit(world, request, cells, at)
    with shown_progress() as on_progress:
        planned = plan(world, request, on_progress=on_progress)
        if at:
            cells = replace(cells, sources=sources_of(world, request, planned, at, on_progress))
    number = count_cells(cells)
    again = look_again(planned, cells)
    rerun = chosen_rerun(cells, again) if again is not None else ""
    to_do = again.to_do(rerun) if again is not None else number
    if again is not None and again.running:
        check_running(cells, again)
        submit_again(world, planned, cells, again, rerun)
        say(f"sweep `{again.job.id}` was there already, and goes on")
        return again.job
    if again is not None and not to_do:
        say(f"nothing of sweep `{again.job.id}` is missing: {ended_words(again)}")
        return again.job
    planned, why = with_workers(world, planned, cells, to_do)
    say_plan(planned, world.clock.monotonic() - begun_at)
    say_cells(planned, cells, number, to_do, why, again)
    if _much(planned, to_do) and not confirmed(f"Begin {count(to_do, 'cell')}", yes=yes, state="nothing was started"):
        say("nothing was started")
        return None
    if again is not None:
        submit_again(world, planned, cells, again, rerun)
        return again.job
    job = submit_sweep(world, planned, cells).job
    if planned.image is not None:
        from outlast.cli.links import say_links

        say_links(world, job)
    return job


def _much(planned: Plan, cells: int) -> bool:
    rented = planned.spec.machine.rented
    hourly = rented.usd_per_hour * planned.spec.workers if rented is not None else 0.0
    return cells > CELLS_ASKED_ABOVE or hourly > USD_PER_HOUR_ASKED_ABOVE
