"""`outlast pull`: results to this machine."""

from __future__ import annotations

import sys

import click

from outlast.cli.app import Command
from outlast.cli.options import TEXT, home_option, json_option
from outlast.cli.progress import shown_progress
from outlast.cli.terminal import put, put_json, say, say_interrupted, shown
from outlast.cli.words import count, duration, size
from outlast.errors import EXIT_DONE

GLOB_CHARACTERS = frozenset("*?[")


@click.command("pull", cls=Command, short_help="Copy a job's results here.")
@click.argument("job", required=False, metavar="[JOB]")
@click.argument("pattern", required=False, metavar="[PATTERN]", default="")
@click.option(
    "--checkpoint", metavar="last|best|STEP|all", default="last", help="Which checkpoint; `last` if not said."
)
@click.option("--to", type=TEXT, metavar="DIR", help="Where to; `./<job>/` if not said.")
@home_option
@json_option
def command(job: str | None, pattern: str, checkpoint: str, to: str | None, home: str | None, as_json: bool) -> int:
    """Copy a job's outputs and its last checkpoint here, or the files that PATTERN fits. Of a sweep: each cell's, below its number.

    What is there already with the same content is skipped; every byte is compared with what was committed.
    """
    from outlast.jobs.find import cell_of, find
    from outlast.jobs.pull import pull
    from outlast.jobs.sweep_parts import is_sweep
    from outlast.jobs.sweep_pull import pull_cells
    from outlast.jobs.world import system_world

    if job and not pattern and GLOB_CHARACTERS & set(job):
        pattern, job = job, None  # no job is called like that: it is a pattern, for the newest one
    world = system_world()
    found = find(world, job, home)
    if pattern.isdecimal() and is_sweep(found):
        found = cell_of(found, int(pattern))  # as `show` and `logs` name a cell
        pattern = ""
    begun_at = world.clock.monotonic()
    try:
        with shown_progress() as on_progress:
            verb = pull_cells if is_sweep(found) else pull
            pulled = verb(found, pattern, checkpoint=checkpoint, to=to or "", on_progress=on_progress)
    except KeyboardInterrupt:
        return say_interrupted("what was copied stays, and is skipped when the same is typed again")
    took = duration(world.clock.monotonic() - begun_at)
    if as_json:
        put_json(
            {
                "job": found.id,
                "to": pulled.to,
                "files": pulled.files,
                "bytes": pulled.bytes,
                "skipped": pulled.skipped,
                "replaced": pulled.replaced,
            }
        )
        return EXIT_DONE
    for path in pulled.files:
        put(shown(f"{pulled.to}/{path}") if sys.stdout.isatty() else f"{pulled.to}/{path}")
    replaced = f"; {count(pulled.replaced, 'file')} with other contents replaced" if pulled.replaced else ""
    skipped = f"; {count(pulled.skipped, 'file')} had been there" if pulled.skipped else ""
    if not pulled.files and not pulled.skipped:
        say(f"`{found.id}` has neither outputs nor a checkpoint: nothing was copied")
        return EXIT_DONE
    say(
        f"copied {count(len(pulled.files), 'file')}, {size(pulled.bytes)} to `{shown(pulled.to)}` in {took}{replaced}{skipped}"
    )
    return EXIT_DONE
