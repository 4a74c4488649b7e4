"""`outlast ssh`: on the job's machine, in its directory, with its environment."""

from __future__ import annotations

import os
import subprocess
import sys

import click

from outlast.cli.app import Command
from outlast.cli.options import home_option
from outlast.cli.terminal import put
from outlast.cli.typed import quoted
from outlast.errors import NotFound

PORT = click.IntRange(1, 65535)


@click.command("ssh", cls=Command, short_help="Enter the machine of a running job.")
@click.argument("job", required=False)
@click.option("--port", "-p", "ports", type=PORT, multiple=True, metavar="N", help="Bring the machine's port N here.")
@click.option("--dry-run", is_flag=True, help="Print the command; do not run it.")
@home_option
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]")
def command(job: str | None, ports: tuple[int, ...], dry_run: bool, home: str | None, words: tuple[str, ...]) -> int:
    """Open a shell on the machine of a running job, in its working directory and with its environment; or run COMMAND there.

    A rented machine is reached by gcloud through Identity-Aware Proxy: no port of it is open to the world. `--port 6006` brings its
    TensorBoard to yours. The exit code is that of what ran there.
    """
    from outlast.jobs.find import find
    from outlast.jobs.ssh import way_in
    from outlast.jobs.world import system_world

    world = system_world()
    argv = way_in(world, find(world, job, home), words, ports)
    if dry_run:
        put(quoted(argv))
        return 0
    sys.stdout.flush()
    try:
        return subprocess.call(argv, env=dict(os.environ))
    except OSError as error:
        raise NotFound(f"`{argv[0]}`: {error.strerror}") from error
