"""`outlast push`: a dataset into the home, once, for many jobs; and the names that datasets have there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.datasets import say_left_out
from outlast.cli.options import cloud_key_option, json_option
from outlast.cli.progress import shown_progress
from outlast.cli.setting_option import setting_option
from outlast.cli.table import render
from outlast.cli.terminal import paint, put, put_json, say, width
from outlast.cli.words import age, count, duration, size
from outlast.errors import EXIT_DONE, UsageError

if TYPE_CHECKING:
    from outlast.jobs.push import Named
    from outlast.jobs.world import World

PLACES = ("home", "bucket", "project", "region")


@click.command("push", cls=Command, short_help="Upload a dataset, for jobs to come.")
@click.argument("path", required=False, metavar="[DIR]")
@click.argument("name", required=False, metavar="[NAME]", default="")
@click.option("--list", "listing", is_flag=True, help="List the names that datasets have in the home.")
@click.option(
    "--forget", metavar="NAME", multiple=True, help="Remove a name; `outlast prune` removes what nothing needs then."
)
@setting_option("home", "URL", "The home that keeps it: a directory or a bucket.")
@setting_option("bucket", "NAME", "The same as `--home gs://NAME`; made if it is not there.")
@setting_option("project", "PROJECT", "The Google Cloud project that pays; gcloud's if not said.")
@setting_option("region", "REGION", "Where the bucket is made; `us-central1`.")
@cloud_key_option
@json_option
def command(path: str | None, name: str, listing: bool, forget: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Upload DIR, a directory or a file, and print its name: `--dataset NAME` of `outlast run` finds it.

    What is in the home already is not uploaded again, also after a push that was killed. The newest push of a name
    counts; earlier ones are found by the digest that --json prints.
    """
    from outlast.jobs.world import system_world
    from outlast.spec.load import home_of, load

    if (path is not None) + listing + bool(forget) != 1:
        raise UsageError(
            "one of a directory, `--list` and `--forget NAME` is asked for at a time", hint="`outlast push DIR [NAME]`"
        )
    world = system_world()
    flags = {place: given.get(place) for place in PLACES}
    settings = load(flags, world.environ, Path.cwd(), world.user_dir / "config.toml")
    if path is None:
        return _names(world, home_of(settings), forget, as_json=as_json)
    begun_at = world.clock.monotonic()
    with shown_progress() as on_progress:
        from outlast.jobs.push import push_named

        prepared = world.prepare_home(home_of(settings), settings["project"], settings["region"].partition(",")[0])
        named = push_named(world, path, name, prepared.url, on_progress)
    for note in prepared.notes:
        say(note)
    _say(named, world.clock.monotonic() - begun_at)
    if as_json:
        put_json(_document(named))
    else:
        put(named.name)
    return EXIT_DONE


def _say(named: Named, seconds: float) -> None:
    pushed = named.pushed
    say_left_out(pushed)
    news = f"uploaded {size(pushed.uploaded_bytes)}" if pushed.uploaded_bytes else "all of it was in the home"
    say(f"Pushed {count(pushed.files, 'file')}, {size(pushed.bytes)}, in {duration(seconds)}; {news}")
    say(f"  `outlast run --dataset {named.name} ...` uses it")


def _document(named: Named) -> dict[str, Any]:
    return {
        "name": named.name,
        "digest": named.pushed.digest,
        "home": named.home.url,
        "files": named.pushed.files,
        "bytes": named.pushed.bytes,
        "uploaded_bytes": named.pushed.uploaded_bytes,
        "left_out": named.pushed.left_out_count,
    }


def _names(world: World, home_url: str | None, forget: tuple[str, ...], *, as_json: bool) -> int:
    """What is listed, or what was forgotten."""
    from outlast.jobs.push import forget_name, list_names

    home = world.home(home_url)
    rows = [forget_name(home, name) for name in forget] if forget else list(list_names(home))
    if as_json:
        put_json([row._asdict() for row in rows])
        return EXIT_DONE
    if forget:
        for row in rows:
            say(f"forgot `{row.name}`; its data stays as long as a job needs it, and goes with `outlast prune`")
        return EXIT_DONE
    now = home.store.now()
    cells = [[row.name, f"{row.files:,}", size(row.bytes), age(row.pushed_at, now), row.digest[:12]] for row in rows]
    first, *lines = render(("NAME", "FILES", "SIZE", "PUSHED", "DIGEST"), cells, width=width(sys.stdout), right=(1, 2))
    put(paint(first, "bold", sys.stdout))
    for line in lines:
        put(line)
    return EXIT_DONE
