"""`outlast push`: a dataset into the home, once, for many jobs."""

from __future__ import annotations

from pathlib import Path

import click

from outlast.cli.app import Command
from outlast.cli.datasets import say_left_out
from outlast.cli.options import json_option
from outlast.cli.progress import shown_progress
from outlast.cli.terminal import put, put_json, say
from outlast.cli.words import count, duration, size
from outlast.errors import EXIT_DONE


@click.command("push", cls=Command, short_help="Upload a dataset, for jobs to come.")
@click.argument("path", metavar="DIR")
@click.argument("name", required=False, metavar="[NAME]", default="")
@click.option("--home", metavar="URL", help="The home that keeps it: a directory or a bucket.")
@json_option
def command(path: str, name: str, home: str | None, as_json: bool) -> int:
    """Upload DIR, a directory or a file, and print its name: `--dataset NAME` of `outlast run` finds it.

    What is in the home already is not uploaded again, also after a push that was killed. The newest push of a name
    counts; earlier ones are found by the digest that --json prints.
    """
    from outlast.jobs.push import push_named
    from outlast.jobs.world import system_world
    from outlast.spec.load import load

    world = system_world()
    settings = load({"home": home}, world.environ, Path.cwd(), world.user_dir / "config.toml")
    begun_at = world.clock.monotonic()
    with shown_progress() as on_progress:
        named = push_named(world, path, name, settings["home"], on_progress)
    pushed = named.pushed
    say_left_out(pushed)
    took = duration(world.clock.monotonic() - begun_at)
    news = f"uploaded {size(pushed.uploaded_bytes)}" if pushed.uploaded_bytes else "all of it was in the home"
    say(f"Pushed {count(pushed.files, 'file')}, {size(pushed.bytes)}, in {took}; {news}")
    say(f"  `outlast run --dataset {named.name} ...` uses it")
    if as_json:
        put_json(
            {
                "name": named.name,
                "digest": pushed.digest,
                "home": named.home.url,
                "files": pushed.files,
                "bytes": pushed.bytes,
                "uploaded_bytes": pushed.uploaded_bytes,
                "left_out": pushed.left_out_count,
            }
        )
    else:
        put(named.name)
    return EXIT_DONE
