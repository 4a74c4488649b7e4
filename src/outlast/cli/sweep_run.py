"""`outlast run --sweep`: what will be done is said, asked about where it is much, submitted and followed."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from outlast.cli.confirm import confirmed
from outlast.cli.machine_words import hourly_words
from outlast.cli.progress import shown_progress
from outlast.cli.run_words import say_plan
from outlast.cli.sweep_follow import follow_sweep
from outlast.cli.sweep_options import SWEEP_ONLY
from outlast.cli.target_options import asked
from outlast.cli.terminal import put, put_json, say, shown
from outlast.cli.words import count
from outlast.errors import EXIT_DONE, EXIT_INTERRUPTED, UsageError

if TYPE_CHECKING:
    from outlast.folder.sweep_records import Source
    from outlast.jobs.asked import Asked
    from outlast.jobs.job import Job
    from outlast.jobs.plan import Plan
    from outlast.jobs.sweep import Again, SweepAsked
    from outlast.jobs.world import World
    from outlast.spec.progress import OnProgress

CELLS_SHOWN_MAX = 20
FILES_NAMED_MAX = 3
CELLS_ASKED_ABOVE = 200
USD_PER_HOUR_ASKED_ABOVE = 10.0
_REFS = re.compile(r"(.+)@\{([^{}]+)\}")


def is_sweep(given: dict[str, Any]) -> bool:
    """A file of cells, or several commits; options that mean nothing without are refused."""
    if given["sweep"] is not None or _REFS.fullmatch(given.get("git") or ""):
        return True
    said = [name for name in SWEEP_ONLY if given.get(name) is not None]
    if said:
        raise UsageError(f"`--{said[0].replace('_', '-')}` is a sweep's", hint="add `--sweep FILE`")
    return False


def run_sweep(world: World, target: str, given: dict[str, Any], *, detach: bool, dry_run: bool, as_json: bool) -> int:
    cells = _cells(given)
    request = _request(world, target, given, cells)
    if dry_run:
        return _rehearse(world, request, cells, as_json=as_json)
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


def _rehearse(world: World, request: Asked, cells: SweepAsked, *, as_json: bool) -> int:
    from outlast.cli.rehearsal import rehearse
    from outlast.folder.cells import Cells
    from outlast.jobs.plan import plan
    from outlast.jobs.submit import Submitted
    from outlast.jobs.sweep import count_cells, first_grid, look_again, submit_again, submit_sweep
    from outlast.jobs.sweep_check import check_flags, with_workers

    number = count_cells(cells)
    check_flags(world, request, cells)
    is_new = True

    def verb(world: World, request: Asked) -> Submitted:
        nonlocal is_new
        planned = plan(world, request)
        again = look_again(world, planned, cells)
        is_new = again is None
        rerun = _rerun(cells, again) if again is not None else ""
        to_do = again.to_do(rerun) if again is not None else number
        planned, why = with_workers(world, planned, cells, max(1, to_do))
        _say_cells(planned, number, to_do, why, again)
        if again is None:
            return submit_sweep(world, planned, cells)
        if again.running:
            _check_running(cells, again)
        if again.running or to_do:
            submit_again(world, planned, cells, again, rerun)
        return Submitted(again.job, planned, again.spec, resubmitted=True)

    code = rehearse(world, request, as_json=as_json, verb=verb)
    if is_new and not as_json and cells.cells.search != "tpe":
        every = Cells([first_grid(cells, request.args, 0.0)], cells.cells)
        for cell in range(1, min(number, CELLS_SHOWN_MAX) + 1):
            put(shlex.join(["cell", str(cell), request.target, *every.args(cell)]))
        if number > CELLS_SHOWN_MAX:
            say(f"and {number - CELLS_SHOWN_MAX:,} more; `outlast expand` prints them all")
    return code


def _cells(given: dict[str, Any]) -> SweepAsked:
    from outlast.jobs.sweep import SweepAsked
    from outlast.spec.spec import Sweep
    from outlast.spec.sweep.read import read_document

    source = given["sweep"]
    return SweepAsked(
        document=read_document(source, sys.stdin) if source is not None else {},
        where=source if source is not None else "--git",
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


def _request(world: World, target: str, given: dict[str, Any], cells: SweepAsked) -> Asked:
    """A sweep's name is its id: the same one again is the same sweep."""
    refs = _refs(given)
    if refs:
        url = _REFS.fullmatch(given["git"])
        assert url is not None
        given = {**given, "git": f"{url[1]}@{refs[0]}"}
    if given.get("job_id") is None and given.get("name") is not None:
        given = {**given, "job_id": given["name"]}
    return replace(asked(world, target, given), cells=cells.cells)


def _refs(given: dict[str, Any]) -> tuple[str, ...]:
    found = _REFS.fullmatch(given.get("git") or "")
    return tuple(ref.strip() for ref in found[2].split(",") if ref.strip()) if found else ()


def _submit(world: World, request: Asked, cells: SweepAsked, *, yes: bool, at: tuple[str, ...]) -> Job | None:
    """The sweep, also where nothing of it is missing; None: nobody wanted it."""
    from outlast.jobs.plan import plan
    from outlast.jobs.sweep import count_cells, look_again, submit_again, submit_sweep
    from outlast.jobs.sweep_check import check_flags, with_workers

    count_cells(cells)
    begun_at = world.clock.monotonic()
    check_flags(world, request, cells)
    with shown_progress() as on_progress:
        planned = plan(world, request, on_progress=on_progress)
        if at:
            cells = replace(cells, sources=_sources(world, request, planned, at, on_progress))
    number = count_cells(cells)
    again = look_again(world, planned, cells)
    rerun = _rerun(cells, again) if again is not None else ""
    to_do = again.to_do(rerun) if again is not None else number
    if again is not None and again.running:
        _check_running(cells, again)
        submit_again(world, planned, cells, again, rerun)
        say(f"sweep `{again.job.id}` was there already, and goes on")
        return again.job
    if again is not None and not to_do:
        say(f"nothing of sweep `{again.job.id}` is missing: {_ended_words(again)}")
        return again.job
    planned, why = with_workers(world, planned, cells, to_do)
    say_plan(planned, world.clock.monotonic() - begun_at)
    _say_cells(planned, number, to_do, why, again)
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


def _check_running(cells: SweepAsked, again: Again) -> None:
    """What a launch that is under way cannot take up any more is said, and not passed over."""
    problem = ""
    if again.new:
        problem = f"has no room for {count(len(again.new), 'more cell')} until it has ended"
    elif again.changed:
        problem = f"began with other code: {_files(again)}"
    elif cells.rerun == "all":
        problem = "`--rerun all` begins what has ended"
    if problem:
        raise UsageError(
            f"sweep `{again.job.id}` runs, and {problem}",
            state="it goes on as it was",
            hint=f"`outlast stop {again.job.id}`, then the same again",
        )


def _files(again: Again) -> str:
    named = ", ".join(f"`{shown(path)}`" for path in again.changed[:FILES_NAMED_MAX])
    return f"{named} and others" if again.changed[FILES_NAMED_MAX:] else named


def _ended_words(again: Again) -> str:
    done = len(again.rows) - again.failed
    failed = f", {again.failed:,} of them without success (`--rerun failed`)" if again.failed else ""
    return f"all {len(again.rows):,} cells have ended{failed}" if failed else f"all {done:,} cells are done"


def _sources(
    world: World, request: Asked, first: Plan, refs: tuple[str, ...], on_progress: OnProgress
) -> tuple[Source, ...]:
    from outlast.folder.sweep_records import Source
    from outlast.jobs.plan import plan

    url = request.git.rpartition("@")[0]
    plans = [first, *(plan(world, replace(request, git=f"{url}@{ref}"), on_progress=on_progress) for ref in refs[1:])]
    return tuple(
        Source(ref, planned.packed.commit, planned.spec.bundle) for ref, planned in zip(refs, plans, strict=True)
    )


def _rerun(cells: SweepAsked, again: Again) -> str:
    """With other code, what was done with the old one is the user's to decide."""
    if cells.rerun:
        return cells.rerun
    if not again.changed or not again.rows or again.running:
        return "failed"
    ended = count(len(again.rows), "cell")
    question = f"the code of sweep `{again.job.id}` has changed since {ended} ended ({_files(again)})"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            question,
            state="nothing was started",
            hint="`--rerun all` begins every cell anew, `--rerun failed` those that failed, `--rerun none` only those that are missing",
        )
    sys.stderr.write(f"{question[0].upper()}{question[1:]}: begin which of them again? [failed/all/none] ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip().lower()
    if answer not in ("failed", "all", "none"):
        raise UsageError(f"`{answer}` is none of `failed`, `all` and `none`", state="nothing was started")
    return answer


def _say_cells(planned: Plan, number: int, to_do: int, why: str, again: Again | None) -> None:
    spec = planned.spec
    assert spec.cells is not None
    beside = f", {spec.cells.per_machine} on each" if spec.cells.per_machine > 1 else ""
    which = f"{to_do:,} of {again.cells:,} cells" if again is not None else count(number, "cell")
    machines = count(spec.workers, "worker" if spec.machine.rented is None else "machine")
    say(f"  {which}, {machines}{beside} ({why}); {hourly_words(spec.machine, spec.workers)}")


def _much(planned: Plan, cells: int) -> bool:
    rented = planned.spec.machine.rented
    hourly = rented.usd_per_hour * planned.spec.workers if rented is not None else 0.0
    return cells > CELLS_ASKED_ABOVE or hourly > USD_PER_HOUR_ASKED_ABOVE
