"""`outlast logs`: what the trainer said, in all attempts, whether or not a machine is alive."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from outlast.cli.app import Command
from outlast.cli.edge import note
from outlast.cli.options import NUMBER, cell_argument, home_option, job_argument, json_option, whole
from outlast.cli.terminal import say, shown
from outlast.errors import EXIT_DONE, UsageError

if TYPE_CHECKING:
    from outlast.jobs.job import Job
    from outlast.jobs.world import World
    from outlast.results.status import Status


@click.command("logs", cls=Command, short_help="Print a job's log, across its attempts.")
@job_argument
@cell_argument
@click.option("--follow", "-f", is_flag=True, help="Go on until the job ends, across attempts; exit as the job did.")
@click.option(
    "--tail", "-n", "lines", type=whole(1), metavar="N", help="Only the last N lines; with -f, and what comes."
)
@click.option("--attempt", type=whole(1), metavar="N", help="Only this attempt.")
@click.option(
    "--polling-interval",
    type=NUMBER,
    metavar="S",
    help="Seconds between two looks with -f; as the home likes it if not said.",
)
@click.option("--job-id", hidden=True, help="The job, as an older tool wanted it.")
@home_option
@json_option
def command(
    job: str | None,
    cell: int | None,
    follow: bool,
    lines: int | None,
    attempt: int | None,
    polling_interval: float | None,
    job_id: str | None,
    home: str | None,
    as_json: bool,
) -> int:
    """Print a job's log: all attempts in order, and a mark where each begins or bytes are missing.

    In a pipe the bytes are those that the trainer wrote, and the marks go to stderr. On a terminal, escape sequences
    other than colours are taken out and progress bars are folded. With --json, one object per line. Of a sweep it prints the lines of
    all cells, each with its cell's number before it; of one CELL, or of `SWEEP.21`, as of a job.
    """
    from outlast.cli import display
    from outlast.cli.follow import follow as follow_job
    from outlast.cli.follow import last_lines
    from outlast.cli.provider_log import show_provider_log
    from outlast.jobs.look import look
    from outlast.jobs.sweep_parts import find_part
    from outlast.jobs.watch import freshen
    from outlast.jobs.world import system_world
    from outlast.results.logs import read_log

    if job_id is not None:  # as an older tool wanted it, which went on for ever
        note(f"`--job-id {job_id}` is `outlast logs -f {job_id}`")
        job, follow = job or job_id, True
    if polling_interval is not None and not follow:
        raise UsageError(
            "`--polling-interval` is how often `-f` looks, and without `-f` the log is read once",
            hint=f"`outlast logs -f --polling-interval {polling_interval:g}{f' {job}' if job else ''}`",
        )
    world = system_world()
    found = find_part(world, job, cell, home)
    if found.spec().cells is not None:
        if lines is not None:
            raise UsageError(
                f"`{found.id}` is a sweep, and each of its cells has last lines of its own",
                hint=f"`outlast logs {found.id}.1 --tail {lines}`",
            )
        return _print_sweep(world, found, follow, attempt, polling_interval, as_json)
    if follow:
        left = follow_job(
            world,
            found,
            out=sys.stdout,
            as_json=as_json,
            attempt=attempt,
            polling_seconds=polling_interval,
            lines=lines,
        )
        if left is not None:
            return left
        show_provider_log(world, found, as_json=as_json)
        return look(world, found).outcome_code
    answered = freshen(world, found)
    to: display.Display = (
        display.JsonDisplay() if as_json else display.display(sys.stdout, workers=found.spec().workers)
    )
    if lines is not None:
        to = last_lines(found, attempt, lines, to)
    display.show_all(read_log(found.folder, attempt=attempt), to)
    show_provider_log(world, found, as_json=as_json)
    if not answered:
        _say_what_it_lacks(look(world, found))
    return EXIT_DONE


def _say_what_it_lacks(status: Status) -> None:
    """Nobody answers for it: the log may be older than it seems."""
    if not status.final and status.why:
        say(f"{status.job} is {status.state}, {shown(status.why)}")


def _print_sweep(
    world: World, sweep: Job, follow: bool, attempt: int | None, polling_interval: float | None, as_json: bool
) -> int:
    from outlast.cli.sweep_logs import follow_cells, print_sweep

    if attempt is not None:
        raise UsageError(
            f"`{sweep.id}` is a sweep, and each of its cells has attempts of its own",
            hint=f"`outlast logs {sweep.id}.1 --attempt {attempt}`",
        )
    if follow:
        return follow_cells(world, sweep, as_json=as_json, polling_seconds=polling_interval)
    return print_sweep(world, sweep, as_json=as_json)
