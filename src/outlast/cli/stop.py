"""`outlast stop`: the trainer saves and leaves; nothing runs afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.options import TEXT, group_option, home_option, json_option, named_group
from outlast.cli.outcome import end_line
from outlast.cli.terminal import put_json, say, say_interrupted, shown
from outlast.errors import EXIT_DONE, Denied, NotFound, OutlastError, StoreError, UsageError
from outlast.spec.names import check_label

if TYPE_CHECKING:
    from outlast.folder.records import State
    from outlast.jobs.adrift import Adrift
    from outlast.jobs.job import Job
    from outlast.jobs.world import World

NAMED_MAX = 8


@click.command("stop", cls=Command, short_help="Stop jobs: their trainers save and leave.")
@click.argument("jobs", nargs=-1, metavar="JOB...")
@click.option("--all", "everything", is_flag=True, help="All that have not ended, in all homes that you have used.")
@click.option("--name", type=TEXT, metavar="NAME", help="All of this name that have not ended.")
@click.option(
    "--label", "-l", "labels", multiple=True, metavar="KEY=VALUE", help="All with this label that have not ended."
)
@click.option("--yes", is_flag=True, help="With --all, --name, --label: do not ask.")
@group_option
@home_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    jobs: tuple[str, ...],
    everything: bool,
    name: str | None,
    labels: tuple[str, ...],
    yes: bool,
    home: str | None,
    as_json: bool,
) -> int:
    """Stop jobs: each trainer saves a checkpoint and leaves, and its machines are gone when this returns.

    A job that has ended stays as it ended. `outlast resume JOB` goes on. One that runs on this computer and whose
    home is not there is ended without a save.
    """
    from outlast.jobs.world import system_world

    group = named_group(ctx)
    jobs = jobs if group is None else (group, *jobs)
    several = "--all" if everything else "--name" if name else "--label" if labels else ""
    wanted = dict(check_label(label) for label in labels)
    if everything and (name or labels):
        raise UsageError("`--all` leaves nothing to choose", hint="`outlast stop --name NAME`, or `--all` alone")
    if several and jobs:
        raise UsageError(f"`{several}` and `{jobs[0]}` are not both", hint=f"`{several}` alone, or the jobs alone")
    if yes and not several:
        raise UsageError(
            "`--yes` is for `--all`, `--name`, `--label`: jobs that are named are stopped without a question"
        )
    if not jobs and not several:
        raise UsageError("missing argument `JOB...`", hint="`outlast jobs --running` lists what may be stopped")
    world = system_world()
    found: list[Job | Adrift] = _all_that_run(world, home, name or "", wanted, yes=yes) if several else []
    for job in jobs:  # all of them before the first is stopped
        found.append(_find(world, job, home, found))
    try:
        stopped, refused = _stop_all(world, found)
    except KeyboardInterrupt:
        return say_interrupted(
            "what was told to stop does so by itself, `outlast jobs --running` lists what has not ended"
        )
    if as_json and (stopped or not refused):
        put_json(stopped)
    for other in refused[1:]:
        say(f"{other.message}; {other.state}")
    if refused:
        raise refused[0]
    return EXIT_DONE


def _stop_all(world: World, found: Sequence[Job | Adrift]) -> tuple[list[dict[str, Any]], list[OutlastError]]:
    """Those that have ended, and why others may not have."""
    from outlast.jobs.job import Job
    from outlast.jobs.stop import tell

    stopped: list[dict[str, Any]] = []
    refused: list[OutlastError] = []
    told = {each.folder_url for each in found[1:] if isinstance(each, Job) and tell(each)}
    for each in found:
        try:
            if isinstance(each, Job):
                stopped.append(_stop(world, each, told=each.folder_url in told))
            else:
                stopped.append(_stop_adrift(world, each))
        except OutlastError as error:  # those after it are to be stopped all the same
            error.state = error.state or f"job `{each.id}` may still run"
            refused.append(error)
    return stopped, refused


def _stop(world: World, job: Job, *, told: bool) -> dict[str, Any]:
    """`told`: it ran when this command came, and may have ended since, as it was told to."""
    from outlast.jobs.stop import stop
    from outlast.results.sweep_status import with_cells

    before = job.folder.existing_head().head.state
    if not before.final:
        say(f"stopping `{job.id}`: {_what_it_takes(job, before)}")
    status = with_cells(job.folder, stop(world, job))
    say(end_line(status) if told or not before.final else f"{job.id} had {before.value} before; nothing runs")
    return status.row()


def _find(world: World, text: str, home: str | None, before: Sequence[Job | Adrift] = ()) -> Job | Adrift:
    """In its home; or where it runs, if its home is not there. `before`: what stands before it in the line."""
    from outlast.jobs.adrift import find_adrift
    from outlast.jobs.find import cell_of
    from outlast.jobs.job import Job
    from outlast.jobs.sweep_parts import find_whole, is_sweep, refuse_cell

    try:
        return find_whole(world, text, home, "stop")
    except (NotFound, StoreError, Denied):
        found = find_adrift(world, text, home)
        if found is not None:
            return found
        if before and text.isdecimal() and isinstance(before[-1], Job) and is_sweep(before[-1]):
            refuse_cell(cell_of(before[-1], int(text)), "stop")
        raise


def _stop_adrift(world: World, job: Adrift) -> dict[str, Any]:
    from outlast.jobs.adrift import stop_adrift
    from outlast.jobs.list import row_adrift

    say(f"stopping `{job.id}`: its home `{shown(job.launch.home)}` is not there, and nothing more of it can be saved")
    stop_adrift(world, job)
    say(
        f"{job.id} stopped; nothing runs; where its home comes back, `outlast resume {job.id}` goes on from its last commit"
    )
    return row_adrift(job, "stopped")


def _what_it_takes(job: Job, state: State) -> str:
    """A job that waits, for a place in the queue or for a machine, has no trainer. Of a sweep head does not tell."""
    from outlast.folder.records import State
    from outlast.jobs.sweep_parts import is_sweep

    if is_sweep(job):
        return "its trainers save and leave"
    return "it has not begun" if state is State.SUBMITTED else "its trainer saves and leaves"


def _all_that_run(
    world: World, home: str | None, name: str, labels: Mapping[str, str], *, yes: bool
) -> list[Job | Adrift]:
    """None if somebody says no."""
    from outlast.cli.confirm import confirmed
    from outlast.cli.edge import note_away
    from outlast.jobs.list import list_all_jobs

    listed = list_all_jobs(world, home=home, running=True, labels=labels, name=name)
    note_away(world.away)
    if not listed:
        say("nothing like that runs" if name or labels else "nothing runs")
        return []
    names = ", ".join(f"`{one.job}`" for one in listed[:NAMED_MAX])
    more = f" and {len(listed) - NAMED_MAX:,} more" if len(listed) > NAMED_MAX else ""
    if not confirmed(f"stop {names}{more}", yes=yes, state="nothing was stopped"):
        return []
    return [_find(world, one.row()["folder"], home) for one in listed]
