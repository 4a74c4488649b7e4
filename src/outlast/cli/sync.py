"""`outlast sync`: the job's code follows the directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from outlast.cli.app import Command
from outlast.cli.options import home_option
from outlast.cli.terminal import say
from outlast.cli.words import count, duration, size
from outlast.errors import EXIT_DONE

if TYPE_CHECKING:
    from outlast.jobs.sync import Synced


@click.command("sync", cls=Command, short_help="Keep a running job's code equal to this directory.")
@click.argument("job", required=False)
@click.option("--restart", is_flag=True, help="After each change the trainer begins again, from its newest checkpoint.")
@click.option("--once", is_flag=True, help="Carry over what differs now, and return.")
@home_option
def command(job: str | None, restart: bool, once: bool, home: str | None) -> int:
    """Keep a job's code equal to this directory, until the job ends or you press Ctrl-C.

    Changes travel by the home, in seconds, to wherever the job runs; deleted files go too, and what is not shipped at submit is not shipped
    here. Directories that were shipped with `--dir` are followed too. A Python that has imported a file does not read it again: `--restart`
    lets the trainer save, leave, and begin again with the new code. The job remembers that it was edited, and later attempts begin with the
    newest code.
    """
    from outlast.jobs.find import find
    from outlast.jobs.sync import Syncing
    from outlast.jobs.world import system_world

    world = system_world()
    found = find(world, job, home)
    syncing = Syncing(world, found, Path.cwd(), restart=restart)
    if once:
        synced = syncing.once(again=True)
        say(_words(synced) if synced is not None else f"`{found.id}` has this code already")
        return EXIT_DONE
    say(f"keeping `{found.id}` equal to `{Path.cwd()}`; Ctrl-C ends that, and the job goes on")
    for synced in syncing.changes():
        say(_words(synced))
    say(f"`{found.id}` has ended")
    return EXIT_DONE


def _words(synced: Synced) -> str:
    if synced.heard and not synced.changed and not synced.removed:
        return "it has this code already, and begins again with it"
    removed = f", {count(synced.removed, 'file')} removed" if synced.removed else ""
    carried = f"{count(synced.changed, 'file')} carried over{removed}, {size(synced.uploaded_bytes)}"
    if not synced.heard:
        return f"{carried}: no machine runs it now, the next attempt begins with it"
    return f"{carried}, in place after {duration(synced.seconds)}"
