"""`outlast checkpoints`: which there are, and whether each is whole."""

from __future__ import annotations

import sys

import click

from outlast.cli.app import Command
from outlast.cli.options import home_option, job_argument, json_option
from outlast.cli.table import render
from outlast.cli.terminal import paint, put, put_json, say, width
from outlast.cli.words import age, count, size
from outlast.errors import EXIT_DONE, EXIT_STORE


@click.command("checkpoints", cls=Command, short_help="List a job's checkpoints, or verify them.")
@job_argument
@click.option("--verify", is_flag=True, help="Read every byte of each and compare it with what was committed.")
@home_option
@json_option
def command(job: str | None, verify: bool, home: str | None, as_json: bool) -> int:
    """List the checkpoints that are kept of a job, the newest last.

    A damaged one is said to be so, and the exit code is 6; a job that resumes uses the one before it.
    """
    from outlast.jobs.checkpoints import list_checkpoints, verify_checkpoints
    from outlast.jobs.find import find
    from outlast.jobs.world import system_world

    world = system_world()
    found = find(world, job, home)
    states = (verify_checkpoints if verify else list_checkpoints)(found)
    if as_json:
        put_json(
            [
                {
                    "name": one.checkpoint.name,
                    "step": one.checkpoint.step,
                    "bytes": one.checkpoint.bytes,
                    "attempt": one.checkpoint.attempt,
                    "committed_at": one.checkpoint.committed_at,
                    "problem": one.problem or None,
                }
                for one in states
            ]
        )
    elif not states:
        say(f"job `{found.id}` has no checkpoint yet")
    else:
        now = found.folder.store.now()
        rows = [
            [
                one.checkpoint.name,
                f"{one.checkpoint.step:,}",
                size(one.checkpoint.bytes),
                str(one.checkpoint.attempt),
                age(one.checkpoint.committed_at, now),
                f"damaged: {one.problem}" if one.problem else "whole" if verify else "",
            ]
            for one in states
        ]
        header = ("CHECKPOINT", "STEP", "SIZE", "ATTEMPT", "COMMITTED", "")
        first, *lines = render(header, rows, width=width(sys.stdout), right=(1, 2, 3))
        put(paint(first, "bold", sys.stdout))
        for line in lines:
            put(line)
        if verify:
            say(f"verified {count(len(states), 'checkpoint')}, {size(sum(one.checkpoint.bytes for one in states))}")
    return EXIT_STORE if any(one.problem for one in states) else EXIT_DONE
