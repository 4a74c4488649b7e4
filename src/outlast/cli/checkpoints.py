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
    """List the checkpoints that are kept of a job, the newest last; of a sweep, those of each cell.

    A damaged one is said to be so, and the exit code is 6; a job that resumes uses the one before it.
    """
    from outlast.jobs.checkpoints import list_checkpoints, verify_checkpoints
    from outlast.jobs.find import find
    from outlast.jobs.sweep_parts import cell_number, cells_begun, is_sweep
    from outlast.jobs.world import system_world

    world = system_world()
    found = find(world, job, home)
    read = verify_checkpoints if verify else list_checkpoints
    sweep = is_sweep(found)
    states = [(cell, one) for cell in (cells_begun(found) if sweep else [found]) for one in read(cell)]
    if as_json:
        put_json(
            [
                {
                    **({"cell": cell_number(cell)} if sweep else {}),
                    "name": one.checkpoint.name,
                    "step": one.checkpoint.step,
                    "bytes": one.checkpoint.bytes,
                    "attempt": one.checkpoint.attempt,
                    "committed_at": one.checkpoint.committed_at,
                    "problem": one.problem or None,
                }
                for cell, one in states
            ]
        )
    elif not states:
        has = "kept" if found.folder.existing_head().head.state.final else "has"
        yet = " yet" if has == "has" else ""
        say(f"{'no cell of sweep' if sweep else 'job'} `{found.id}` {has} {'a' if sweep else 'no'} checkpoint{yet}")
    else:
        now = found.folder.store.now()
        rows = [
            [
                *((str(cell_number(cell)),) if sweep else ()),
                one.checkpoint.name,
                f"{one.checkpoint.step:,}",
                size(one.checkpoint.bytes),
                str(one.checkpoint.attempt),
                age(one.checkpoint.committed_at, now),
                f"damaged: {one.problem}" if one.problem else "whole" if verify else "",
            ]
            for cell, one in states
        ]
        header = (*(("CELL",) if sweep else ()), "CHECKPOINT", "STEP", "SIZE", "ATTEMPT", "COMMITTED", "")
        first, *lines = render(header, rows, width=width(sys.stdout), right=(0, 2, 3, 4) if sweep else (1, 2, 3))
        put(paint(first, "bold", sys.stdout))
        for line in lines:
            put(line)
        if verify:
            say(f"verified {count(len(states), 'checkpoint')}, {size(sum(one.checkpoint.bytes for _, one in states))}")
    return EXIT_STORE if any(one.problem for _, one in states) else EXIT_DONE
