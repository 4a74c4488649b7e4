"""`outlast prune`: old jobs, and what no job needs any more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.confirm import confirmed
from outlast.cli.edge import note, note_away
from outlast.cli.options import DURATION, home_option, json_option
from outlast.cli.progress import shown_progress
from outlast.cli.table import render
from outlast.cli.terminal import put, put_json, say, shown, width
from outlast.cli.words import age, count, duration, size
from outlast.errors import EXIT_DONE

if TYPE_CHECKING:
    from outlast.jobs.prune import Found, Item
    from outlast.jobs.world import World

JOBS_SHOWN_MAX = 20
WORDS = {
    "cache": "old cache file",
    "machine": "dead machine's directory",
    "pin": "reader's hold that has ended",
    "secret": "secret of a job that has ended",
}


@click.command("prune", cls=Command, short_help="Remove old jobs, and what no job needs.")
@click.option(
    "--older-than",
    type=DURATION,
    default="30d",
    metavar="DURATION",
    help="Jobs that ended so long ago go; `30d` if not said.",
)
@click.option("--keep-jobs", is_flag=True, help="Delete no job; remove only what no job needs.")
@click.option("--dry-run", is_flag=True, help="Print what would go; remove nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@home_option
@json_option
def command(older_than: float, keep_jobs: bool, dry_run: bool, yes: bool, home: str | None, as_json: bool) -> int:
    """Remove jobs that ended long ago, and what no job needs: code, data and environments, halves of submits, old caches,
    what dead machines left.

    It is safe while jobs run and while somebody submits, here or elsewhere. All is listed with its size before you are asked.
    """
    from outlast.jobs.prune import Pruned, find_local, find_unneeded, prune, prune_local
    from outlast.jobs.world import system_world

    world = system_world()
    begun_at = world.clock.monotonic()
    with shown_progress() as on_progress:
        found = list(
            world.each(
                home,
                lambda one: iter(
                    [
                        find_unneeded(
                            one, older_than_seconds=older_than, with_jobs=not keep_jobs, on_progress=on_progress
                        )
                    ]
                ),
            )
        )
        local = [] if home else list(find_local(world, older_than_seconds=older_than))
    _tell_apart(world, found)
    items = [item for one in found for item in one.items] + [item for item, _ in local]
    if not as_json:
        _print(items, world.now_at)
    if dry_run or not items:
        return _end(items, dry_run, as_json, "nothing to prune" if not items else "nothing was removed")
    if not confirmed(f"remove {size(sum(item.bytes for item in items))}", yes=yes):
        return _end(items, True, as_json, "nothing was removed")
    pruned = Pruned()
    with shown_progress() as on_progress:
        for one in (*(prune(world, each, on_progress) for each in found), prune_local(world, local)):
            pruned.items += one.items
            pruned.spared += one.spared
    took = duration(world.clock.monotonic() - begun_at)
    spared = f"; {count(len(pruned.spared), 'thing')} had come into use and stayed" if pruned.spared else ""
    return _end(pruned.items, False, as_json, f"removed {_told(pruned.items)} in {took}{spared}")


def _end(items: Sequence[Item], dry: bool, as_json: bool, words: str) -> int:
    if as_json:
        put_json({"removed": not dry, "bytes": sum(item.bytes for item in items), "items": _documents(items)})
    say(words)
    return EXIT_DONE


def _documents(items: Sequence[Item]) -> list[dict[str, Any]]:
    return [
        {
            "kind": item.kind,
            "name": item.name,
            "home": item.home or None,
            "bytes": item.bytes,
            "state": item.state or None,
            "ended_at": item.ended_at,
        }
        for item in items
    ]


def _tell_apart(world: World, found: Sequence[Found]) -> None:
    note_away(world.away)
    for one in found:
        if one.unknown:
            named = ", ".join(f"`{job}`" for job in one.unknown[:3])
            note(
                f"`{one.home.url}`: what {count(len(one.unknown), 'job')} ({named}) needs cannot be read, so nothing that jobs "
                f"share is removed there; `outlast show {one.unknown[0]}`, or `outlast delete {one.unknown[0]}`"
            )


def _print(items: Sequence[Item], now_at: Callable[[str], float]) -> None:
    jobs = sorted((item for item in items if item.kind == "job"), key=lambda item: -item.bytes)
    if jobs:
        rows = [
            [item.name, item.state, age(item.ended_at, now_at(item.home)), size(item.bytes)]
            for item in jobs[:JOBS_SHOWN_MAX]
        ]
        for line in render(("JOB", "STATE", "ENDED", "SIZE"), rows, width=width(sys.stdout), right=(3,)):
            put(line)
        if len(jobs) > JOBS_SHOWN_MAX:
            rest = jobs[JOBS_SHOWN_MAX:]
            put(f"and {count(len(rest), 'smaller job')}, {size(sum(item.bytes for item in rest))}")
        put("")
    for line in _kinds(items):
        put(line)


def _kinds(items: Sequence[Item]) -> Iterator[str]:
    kinds = dict.fromkeys(item.kind for item in items)
    for kind in kinds:
        sizes = [item.bytes for item in items if item.kind == kind]
        yield shown(f"{count(len(sizes), WORDS.get(kind, kind))}, {size(sum(sizes))}")


def _told(items: Sequence[Item]) -> str:
    return f"{count(len(items), 'thing')}, {size(sum(item.bytes for item in items))}"
