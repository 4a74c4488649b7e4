"""`outlast emulator`: Google's APIs on this machine."""

from __future__ import annotations

import click

from outlast.cli.app import Command
from outlast.cli.options import NUMBER, json_option, whole
from outlast.errors import UsageError


@click.command("emulator", cls=Command, short_help="Serve Google's APIs on this machine, without an account.")
@click.option("--port", type=whole(0, 65535), default=0, metavar="P", help="Listen here; a free port if not said.")
@click.option(
    "--data", metavar="DIR", help="Keep buckets and objects here; in a directory that ends with it if not said."
)
@click.option(
    "--time-scale", type=NUMBER, default=1.0, metavar="X", help="0.1: what takes Google ten seconds takes one here."
)
@json_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def command(port: int, data: str | None, time_scale: float, as_json: bool, command: tuple[str, ...]) -> int:
    """Serve Google's APIs on a loopback port: Cloud Storage, Compute Engine, Vertex AI, a registry, logs, secrets, permissions.

    Prints the variables that point outlast, gcloud and Google's libraries at it, and serves until Ctrl-C. With COMMAND it
    runs that with the variables set, ends with it, and passes its exit code on; --json prints the variables before it
    starts. The project is `emulated`.
    """
    from outlast_emulator.main import main

    if time_scale <= 0:
        raise UsageError(
            f"`--time-scale` is `{time_scale:g}`, and that is not above 0", hint="`outlast emulator --help`"
        )
    options = ["--port", str(port), "--time-scale", str(time_scale)]
    if data is not None:
        options += ["--data", data]
    if as_json:
        options.append("--json")
    return main([*options, "--", *command])
